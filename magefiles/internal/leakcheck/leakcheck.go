// SPDX-License-Identifier: Apache-2.0

// Package leakcheck finds Go packages that start goroutines and whose tests do not look for those
// that are left over.
//
// It owns what counts as a start and as a check. It runs no test.
package leakcheck

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// checkers are the imports with which tests look for goroutines that are left over.
var checkers = []string{"go.uber.org/goleak", "github.com/milepost-dev/milepost/controller/internal/testkit/leaks"}

// folder is what is known of the package in a folder.
type folder struct {
	starts, tested, checked bool
}

// Check returns how many packages below root start goroutines and look for those that are left
// over, with an error for each that does not look. Folders named in without, relative to root, are
// left out: they serve the tests of others.
func Check(root string, without ...string) (int, error) {
	folders := map[string]*folder{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return skip(root, path, without)
		case filepath.Ext(path) != ".go":
			return nil
		}
		dir := filepath.Dir(path)
		if folders[dir] == nil {
			folders[dir] = &folder{}
		}
		return folders[dir].read(path)
	})
	if err != nil {
		return 0, fmt.Errorf("reading the packages below %s: %w", root, err)
	}
	checked, problems := 0, []error(nil)
	for dir, f := range folders {
		switch {
		case !f.starts:
		case f.checked:
			checked++
		case f.tested:
			problems = append(problems, fmt.Errorf("%s: goroutines are started, and no test looks for those that are left over (%s)", dir, checkers[0]))
		default:
			problems = append(problems, fmt.Errorf("%s: goroutines are started, and there is no test", dir))
		}
	}
	return checked, errors.Join(problems...)
}

func skip(root, path string, without []string) error {
	for _, name := range without {
		if path == filepath.Join(root, name) {
			return filepath.SkipDir
		}
	}
	return nil
}

// read looks for starts of goroutines and for checks in a file.
func (f *folder) read(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, "_test.go") {
		f.tested = true
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			f.checked = f.checked || err == nil && slices.Contains(checkers, name)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		f.starts = f.starts || starts(node)
		return true
	})
	return nil
}

// starts recognises the go statement, and the method Go of groups of goroutines.
func starts(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		method, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || method.Sel.Name != "Go" || len(n.Args) != 1 {
			return false
		}
		_, ok = n.Args[0].(*ast.FuncLit)
		return ok
	}
	return false
}
