// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line of milepost.
//
// It owns commands, flags, help, tables and exit codes. It does not own what the
// commands do: running belongs to localrun, the looks of progress to
// progressview.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/milepost-dev/milepost/controller/internal/localrun/jobfile"
)

// Exit codes of milepost itself. `milepost run` passes on those of the command.
const (
	exitFailure = 1
	// exitRunFailure is what other programs that run a command use when it is
	// they who failed.
	exitRunFailure = 125
)

// Program is one invocation of the command line.
type Program struct {
	// Version is what `milepost version` prints.
	Version string
	// Args are the arguments, the name of the program first.
	Args []string
	// Environ is the environment.
	Environ []string
	// Stdin, Stdout and Stderr are those of the process.
	Stdin, Stdout, Stderr *os.File
}

const (
	defaultName = "milepost"
	pluginName  = "kubectl trainjob"
	pluginFile  = "kubectl-trainjob"
)

// name is how the user called the program. kubectl runs plugins by the name of
// their file.
func (p *Program) name() string {
	base := strings.TrimSuffix(filepath.Base(p.Args[0]), ".exe")
	if base == pluginFile {
		return pluginName
	}
	return defaultName
}

// invocation is how the user can call the program again.
func (p *Program) invocation() string {
	if name := p.name(); name != defaultName {
		return name
	}
	return quote(p.Args[0])
}

// Main runs the command line and returns the exit code.
func (p *Program) Main(ctx context.Context) int {
	root := p.root()
	root.SetArgs(p.Args[1:])
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	code := exitFailure
	if coded := (*codedError)(nil); errors.As(err, &coded) {
		code, err = coded.code, coded.err
	}
	if err != nil {
		text := strings.ReplaceAll(err.Error(), "\n", "; ") // one line, however many causes
		fmt.Fprintf(p.Stderr, "%s: %s\n", defaultName, text)
	}
	return code
}

// codedError ends the program with a code. A nil err means that everything was
// said already.
type codedError struct {
	code int
	err  error
}

// Error returns the text of the cause.
func (e *codedError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap returns the cause.
func (e *codedError) Unwrap() error { return e.err }

func (p *Program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   defaultName,
		Short: "Run training code and see how far it is",
		Long: `Run training code and see how far it is.

Milepost gives training code an HTTPS endpoint to report its progress to. What it
reports - percentage, time left, metrics - becomes the status of a TrainJob. In a
cluster the Milepost controller does that; on any other machine this command does,
with the same endpoint, the same checks and no cluster at all.`,
		Example:           p.examples("run -- python train.py", "get", "get train -o yaml"),
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: p.name()},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see '%s --help'", err, c.CommandPath())
	})
	root.AddCommand(p.runCommand(), p.getCommand(), p.reportCommand(), p.versionCommand())
	return root
}

// examples writes command lines with the name of the program in front.
func (p *Program) examples(lines ...string) string {
	for i, line := range lines {
		lines[i] = "  " + p.name() + " " + line
	}
	return strings.Join(lines, "\n")
}

func (p *Program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s %s %s %s/%s\n", defaultName, p.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// place says which file a TrainJob is in.
type place struct {
	namespace string
	dir       string
	file      string
}

func (l *place) addFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVarP(&l.namespace, "namespace", "n", "default", "namespace of the TrainJob")
	flags.StringVar(&l.dir, "dir", "", "folder with the state of local runs (default "+string(jobfile.DefaultDir())+")")
	flags.StringVar(&l.file, "status-file", "", "one file with a TrainJob, in place of those in the folder")
	c.MarkFlagsMutuallyExclusive("dir", "status-file")
}

func (l *place) folder() jobfile.Dir {
	if l.dir != "" {
		return jobfile.Dir(l.dir)
	}
	return jobfile.DefaultDir()
}

func (l *place) path(name string) string {
	if l.file != "" {
		return l.file
	}
	return l.folder().Path(l.namespace, name)
}

// flagsFor repeats in a command line what differs from the defaults.
func (l *place) flagsFor() string {
	var flags string
	if l.namespace != "default" {
		flags += " -n " + l.namespace
	}
	if l.dir != "" {
		flags += " --dir " + quote(l.dir)
	}
	if l.file != "" {
		flags += " --status-file " + quote(l.file)
	}
	return flags
}

// quote makes a word that a shell takes as it is.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func writeLines(w io.Writer, lines []string) error {
	_, err := io.WriteString(w, strings.Join(lines, ""))
	return err
}
