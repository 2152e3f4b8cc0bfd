// SPDX-License-Identifier: Apache-2.0

package languages

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

// Installation says how the built package gets into an empty project, as a user would do it. Words of its commands may
// hold {artifact}, {folder} of the language, {project} and {cache}, all of them absolute paths.
type Installation struct {
	Artifact string            `yaml:"artifact"` // pattern that matches what the verb package makes, and nothing else
	Env      map[string]string `yaml:"env"`
	Steps    [][]string        `yaml:"steps"`
	Programs [][]string        `yaml:"programs"` // each has to report 100 and the metric language
}

// projectDir holds the files of the empty project in the folder of a language.
const projectDir = "install"

// Installer checks packages from where a user stands.
type Installer struct {
	Milepost string // path of the program that gives commands a real endpoint
	Cache    string // folder for what package managers may keep between runs
}

// Install builds the package of a language, installs it into an empty project, and counts the programs that report from
// there.
func (i Installer) Install(ctx context.Context, l Language) (total testcount.Result) {
	failed := func(err error) testcount.Result {
		fmt.Printf("FAIL  %s: %v\n", l.Name, err)
		return testcount.Result{Failed: 1}
	}
	project, err := os.MkdirTemp("", "milepost-install-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(project) }()
	values, err := i.prepare(ctx, l, project)
	if err != nil {
		return failed(err)
	}
	cmd := run.Cmd{Dir: project, Env: []string{"GOWORK=off"}}
	for name, value := range l.Install.Env {
		cmd.Env = append(cmd.Env, name+"="+values.Replace(value))
	}
	for _, words := range l.Install.Steps {
		if err := quiet(ctx, cmd, fill(values, words)); err != nil {
			return failed(fmt.Errorf("installing the package: %w", err))
		}
	}
	for _, words := range l.Install.Programs {
		if err := i.report(ctx, cmd, fill(values, words), l.Name); err != nil {
			total = total.Plus(failed(err))
			continue
		}
		fmt.Printf("ok    %s  %s reported\n", l.Name, strings.ReplaceAll(strings.Join(words, " "), "{cache}/", ""))
		total.Passed++
	}
	return total
}

// prepare makes the artifact and the project, and says what the placeholders stand for.
func (i Installer) prepare(ctx context.Context, l Language, project string) (*strings.Replacer, error) {
	artifact, err := l.build(ctx)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(l.dir)
	if err != nil {
		return nil, err
	}
	cache, err := filepath.Abs(filepath.Join(i.Cache, l.Name))
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(project, os.DirFS(filepath.Join(folder, projectDir))); err != nil {
		return nil, fmt.Errorf("making the project: %w", err)
	}
	return strings.NewReplacer("{artifact}", artifact, "{folder}", folder, "{project}", project, "{cache}", cache), nil
}

// build makes the artifact anew and returns its absolute path.
func (l Language) build(ctx context.Context) (string, error) {
	pattern := filepath.Join(l.dir, l.Install.Artifact)
	old, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	for _, path := range old { // one of an older version would do for the new one
		if err := os.RemoveAll(path); err != nil {
			return "", err
		}
	}
	for _, words := range l.Verbs["package"] {
		if err := quiet(ctx, l.cmd(), words); err != nil {
			return "", fmt.Errorf("building the package: %w", err)
		}
	}
	found, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("the verb package made %d files that match %s, want one", len(found), l.Install.Artifact)
	}
	return filepath.Abs(found[0])
}

func fill(values *strings.Replacer, words []string) []string {
	filled := make([]string, len(words))
	for i, word := range words {
		filled[i] = values.Replace(word)
	}
	return filled
}

// quiet shows what a command says only when it fails.
func quiet(ctx context.Context, cmd run.Cmd, words []string) error {
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run(ctx, words[0], words[1:]...)
	if err != nil {
		_, _ = os.Stdout.Write(said.Bytes())
	}
	return err
}

// report runs a program with a real endpoint and looks at what was stored.
func (i Installer) report(ctx context.Context, cmd run.Cmd, words []string, language string) error {
	records, err := os.MkdirTemp("", "milepost-install-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(records) }()
	history := filepath.Join(records, "history")
	arguments := []string{i.Milepost, "run", "--plain", "--name", "install", "--history", history}
	arguments = append(arguments, "--status-file", filepath.Join(records, "trainjob.yaml"), "--")
	arguments = append(arguments, words...)
	if err := quiet(ctx, cmd, arguments); err != nil {
		return err
	}
	return checkHistory(history, language)
}

// checkHistory wants the last of the accepted reports to be complete and to name the language.
func checkHistory(path, language string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading what was reported: %w", err)
	}
	var last []byte
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		last = bytes.Clone(lines.Bytes())
	}
	var line struct {
		Status struct {
			Progress *int `json:"progressPercentage"`
			Metrics  []struct {
				Name  string `json:"name"`
				Value string `json:"value"`
			} `json:"metrics"`
		} `json:"trainerStatus"`
	}
	if len(last) == 0 {
		return errors.New("nothing was reported")
	}
	if err := json.Unmarshal(last, &line); err != nil {
		return fmt.Errorf("reading what was reported: %w", err)
	}
	named := false
	for _, m := range line.Status.Metrics {
		named = named || m.Name == "language" && m.Value == language
	}
	if line.Status.Progress == nil || *line.Status.Progress != 100 || !named {
		return fmt.Errorf("the last report is %s, want progress 100 and the metric language with the value %s", last, language)
	}
	return nil
}
