// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// release is the release of Debian that bases are made from.
const release = "bookworm"

// Base is a small Debian with a few packages. Its name is part of what identifies the layer, so two
// bases with different packages need different names.
type Base struct {
	Name     string
	Packages []string
}

// The bases of images. Each has the certificates of public authorities, as images usually do.
var (
	PythonBase = Base{Name: "python", Packages: []string{"python3", "ca-certificates"}}
	NodeBase   = Base{Name: "node", Packages: []string{"nodejs", "ca-certificates"}}
	JavaBase   = Base{Name: "java", Packages: []string{"default-jre-headless", "ca-certificates"}}
)

// base returns the layer of a base. The first time it takes a minute and needs root, for debootstrap.
func (s Store) base(ctx context.Context, k key, b Base, out io.Writer) (v1.Layer, error) {
	return s.layer(ctx, k, "debian-"+b.Name+"-"+release+"-"+runtime.GOARCH, out, time.Minute, b.fill)
}

// fill makes a small Debian. Of what a package brings, only what a program can miss is kept.
// debootstrap mounts things; in a mount namespace of its own they are gone with it, whatever happens.
func (b Base) fill(ctx context.Context, dir, file string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("a Debian base needs root: run this again as root")
	}
	if err := need("debootstrap", "debootstrap"); err != nil {
		return err
	}
	root := filepath.Join(dir, "root")
	err := quietly(ctx, "unshare", "--mount", "--propagation", "private", "--",
		"debootstrap", "--variant=minbase", "--include="+strings.Join(b.Packages, ","), release, root)
	if err != nil {
		return err
	}
	if slices.Contains(b.Packages, "python3") {
		if err := os.Symlink("/usr/bin/python3", filepath.Join(root, "usr/local/bin/python")); err != nil {
			return fmt.Errorf("naming Python: %w", err)
		}
	}
	return packFolder(ctx, root, file,
		"./dev/*", "./proc/*", "./sys/*", "./var/cache/*", "./var/lib/apt/lists/*", "./var/log/*",
		"./usr/share/doc/*", "./usr/share/man/*", "./usr/share/locale/*")
}
