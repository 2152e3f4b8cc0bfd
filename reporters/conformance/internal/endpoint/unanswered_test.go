// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/endpoint"
)

func TestUnansweredPortSaysNothing(t *testing.T) {
	dead, err := endpoint.Unanswer()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dead.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range 3 {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", dead.Port), 200*time.Millisecond)
		if err == nil {
			_ = conn.Close()
			t.Fatal("a connection came about")
		}
		if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() { //nolint:errorlint // a dialer wraps nothing around it
			t.Errorf("got %v, want a timeout", err)
		}
	}
}
