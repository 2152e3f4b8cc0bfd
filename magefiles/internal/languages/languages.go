// SPDX-License-Identifier: Apache-2.0

// Package languages runs the verbs that every reporter has: lint, test, package.
//
// It owns how a language says which commands stand behind a verb, in its language.yaml. It does not
// know any language.
package languages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

// Language is a folder with a language.yaml.
type Language struct {
	Name  string                `yaml:"language"`
	Tools [][]string            `yaml:"tools"` // commands that must succeed
	Verbs map[string][][]string `yaml:"verbs"` // commands of each verb
	Count string                `yaml:"count"` // how the output of the verb test is counted

	Install Installation `yaml:"install"`

	dir string
}

// verbs are what every language has to have.
var verbs = []string{"lint", "test", "package"}

// Read reads the languages below a folder, in the order of their names. Only one language is read
// when only is not empty.
func Read(folder, only string) (list []Language, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", "language.yaml"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		l, err := read(file)
		if err != nil {
			return nil, err
		}
		if names = append(names, l.Name); only == "" || l.Name == only {
			list = append(list, l)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no language %q in %s, there are: %s", only, folder, strings.Join(names, ", "))
	}
	return list, nil
}

func read(file string) (Language, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Language{}, err
	}
	l := Language{dir: filepath.Dir(file)}
	if err := yaml.Unmarshal(text, &l); err != nil {
		return Language{}, fmt.Errorf("reading %s: %w", file, err)
	}
	for _, verb := range verbs {
		if len(l.Verbs[verb]) == 0 {
			return Language{}, fmt.Errorf("reading %s: the verb %s is missing", file, verb)
		}
	}
	if l.Install.Artifact == "" || len(l.Install.Programs) == 0 {
		return Language{}, fmt.Errorf("reading %s: install names no artifact or no program", file)
	}
	if !slices.Contains(testcount.Formats(), l.Count) {
		return Language{}, fmt.Errorf("reading %s: count is %q, want one of %s", file, l.Count, strings.Join(testcount.Formats(), ", "))
	}
	return l, nil
}

// Missing names the first tool that does not work here, nothing when all do.
func (l Language) Missing(ctx context.Context) string {
	for _, tool := range l.Tools {
		if _, err := l.cmd().Output(ctx, tool[0], tool[1:]...); err != nil {
			return strings.Join(tool, " ") + " does not work"
		}
	}
	return ""
}

// Do runs the commands of a verb and streams what they print.
func (l Language) Do(ctx context.Context, verb string) error {
	for _, words := range l.Verbs[verb] {
		if err := l.cmd().Run(ctx, words[0], words[1:]...); err != nil {
			return fmt.Errorf("%s of %s: %w", verb, l.Name, err)
		}
	}
	return nil
}

// Test runs the verb test and counts what it reports. What the commands print is shown when they
// fail.
func (l Language) Test(ctx context.Context) (total testcount.Result) {
	var problems []error
	for _, words := range l.Verbs["test"] {
		var said bytes.Buffer
		cmd := l.cmd()
		cmd.Stdout, cmd.Stderr = &said, &said
		err := cmd.Run(ctx, words[0], words[1:]...)
		if err != nil {
			problems = append(problems, err)
			_, _ = os.Stdout.Write(said.Bytes())
		}
		total = total.Plus(testcount.Said(l.Count, said.String()))
	}
	if err := errors.Join(problems...); err != nil {
		fmt.Printf("FAIL  %s: %v\n", l.Name, err)
		total.Failed = max(1, total.Failed)
		return total
	}
	fmt.Printf("ok    %s  %s\n", l.Name, total.Line())
	return total
}

// cmd runs in the folder of the language, whose modules stand alone as users get them.
func (l Language) cmd() run.Cmd { return run.Cmd{Dir: l.dir, Env: []string{"GOWORK=off"}} }
