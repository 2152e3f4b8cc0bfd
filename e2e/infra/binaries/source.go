// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Source returns the folder with the source of the module that provides name,
// for the charts and manifests that lie beside the code. It is read-only.
func (b *Builder) Source(ctx context.Context, name string) (string, error) {
	program, err := Lookup(name)
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", program.Module)
	command.Dir = filepath.Join(b.modules, program.Folder)
	command.Env = append(os.Environ(), "GOWORK=off")
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("downloading %s: %w: %s", program.Module, err, strings.TrimSpace(stderr.String()))
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(stdout.Bytes(), &module); err != nil {
		return "", fmt.Errorf("reading where %s is: %w", program.Module, err)
	}
	return module.Dir, nil
}
