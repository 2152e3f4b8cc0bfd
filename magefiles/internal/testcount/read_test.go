// SPDX-License-Identifier: Apache-2.0

package testcount_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

// goTest runs `go test -json` over a module made of the given files and counts what it says.
func goTest(t *testing.T, files map[string]string, live bool) (testcount.Result, string) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.test/m\n\ngo 1.26.0\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "-vet=off", "./...")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	events, _ := cmd.Output() // a failing test is what the cases are about
	var out bytes.Buffer
	got, err := testcount.Read(bytes.NewReader(events), testcount.Options{
		Out: &out, TrimPrefix: "example.test/m/", Live: live,
	})
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return got, out.String()
}

func testFile(body string) string {
	return "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Exit\n\n" + body
}

func TestReadCountsWhatGoTestDid(t *testing.T) {
	cases := map[string]struct {
		files    map[string]string
		want     string
		wantText []string
	}{
		"subtests are counted, their parents are not": {
			files: map[string]string{"p/p_test.go": testFile(`
func TestOne(t *testing.T) { for _, n := range []string{"a", "b"} { t.Run(n, func(t *testing.T) {}) } }
func TestTwo(t *testing.T) {}`)},
			want:     "3 passed, 0 failed, 0 skipped",
			wantText: []string{"ok    p ", "3 passed"},
		},
		"a failure shows its output and that of no other test": {
			files: map[string]string{"p/p_test.go": testFile(`
func TestGood(t *testing.T) { t.Log("quiet please") }
func TestBad(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Error("the reason") }) }`)},
			want:     "1 passed, 1 failed, 0 skipped",
			wantText: []string{"the reason", "FAIL  p ", "!quiet please"},
		},
		"a parent that fails by itself counts": {
			files: map[string]string{"p/p_test.go": testFile(`
func TestBad(t *testing.T) { t.Run("sub", func(t *testing.T) {}); t.Error("the parent") }`)},
			want:     "1 passed, 1 failed, 0 skipped",
			wantText: []string{"the parent"},
		},
		"a skip is named with its reason": {
			files: map[string]string{"p/p_test.go": testFile(`
func TestLater(t *testing.T) { t.Skip("no such tool") }`)},
			want: "0 passed, 0 failed, 1 skipped",
		},
		"a package that does not compile is one failure": {
			files: map[string]string{
				"p/p_test.go": testFile(`func TestX(t *testing.T) { nonsense() }`),
				"q/q_test.go": testFile(`func TestY(t *testing.T) {}`),
			},
			want:     "1 passed, 1 failed, 0 skipped",
			wantText: []string{"undefined: nonsense"},
		},
		"a panic fails the test it happened in": {
			files: map[string]string{"p/p_test.go": testFile(`
func TestFirst(t *testing.T) {}
func TestPanics(t *testing.T) { panic("boom") }`)},
			want:     "1 passed, 1 failed, 0 skipped",
			wantText: []string{"panic: boom"},
		},
		"an exit before the first test is one failure": {
			files: map[string]string{"p/p_test.go": testFile(`
func TestMain(m *testing.M) { println("no database"); os.Exit(3) }
func TestX(t *testing.T) {}`)},
			want:     "0 passed, 1 failed, 0 skipped",
			wantText: []string{"no database"},
		},
		"a package without tests is not mentioned": {
			files: map[string]string{
				"p/p.go":      "package p\n",
				"q/q_test.go": testFile(`func TestY(t *testing.T) {}`),
			},
			want:     "1 passed, 0 failed, 0 skipped",
			wantText: []string{"! p "},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, out := goTest(t, tc.files, false)
			if got.Line() != tc.want {
				t.Errorf("counted %q, want %q; output:\n%s", got.Line(), tc.want, out)
			}
			for _, text := range tc.wantText {
				unwanted, negated := strings.CutPrefix(text, "!")
				if strings.Contains(out, unwanted) == negated {
					t.Errorf("output does not hold to %q:\n%s", text, out)
				}
			}
		})
	}
}

func TestSkipsAreNamed(t *testing.T) {
	got, _ := goTest(t, map[string]string{"p/p_test.go": testFile(`
func TestLater(t *testing.T) { t.Skip("no such tool") }`)}, false)
	if want := []string{"p TestLater: no such tool"}; !slices.Equal(got.Skips, want) {
		t.Errorf("Skips = %q, want %q", got.Skips, want)
	}
}

func TestLiveShowsAllOutput(t *testing.T) {
	_, out := goTest(t, map[string]string{"p/p_test.go": testFile(`
func TestGood(t *testing.T) { t.Log("step one") }`)}, true)
	if !strings.Contains(out, "step one") {
		t.Errorf("output of a passing test is missing:\n%s", out)
	}
}

func TestReadGinkgoSuite(t *testing.T) {
	const total = `{"Action":"output","Package":"p","Test":"TestSuite","Output":"\u001b[32mSUCCESS!\u001b[0m -- ` +
		`\u001b[32m7 Passed\u001b[0m | 0 Failed | 1 Pending | 2 Skipped\n"}` + "\n"
	cases := map[string]struct {
		events string
		want   string
	}{
		"specs are counted instead of the one Go test around them": {
			events: total + `{"Action":"pass","Package":"p","Test":"TestSuite"}` + "\n" +
				`{"Action":"pass","Package":"p"}`,
			want: "7 passed, 0 failed, 3 skipped",
		},
		"a suite that fails outside its specs is a failure": {
			events: total + `{"Action":"fail","Package":"p","Test":"TestSuite"}` + "\n" +
				`{"Action":"fail","Package":"p"}`,
			want: "7 passed, 1 failed, 3 skipped",
		},
		"a stream that breaks off is a failure": {
			events: `{"Action":"start","Package":"p"}` + "\n" + `{"Action":"run","Package":"p","Test":"TestSuite"}`,
			want:   "0 passed, 1 failed, 0 skipped",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := testcount.Read(strings.NewReader(tc.events), testcount.Options{Out: io.Discard})
			if err != nil || got.Line() != tc.want {
				t.Errorf("Read = %q, %v, want %q", got.Line(), err, tc.want)
			}
		})
	}
}

func TestSilenceIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, feed := io.Pipe()
		var out bytes.Buffer
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			_, _ = testcount.Read(events, testcount.Options{Out: &out})
		}()
		_, _ = io.WriteString(feed, `{"Action":"start","Package":"slow"}`+"\n")
		time.Sleep(31 * time.Second) // the bubble's clock, not a real wait
		synctest.Wait()
		_ = feed.Close()
		<-finished
		if want := "30s so far, running slow"; !strings.Contains(out.String(), want) {
			t.Errorf("output = %q, want it to say %q", out.String(), want)
		}
	})
}

func TestErr(t *testing.T) {
	cases := map[string]struct {
		result  testcount.Result
		wantErr string
	}{
		"passed tests are fine":   {result: testcount.Result{Passed: 2, Skipped: 1}},
		"a failure is an error":   {result: testcount.Result{Passed: 2, Failed: 1}, wantErr: "1 of 3 tests failed"},
		"nothing run is an error": {result: testcount.Result{Skipped: 4}, wantErr: "no test ran (4 skipped)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.result.Err()
			if (err == nil) != (tc.wantErr == "") || (err != nil && err.Error() != tc.wantErr) {
				t.Errorf("Err = %v, want %q", err, tc.wantErr)
			}
		})
	}
}
