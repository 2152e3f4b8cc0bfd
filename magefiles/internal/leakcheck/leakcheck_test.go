// SPDX-License-Identifier: Apache-2.0

package leakcheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	starting = "package a\nfunc f() { go f() }\n"
	group    = "package a\nimport \"sync\"\nfunc f() { var wg sync.WaitGroup; wg.Go(func() {}); wg.Wait() }\n"
	quiet    = "package a\nfunc Go(f func()) { f() }\nfunc f() { Go(func() {}) }\n"
	test     = "package a\nimport _ \"testing\"\n"
	goleak   = "package a\nimport _ \"go.uber.org/goleak\"\n"
	ours     = "package a\nimport _ \"github.com/milepost-dev/milepost/controller/internal/testkit/leaks\"\n"
)

func TestCheck(t *testing.T) {
	cases := map[string]struct {
		files   map[string]string
		checked int
		want    string
	}{
		"a check by goleak":                     {files: map[string]string{"p/a.go": starting, "p/a_test.go": goleak}, checked: 1},
		"a check of our own":                    {files: map[string]string{"p/a.go": group, "p/a_test.go": ours}, checked: 1},
		"nothing is started":                    {files: map[string]string{"p/a.go": quiet, "p/a_test.go": test}},
		"nobody looks":                          {files: map[string]string{"p/a.go": starting, "p/a_test.go": test}, want: "p: goroutines are started, and no test looks"},
		"a group counts":                        {files: map[string]string{"p/a.go": group, "p/a_test.go": test}, want: "no test looks"},
		"tests count as well":                   {files: map[string]string{"p/a_test.go": starting}, want: "no test looks"},
		"there is no test":                      {files: map[string]string{"p/a.go": starting}, want: "there is no test"},
		"a check outside of tests is none":      {files: map[string]string{"p/a.go": starting, "p/b.go": goleak, "p/a_test.go": test}, want: "no test looks"},
		"folders that serve tests are left out": {files: map[string]string{"kit/p/a.go": starting}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range tc.files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			checked, err := Check(root, "kit")
			if checked != tc.checked || (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Check() = %d, %v; want %d and %q", checked, err, tc.checked, tc.want)
			}
		})
	}
}
