// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

type compilation struct {
	folder  string
	program Program
	version string
	target  string
	output  io.Writer
}

// build compiles into a temporary file and renames it, so that whoever finds
// the target finds all of it, even after a build was killed.
func build(ctx context.Context, c compilation) error {
	temporary, err := os.MkdirTemp(filepath.Dir(c.target), ".build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }() // a leftover costs disk space only
	output := filepath.Join(temporary, filepath.Base(c.target))
	command := exec.CommandContext(ctx, "go", buildArguments(c.program, c.version, output)...)
	command.Dir = c.folder
	command.Env = append(os.Environ(), buildEnvironment(c.program)...)
	command.Stdout, command.Stderr = c.output, c.output
	if err := command.Run(); err != nil {
		return fmt.Errorf("running go build in %s: %w", c.folder, err)
	}
	return os.Rename(output, c.target)
}

func buildArguments(program Program, version, output string) []string {
	arguments := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", linkerFlags(program, version), "-o", output}
	if program.Tags != "" {
		arguments = append(arguments, "-tags", program.Tags)
	}
	return append(arguments, program.Package)
}

// buildEnvironment keeps the workspace out: it would merge its replace lines
// and versions into the pinned module.
func buildEnvironment(program Program) []string {
	if program.CGO {
		return []string{"GOWORK=off", "CGO_ENABLED=1"}
	}
	return []string{"GOWORK=off", "CGO_ENABLED=0"}
}

// checkToolchain turns the compiler's page of errors into what to install.
func checkToolchain(name string, look func(string) (string, error)) error {
	const install = "apt-get install -y gcc libc6-dev pkg-config libseccomp-dev"
	for _, tool := range []string{"gcc", "pkg-config"} {
		if _, err := look(tool); err != nil {
			return fmt.Errorf("building %s needs %s: %s", name, tool, install)
		}
	}
	if err := exec.Command("pkg-config", "--exists", "libseccomp").Run(); err != nil {
		return fmt.Errorf("building %s needs the headers of libseccomp: %s", name, install)
	}
	return nil
}
