// SPDX-License-Identifier: Apache-2.0

package sitecheck_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/milepost-dev/milepost/magefiles/internal/sitecheck"
)

func tree(files map[string]string) fstest.MapFS {
	site := fstest.MapFS{}
	for name, text := range files {
		site[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return site
}

func TestSite(t *testing.T) {
	cases := map[string]struct {
		files   map[string]string
		wantErr string
	}{
		"relative, absolute and foreign links are fine": {files: map[string]string{
			"index.html":   `<a href="a/#top">a</a><a href="https://example.test/">out</a><a href="#here" id="here">x</a>`,
			"a/index.html": `<h1 id="top">A</h1><a href="../">up</a><a href="/a/">self</a><img src="../x.png">`,
			"x.png":        "",
		}},
		"a link to a page that is not there": {
			files:   map[string]string{"index.html": `<a href="gone/">x</a>`},
			wantErr: "index.html refers to gone/, which is not there",
		},
		"a link to a heading that is not there": {
			files:   map[string]string{"index.html": `<a href="b.html#gone">x</a>`, "b.html": ""},
			wantErr: "b.html has no such heading",
		},
		"a script from another host": {
			files:   map[string]string{"index.html": `<script src="https://cdn.test/x.js"></script>`},
			wantErr: "index.html loads https://cdn.test/x.js from another host",
		},
		"a style sheet from another host without scheme": {
			files:   map[string]string{"index.html": `<link rel="stylesheet" href="//cdn.test/x.css">`},
			wantErr: "loads //cdn.test/x.css",
		},
		"a canonical address is no load": {
			files: map[string]string{"index.html": `<link rel="canonical" href="https://docs.test/">`},
		},
		"a font in a style sheet": {
			files:   map[string]string{"index.html": "", "x.css": `@font-face{src:url("https://fonts.test/a.woff")}`},
			wantErr: "x.css loads",
		},
		"an import in a style element": {
			files:   map[string]string{"index.html": `<style>@import "https://fonts.test/a.css";</style>`},
			wantErr: "index.html has a style that loads",
		},
		"a picture that is not there": {
			files:   map[string]string{"index.html": `<img src="gone.png">`},
			wantErr: "refers to gone.png, which is not there",
		},
		"a picture for other screens from another host": {
			files:   map[string]string{"index.html": `<img src="x.png" srcset="x.png 1x, https://cdn.test/x.png 2x">`, "x.png": ""},
			wantErr: "loads https://cdn.test/x.png",
		},
		"an empty site": {files: map[string]string{}, wantErr: "no page"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check(t, sitecheck.Site(tree(tc.files)), tc.wantErr)
		})
	}
}

func TestSnippets(t *testing.T) {
	examples := tree(map[string]string{
		"go/a.go": "// [start:one]\nx\n// [end:one]\n// [start:two]\n",
	})
	cases := map[string]struct {
		page    string
		wantErr string
	}{
		"a region that is there":        {page: `{{< snippet file="go/a.go" region="one" >}}`},
		"a whole file":                  {page: `{{< snippet file="go/a.go" >}}`},
		"a file that is not there":      {page: `{{< snippet file="go/b.go" >}}`, wantErr: `p.md: snippet "go/b.go": no such file`},
		"a region that is not there":    {page: `{{< snippet file="go/a.go" region="no" >}}`, wantErr: "[start:no] stands there 0 times"},
		"a region that does not end":    {page: `{{< snippet region="two" file="go/a.go" >}}`, wantErr: "[end:two] stands there 0 times"},
		"a page that shows no snippets": {page: "text"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check(t, sitecheck.Snippets(tree(map[string]string{"p.md": tc.page}), examples), tc.wantErr)
		})
	}
}

// The real pages: their snippets are regions of files that run.
func TestSnippetsOfTheDocumentation(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	check(t, sitecheck.Snippets(os.DirFS(filepath.Join(docs, "content")), os.DirFS(filepath.Join(docs, "examples"))), "")
}

func check(t *testing.T, err error, wantErr string) {
	t.Helper()
	if (err == nil) != (wantErr == "") || (err != nil && !strings.Contains(err.Error(), wantErr)) {
		t.Errorf("error = %v, want %q", err, wantErr)
	}
}
