// SPDX-License-Identifier: Apache-2.0

// Package leaks ends a test program with an error when goroutines outlive its
// tests.
//
// It owns the exit code. Packages without a main of their own for tests call
// goleak themselves.
package leaks

import (
	"fmt"
	"net/http"
	"os"

	"go.uber.org/goleak"
)

// Check returns the exit code of a test program whose tests ended with code, and
// whose servers and clients are stopped: 1 when goroutines are left.
func Check(code int, options ...goleak.Option) int {
	if code != 0 {
		return code // a test that failed may have left anything
	}
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(options...); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines outlive the tests:", err)
		return 1
	}
	return 0
}
