// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckState(t *testing.T) {
	cases := map[string]struct {
		files   map[string]string
		wantErr string
	}{
		"an empty folder may be used": {},
		"a cluster's folder may be used": {
			files: map[string]string{"cluster.fingerprint": "x", "etcd/member/wal": "x"},
		},
		"what is left of an interrupted removal may be used": {
			files: map[string]string{"cluster.fingerprint": "x"},
		},
		"a folder of somebody else is refused": {
			files:   map[string]string{"thesis.tex": "x"},
			wantErr: "holds something else than a cluster",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := layout{name: "milepost", state: t.TempDir()}
			writeFiles(t, l.state, tc.files)
			err := l.checkState()
			if tc.wantErr == "" && err != nil {
				t.Errorf("want no error, got %v", err)
			}
			if tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("want an error with %q, got %v", tc.wantErr, err)
			}
		})
	}
}

func TestCheckStateTakesAFolderThatDoesNotExist(t *testing.T) {
	l := layout{name: "milepost", state: filepath.Join(t.TempDir(), "none")}
	if err := l.checkState(); err != nil {
		t.Error(err)
	}
	if err := l.removeState(); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
	if _, err := os.Stat(l.state); !os.IsNotExist(err) {
		t.Errorf("want no folder, got %v", err)
	}
}
