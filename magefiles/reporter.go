// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/magefile/mage/mg"

	"github.com/milepost-dev/milepost/magefiles/internal/languages"
	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

// Reporter works on the reporters, in every language or in the one that -language names.
type Reporter mg.Namespace

// reportersDir holds a folder for each language.
const reportersDir = "reporters"

// Test runs the tests of the reporters.
func (Reporter) Test(ctx context.Context, language *string) error {
	total, err := testReporters(ctx, language, nil)
	return closing(total, err)
}

// Lint checks style and types of the reporters.
func (Reporter) Lint(ctx context.Context, language *string) error {
	return reporterVerb(ctx, language, "lint")
}

// Package builds what is published of the reporters.
func (Reporter) Package(ctx context.Context, language *string) error {
	return reporterVerb(ctx, language, "package")
}

// Install builds each package, installs it into an empty project, and lets programs report from there.
func (Reporter) Install(ctx context.Context, language *string) error {
	list, err := languages.Read(reportersDir, given(language))
	if err != nil {
		return err
	}
	if err := buildBinary(ctx, "milepost"); err != nil {
		return err
	}
	milepost, err := filepath.Abs("bin/milepost")
	if err != nil {
		return err
	}
	installer := languages.Installer{Milepost: milepost, Cache: filepath.Join(cacheDir(), "install")}
	total := testcount.Result{}
	for _, l := range list {
		if missing := l.Missing(ctx); missing != "" {
			total = total.Plus(absent("reporter "+l.Name, missing, inCI()))
		} else {
			total = total.Plus(installer.Install(ctx, l))
		}
	}
	return closing(total, nil)
}

// Conformance checks every duty of BEHAVIOUR.md in the reporters; -cases names the beginnings of their ids.
func (Reporter) Conformance(ctx context.Context, language, cases *string) error {
	args := []string{"run", "./reporters/conformance/cmd/reporterconformance", "-language", given(language), "-case", given(cases)}
	return execute(ctx, "go", args...)
}

// Reporters measures what a call of a reporter costs with a live, a slow and a dead endpoint, and how long the end takes.
func (Bench) Reporters(ctx context.Context, language *string) error {
	return execute(ctx, "go", "run", "./reporters/conformance/cmd/reporterbench", "-language", given(language))
}

// testReporters tests every language whose tools are here, but for those that are tested elsewhere.
func testReporters(ctx context.Context, language *string, elsewhere map[string]bool) (total testcount.Result, err error) {
	list, err := languages.Read(reportersDir, given(language))
	for _, l := range list {
		if elsewhere[l.Name] {
			continue
		}
		if missing := l.Missing(ctx); missing != "" {
			total = total.Plus(absent("reporter "+l.Name, missing, inCI()))
			continue
		}
		total = total.Plus(l.Test(ctx))
	}
	return total, err
}

// reporterVerb does the same in every language, goes on after a failure, and counts languages.
func reporterVerb(ctx context.Context, language *string, verb string) error {
	list, err := languages.Read(reportersDir, given(language))
	var total testcount.Result
	for _, l := range list {
		if missing := l.Missing(ctx); missing != "" {
			total = total.Plus(absent("reporter "+l.Name, missing, inCI()))
		} else if failure := l.Do(ctx, verb); failure != nil {
			fmt.Printf("FAIL  %s: %v\n", l.Name, failure)
			total.Failed++
		} else {
			fmt.Printf("ok    %s: %s\n", l.Name, verb)
			total.Passed++
		}
	}
	return closing(total, err)
}

// given is the value of an option, empty when it was left out.
func given(option *string) string {
	if option == nil {
		return ""
	}
	return *option
}
