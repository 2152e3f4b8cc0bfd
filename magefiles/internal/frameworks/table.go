// SPDX-License-Identifier: Apache-2.0

// Package frameworks makes the Python environments in which the integrations with training
// frameworks are tested.
//
// It owns the table of environments and how one is made and kept. It does not own the tests, nor
// where environments are kept.
package frameworks

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Table is the name of the file with the environments.
const Table = "frameworks.yaml"

// Environment is a set of packages at fixed versions, and the tests that need them.
type Environment struct {
	Name         string   `yaml:"name"`
	Base         string   `yaml:"base"`         // file for pip with packages too large to have twice
	Requirements []string `yaml:"requirements"` // files for pip
	Tests        []string `yaml:"tests"`        // files for pytest
	Heavy        bool     `yaml:"heavy"`        // takes gigabytes or many minutes; runs by name only
}

// Read reads the environments of a folder.
func Read(folder string) ([]Environment, error) {
	text, err := os.ReadFile(filepath.Join(folder, Table))
	if err != nil {
		return nil, err
	}
	var table struct {
		Environments []Environment `yaml:"environments"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&table); err != nil {
		return nil, fmt.Errorf("reading %s: %w", Table, err)
	}
	for _, e := range table.Environments {
		if err := e.validate(folder); err != nil {
			return nil, fmt.Errorf("reading %s: %w", Table, err)
		}
	}
	return table.Environments, nil
}

// Select picks the environments that are not heavy, or the one of a name.
func Select(all []Environment, only string) (picked []Environment, err error) {
	var names []string
	for _, e := range all {
		if names = append(names, e.Name); e.Name == only || only == "" && !e.Heavy {
			picked = append(picked, e)
		}
	}
	if len(picked) == 0 {
		return nil, fmt.Errorf("there is no environment %q, there are: %s", only, strings.Join(names, ", "))
	}
	return picked, nil
}

func (e Environment) validate(folder string) error {
	if e.Name == "" || e.Name != filepath.Base(e.Name) || len(e.Requirements) == 0 || len(e.Tests) == 0 {
		return fmt.Errorf("environment %q needs a name, requirements and tests", e.Name)
	}
	var errs []error
	for _, file := range slices.Concat(e.Requirements, e.Tests, e.base()) {
		_, err := os.Stat(filepath.Join(folder, file))
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("environment %s: %w", e.Name, err)
	}
	return nil
}

// base is the file of the packages that other environments have as well, if there is one.
func (e Environment) base() []string {
	if e.Base == "" {
		return nil
	}
	return []string{e.Base}
}
