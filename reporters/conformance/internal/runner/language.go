// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Language is a folder below reporters with a language.yaml.
type Language struct {
	Name     string     `yaml:"language"`
	Tools    [][]string `yaml:"tools"` // commands that must succeed
	Executor executor   `yaml:"executor"`
	folder   string
	known    []string // ids of cases that are known to fail
	patience float64  // seconds until an executor must have ended that is done
}

// executor says how the program is made and started that drives a reporter.
type executor struct {
	Build [][]string `yaml:"build"`
	Run   []string   `yaml:"run"`
}

// defaultPatience is more than a flush, on a slow machine.
const defaultPatience = 15

// capabilities are what the executor of each language has to offer, as PROTOCOL.md lists it.
var capabilities = map[string][]string{
	"go":         {"threads", "wide-int", "huge-int", "null", "references"},
	"python":     {"threads", "fork", "exit-hook", "own-handler", "items", "dynamic", "wide-int", "huge-int", "null", "references"},
	"typescript": {"exit-hook", "own-handler", "items", "dynamic", "wide-int", "huge-int", "null", "references"},
	"java":       {"threads", "exit-hook", "own-handler", "wide-int", "huge-int", "null", "references"},
	"rust":       {"threads"},
}

const (
	languageFile = "language.yaml"
	knownFailing = "reporters/conformance/known-failing"
)

// Languages reads every language of the repository at root, in the order of their names.
func Languages(root string) (languages []*Language, err error) {
	files, err := filepath.Glob(filepath.Join(root, "reporters", "*", languageFile))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		l := &Language{folder: filepath.Dir(file), patience: defaultPatience}
		if err := yaml.Unmarshal(text, l); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		if _, listed := capabilities[l.Name]; !listed {
			return nil, fmt.Errorf("reading %s: nothing is known of the language %q", file, l.Name)
		}
		if l.known, err = readKnown(filepath.Join(root, knownFailing, l.Name+".txt")); err != nil {
			return nil, err
		}
		languages = append(languages, l)
	}
	return languages, nil
}

// readKnown reads ids of cases, one on a line; the rest of a line behind # is the reason.
func readKnown(path string) (ids []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the cases that are known to fail: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		id, _, _ := strings.Cut(line, "#")
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// missing names the first tool that does not work here, nothing when all do.
func (l *Language) missing(ctx context.Context) string {
	for _, tool := range l.Tools {
		if _, err := l.command(ctx, tool).CombinedOutput(); err != nil {
			return strings.Join(tool, " ")
		}
	}
	return ""
}

// build makes the executor ready to start.
func (l *Language) build(ctx context.Context) error {
	for _, words := range l.Executor.Build {
		if said, err := l.command(ctx, words).CombinedOutput(); err != nil {
			return fmt.Errorf("building the executor with %q: %w\n%s", strings.Join(words, " "), err, bytes.TrimSpace(said))
		}
	}
	return nil
}

// command is a command in the folder of the language. Its modules stand alone, as users get them.
func (l *Language) command(ctx context.Context, words []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = l.folder
	cmd.Env = append(os.Environ(), "GOWORK=off")
	return cmd
}

// can tells whether the language, or this machine, has all of the capabilities.
func (l *Language) can(needs []string) bool {
	has := append(machine(), capabilities[l.Name]...)
	return !slices.ContainsFunc(needs, func(need string) bool { return !slices.Contains(has, need) })
}

// machine is what cases need of the machine: ipv6, and dual-stack where localhost has addresses of
// both kinds.
var machine = sync.OnceValue(func() (has []string) {
	if listener, err := net.Listen("tcp", "[::1]:0"); err == nil {
		_ = listener.Close()
		has = append(has, "ipv6")
	}
	if addresses, err := net.LookupHost("localhost"); err == nil && slices.Contains(addresses, "::1") && slices.Contains(addresses, "127.0.0.1") {
		has = append(has, "dual-stack")
	}
	return slices.Clip(has)
})
