// SPDX-License-Identifier: Apache-2.0

package testcount_test

import (
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

func TestSaid(t *testing.T) {
	cases := map[string]struct{ format, said, want string }{
		"cargo adds up its binaries": {
			format: "cargo",
			said: "running 2 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n" +
				"test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured\n",
			want: "5 passed, 1 failed, 1 skipped",
		},
		"go counts its events": {
			format: "go",
			said: `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" +
				`{"Action":"pass","Package":"p"}` + "\n",
			want: "1 passed, 0 failed, 0 skipped",
		},
		"node in TAP": {
			format: "node",
			said:   "ok 1 - a\n# tests 4\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n",
			want:   "2 passed, 1 failed, 1 skipped",
		},
		"node on a terminal": {
			format: "node",
			said:   "✔ a (1ms)\nℹ tests 2\nℹ pass 2\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\n",
			want:   "2 passed, 0 failed, 0 skipped",
		},
		"surefire counts its closing line alone": {
			format: "surefire",
			said: "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in A\n" +
				"[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n",
			want: "2 passed, 2 failed, 1 skipped",
		},
		"pytest": {
			format: "pytest",
			said:   "....\n====== 1 failed, 12 passed, 2 skipped, 1 error in 1.23s ======\n",
			want:   "12 passed, 2 failed, 2 skipped",
		},
		"pytest without decoration": {format: "pytest", said: "12 passed in 0.03s\n", want: "12 passed, 0 failed, 0 skipped"},
		"unittest":                  {format: "unittest", said: "Ran 4 tests in 0.1s\n\nOK\n", want: "4 passed, 0 failed, 0 skipped"},
		"nothing that can be read":  {format: "cargo", said: "error: could not compile\n", want: "0 passed, 0 failed, 0 skipped"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := testcount.Said(tc.format, tc.said).Line(); got != tc.want {
				t.Errorf("Said = %q, want %q", got, tc.want)
			}
		})
	}
}
