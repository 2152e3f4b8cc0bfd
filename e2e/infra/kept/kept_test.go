// SPDX-License-Identifier: Apache-2.0

package kept

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestGet(t *testing.T) {
	folders := Folders{Dir: filepath.Join(t.TempDir(), "folders"), Kind: "folder", Output: io.Discard}
	fills := 0
	get := func(name, key string, fail error) (string, error) {
		t.Helper()
		return folders.Get(t.Context(), name, key, time.Second, func(_ context.Context, dir string) error {
			fills++
			return errors.Join(os.WriteFile(filepath.Join(dir, "file"), []byte(key), 0o600), fail)
		})
	}
	content := func(dir string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, "file"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
	first, err := get("one", "a", nil)
	if err != nil || content(first) != "a" {
		t.Fatalf("folder %s holds %q, %v", first, content(first), err)
	}
	if again, err := get("one", "a", nil); again != first || err != nil || fills != 1 {
		t.Errorf("the second time gives %s, %v after %d fills; want what is kept", again, err, fills)
	}
	if other, err := get("other", "a", nil); other == first || err != nil {
		t.Errorf("another name gives %s, %v", other, err)
	}
	no := errors.New("no")
	if dir, err := get("one", "b", no); !errors.Is(err, no) || dir != "" {
		t.Errorf("a failed fill gives %q, %v", dir, err)
	}
	if content(first) != "a" {
		t.Error("a failed fill took the older folder away")
	}
	second, err := get("one", "b", nil)
	if err != nil || content(second) != "b" || content(first) != "" {
		t.Errorf("the new folder holds %q, the old one %q, %v; want b and nothing", content(second), content(first), err)
	}
	left, err := filepath.Glob(filepath.Join(folders.Dir, "*@*"))
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v; want one folder for each name", left, err)
	}
}
