// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// python is what the Debian release of the base ships. Wheels are chosen for it, whichever Python
// this machine has.
const python = "3.11"

// SitePackages is where Python finds packages in the image, files of the kind .pth included.
const SitePackages = "/usr/local/lib/python" + python + "/dist-packages"

// Python describes an image with Debian's Python, wheels and own code. Its
// command is python3 and its user has no privileges.
type Python struct {
	// Reference names the image.
	Reference string
	// Requirements is a file in pip's format, or empty.
	Requirements string
	// Folders are added in order.
	Folders []Folder
	// Entrypoint is what containers start, python3 as their command if empty.
	Entrypoint []string
	// WorkingDir is where programs start, the target of the first of Folders if empty.
	WorkingDir string
	// Output receives progress for people.
	Output io.Writer
}

// Python returns the archive of such an image. The first time it takes a
// minute or two and needs root, for debootstrap; later only what has changed
// is made anew.
func (s Store) Python(ctx context.Context, p Python) (string, error) {
	layers, k, err := s.pythonLayers(ctx, p)
	if err != nil {
		return "", fmt.Errorf("making image %s: %w", p.Reference, err)
	}
	config := v1.Config{
		User:       nonroot,
		WorkingDir: "/",
		Env: []string{
			"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8",
			"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1",
		},
	}
	if config.Entrypoint = p.Entrypoint; len(p.Entrypoint) == 0 {
		config.Cmd = []string{"python3"}
	}
	switch {
	case p.WorkingDir != "":
		config.WorkingDir = p.WorkingDir
	case len(p.Folders) > 0:
		config.WorkingDir = p.Folders[0].Target
	}
	return s.archive(p.Reference, k.String(), func() (v1.Image, error) {
		image, err := mutate.AppendLayers(empty.Image, layers...)
		if err != nil {
			return nil, fmt.Errorf("stacking layers: %w", err)
		}
		return configure(image, config)
	})
}

func (s Store) pythonLayers(ctx context.Context, p Python) ([]v1.Layer, key, error) {
	k := newKey(append([]string{"python", p.Reference, p.WorkingDir}, p.Entrypoint...)...)
	base, err := s.base(ctx, k, PythonBase, p.Output)
	if err != nil {
		return nil, k, err
	}
	layers := []v1.Layer{base}
	if p.Requirements != "" {
		wheels, err := s.wheels(ctx, k, p)
		if err != nil {
			return nil, k, err
		}
		layers = append(layers, wheels)
	}
	folders, err := folderLayers(k, p.Folders)
	return append(layers, folders...), k, err
}

func (s Store) wheels(ctx context.Context, k key, p Python) (v1.Layer, error) {
	requirements, err := filepath.Abs(p.Requirements)
	if err != nil {
		return nil, err
	}
	own := newKey("wheels", python, runtime.GOARCH)
	if err := own.addFile(requirements); err != nil {
		return nil, err
	}
	return s.layer(ctx, k, "wheels-"+own.String(), p.Output, 20*time.Second,
		func(ctx context.Context, dir, file string) error { return installWheels(ctx, requirements, dir, file) })
}

// machines maps Go's names of processors to those in the names of wheels.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

func installWheels(ctx context.Context, requirements, dir, file string) error {
	if err := quietly(ctx, "python3", "-m", "pip", "--version"); err != nil {
		return fmt.Errorf("installing wheels needs pip: apt-get install -y python3-pip: %w", err)
	}
	machine, known := machines[runtime.GOARCH]
	if !known {
		return fmt.Errorf("no wheels are known for %s", runtime.GOARCH)
	}
	target := filepath.Join(dir, SitePackages)
	err := quietly(ctx, "python3", "-m", "pip", "install", "--disable-pip-version-check", "--no-compile",
		"--target="+target, "--only-binary=:all:", "--implementation=cp", "--python-version="+python,
		"--platform=manylinux_2_28_"+machine, "--platform=manylinux2014_"+machine, "--requirement="+requirements)
	if err != nil {
		return err
	}
	// Scripts name this machine's Python in their first line.
	return packFolder(ctx, dir, file, "."+SitePackages+"/bin")
}

// packFolder writes a folder as a layer with fixed times and order.
func packFolder(ctx context.Context, root, file string, leaveOut ...string) error {
	args := []string{
		"--create", "--file=" + file, "--directory=" + root, "--use-compress-program=gzip -1 --no-name",
		"--format=posix", "--pax-option=delete=atime,delete=ctime", "--sort=name", "--mtime=@0", "--numeric-owner",
		"--wildcards", "--anchored",
	}
	for _, pattern := range leaveOut {
		args = append(args, "--exclude="+pattern)
	}
	return quietly(ctx, "tar", append(args, ".")...)
}

func need(program, name string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is missing: apt-get install -y %s", program, name)
	}
	return nil
}
