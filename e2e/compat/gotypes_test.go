// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goAPI is what code that imports an API package can name. It is read from source, as types of
// two releases of the same libraries cannot be loaded side by side.
type goAPI struct {
	Types  map[string]string            // exported types that are no structs: their definition
	Fields map[string]map[string]string // exported structs: field name to type and tag
	Consts map[string]string            // exported constants: their value
	Names  map[string]bool              // exported variables and functions
}

// apiPackages are the packages that both sides have: theirs in their module, ours here.
var apiPackages = map[string]struct{ theirs, ours string }{
	"trainer": {"pkg/apis/trainer/v1alpha1", "../../controller/api/trainer/v1alpha1"},
	"config":  {"pkg/apis/config/v1alpha1", "../../controller/api/config/v1alpha1"},
}

// goAdditions are fields that only our structs have.
var goAdditions = []string{"TrainJobStatus.State", "TrainJobStatus.LastUpdatedNanos", "ControllerMetrics.Auth"}

func TestOurGoTypesHaveTheSameNames(t *testing.T) {
	for name, dirs := range apiPackages {
		t.Run(name, func(t *testing.T) {
			theirs, ours := readGoAPI(t, upstreamPath(t, dirs.theirs)), readGoAPI(t, dirs.ours)
			compareNames(t, "type", theirs.Types, ours.Types)
			compareNames(t, "constant", theirs.Consts, ours.Consts)
			for name := range theirs.Names {
				if !ours.Names[name] {
					t.Errorf("ours has no variable or function %s", name)
				}
			}
			for name, want := range theirs.Fields {
				got := maps.Clone(ours.Fields[name])
				maps.DeleteFunc(got, func(field, _ string) bool { return slices.Contains(goAdditions, name+"."+field) })
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("fields of %s (-theirs +ours):\n%s", name, diff)
				}
			}
		})
	}
}

func compareNames(t *testing.T, what string, theirs, ours map[string]string) {
	t.Helper()
	for name, want := range theirs {
		if got, ok := ours[name]; !ok || got != want {
			t.Errorf("%s %s is %q, want %q", what, name, got, want)
		}
	}
}

func readGoAPI(t *testing.T, dir string) goAPI {
	t.Helper()
	api := goAPI{
		Types:  map[string]string{},
		Fields: map[string]map[string]string{},
		Consts: map[string]string{},
		Names:  map[string]bool{},
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d Go files in %s: %v", len(files), dir, err)
	}
	for _, path := range files {
		base := filepath.Base(path)
		if strings.HasPrefix(base, "zz_generated.") || strings.HasSuffix(base, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), base, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parsing %s: %v", path, err)
		}
		api.readFile(file)
	}
	return api
}

func (api *goAPI) readFile(file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Name.IsExported() {
				api.Names[decl.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				api.readSpec(decl.Tok, spec)
			}
		}
	}
}

func (api *goAPI) readSpec(tok token.Token, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		if body, ok := spec.Type.(*ast.StructType); ok {
			api.Fields[spec.Name.Name] = structFields(body)
			return
		}
		api.Types[spec.Name.Name] = typeText(spec.Type)
	case *ast.ValueSpec:
		for i, name := range spec.Names {
			switch {
			case !name.IsExported():
			case tok == token.CONST:
				api.Consts[name.Name] = types.ExprString(spec.Values[i])
			default:
				api.Names[name.Name] = true
			}
		}
	}
}

// structFields maps a field, by its name or the type it embeds, to its type and tag.
func structFields(body *ast.StructType) map[string]string {
	fields := map[string]string{}
	for _, field := range body.Fields.List {
		text := typeText(field.Type)
		if field.Tag != nil {
			text += " " + field.Tag.Value
		}
		if len(field.Names) == 0 {
			fields[typeText(field.Type)] = text
		}
		for _, name := range field.Names {
			fields[name.Name] = text
		}
	}
	return fields
}

var qualifier = regexp.MustCompile(`\b[a-z][a-z0-9]*\.`)

// typeText writes a type without package names: aliases of imports are free, and Volcano's
// NetworkTopologySpec is a type of our own.
func typeText(expr ast.Expr) string {
	return qualifier.ReplaceAllString(types.ExprString(expr), "")
}
