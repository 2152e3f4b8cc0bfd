// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/magefile/mage/mg"

	"github.com/milepost-dev/milepost/magefiles/internal/run"
	"github.com/milepost-dev/milepost/magefiles/internal/sitecheck"
)

// Docs builds the documentation site.
type Docs mg.Namespace

// site is where the built site lies.
const site = "docs/public"

// Build makes the site in docs/public and checks its links, snippets and that it loads nothing from other hosts.
func (Docs) Build(ctx context.Context) error {
	if err := os.RemoveAll(site); err != nil {
		return err
	}
	if err := hugo(ctx, "build", "--minify"); err != nil {
		return err
	}
	if err := checkDocs(); err != nil {
		return err
	}
	fmt.Println("built", site)
	return nil
}

// Serve shows the site on http://127.0.0.1:1313 and follows changes until it is interrupted.
func (Docs) Serve(ctx context.Context) error {
	return hugo(ctx, "server", "--bind", "127.0.0.1", "--port", "1313", "--renderToMemory")
}

func checkDocs() error {
	return errors.Join(
		sitecheck.Snippets(os.DirFS("docs/content"), os.DirFS("docs/examples")),
		sitecheck.Site(os.DirFS(site)),
	)
}

// hugo runs the pinned Hugo in docs. The theme comes through the proxy that Go uses.
func hugo(ctx context.Context, args ...string) error {
	path, err := toolPath(ctx, "hugo")
	if err != nil {
		return err
	}
	proxy, err := output(ctx, "go", "env", "GOPROXY")
	if err != nil {
		return err
	}
	return run.Cmd{Dir: "docs", Env: []string{"GOWORK=off", "HUGO_MODULE_PROXY=" + proxy}}.Run(ctx, path, args...)
}
