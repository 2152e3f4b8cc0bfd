// SPDX-License-Identifier: Apache-2.0

package testcount_test

import (
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/testcount"
)

func TestUnittest(t *testing.T) {
	cases := map[string]struct {
		said string
		ok   bool
		want string
	}{
		"all passed":             {said: "....\nRan 4 tests in 0.1s\n\nOK\n", ok: true, want: "4 passed, 0 failed, 0 skipped"},
		"some were skipped":      {said: "Ran 4 tests in 0.1s\n\nOK (skipped=1)\n", ok: true, want: "3 passed, 0 failed, 1 skipped"},
		"failures and errors":    {said: "Ran 6 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=1)\n", want: "2 passed, 3 failed, 1 skipped"},
		"it never came so far":   {said: "SyntaxError: invalid syntax\n", want: "0 passed, 1 failed, 0 skipped"},
		"it found no test":       {said: "Ran 0 tests in 0.0s\n\nNO TESTS RAN\n", want: "0 passed, 1 failed, 0 skipped"},
		"a single test has no s": {said: "Ran 1 test in 0.1s\n\nOK\n", ok: true, want: "1 passed, 0 failed, 0 skipped"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := testcount.Unittest(tc.said, tc.ok).Line(); got != tc.want {
				t.Errorf("Unittest = %q, want %q", got, tc.want)
			}
		})
	}
}
