// SPDX-License-Identifier: Apache-2.0

// Package leaks ends a test program with an error when goroutines outlive its
// tests.
//
// It owns the exit code, and the list of what others leave behind. Packages
// without a main of their own for tests call goleak themselves.
package leaks

import (
	"fmt"
	"net/http"
	"os"

	"go.uber.org/goleak"
)

// ofOthers are the goroutines that dependencies leave behind, whatever a test does.
var ofOthers = []goleak.Option{
	// Ginkgo listens for signals to the end of the program.
	goleak.IgnoreAnyFunction("github.com/onsi/ginkgo/v2/internal/interrupt_handler.(*InterruptHandler).registerForInterrupts.func2"),
	// The filter with which caches of controller-runtime watch stays behind when
	// an event is on its way as the watch ends.
	goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"),
}

// Check returns the exit code of a test program whose tests ended with code, and
// whose servers and clients are stopped: 1 when goroutines are left.
func Check(code int) int {
	if code != 0 {
		return code // a test that failed may have left anything
	}
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(ofOthers...); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines outlive the tests:", err)
		return 1
	}
	return 0
}
