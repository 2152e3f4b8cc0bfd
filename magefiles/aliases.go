// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

// Aliases are the short names of the targets used most.
var Aliases = map[string]any{
	"bench":    Bench.All,
	"build":    Build.All,
	"demo":     Demo.Local,
	"e2e":      E2e.All,
	"generate": Gen.All,
	"image":    Image.Controller,
	"lint":     Lint.All,
	"test":     Test.All,
	"verify":   Verify.All,
}
