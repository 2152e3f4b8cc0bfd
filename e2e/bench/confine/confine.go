// SPDX-License-Identifier: Apache-2.0

// Package confine starts a program that insists on files at fixed places, such as the token of a
// pod, without touching those places: the program gets folders of its own there.
//
// It owns the mounts and the hand-over to the program. It does not own what the files contain.
package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Plan says what to run and which files it finds.
type Plan struct {
	Program string   `json:"program"`
	Args    []string `json:"args"`
	Env     []string `json:"env"` // "KEY=value" pairs on top of the environment
	// Folders that are empty but for the files below, for this program only.
	Folders []string `json:"folders"`
	Files   []File   `json:"files"`
}

// File is a file below one of the folders.
type File struct {
	Path    string `json:"path"`
	Content []byte `json:"content"`
}

// Write puts the plan into a file only this user may read.
func (p *Plan) Write(path string) error {
	content, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encoding the plan: %w", err)
	}
	return os.WriteFile(path, content, 0o600)
}

// Exec replaces this process, which must have a mount table of its own, by the program of the plan.
// It returns only when that is not possible.
func Exec(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	plan := &Plan{}
	if err := json.Unmarshal(content, plan); err != nil {
		return fmt.Errorf("decoding the plan: %w", err)
	}
	// Opened first: the program may lie below a folder that is about to be covered.
	program, err := os.Open(plan.Program)
	if err != nil {
		return fmt.Errorf("opening the program: %w", err)
	}
	if err := cover(plan.Folders); err != nil {
		return err
	}
	for _, file := range plan.Files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file.Path), 0o700), os.WriteFile(file.Path, file.Content, 0o600)); err != nil {
			return fmt.Errorf("writing %s: %w", file.Path, err)
		}
	}
	return execute(program, append([]string{filepath.Base(plan.Program)}, plan.Args...), append(os.Environ(), plan.Env...))
}
