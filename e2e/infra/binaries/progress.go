// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"fmt"
	"io"
	"time"
)

// progressInterval is short enough that nobody takes a build for a hang.
const progressInterval = 15 * time.Second

// announce says that a build starts and from then on how long it has taken.
// The returned function ends that and says how it went.
func announce(out io.Writer, name, version string, cold time.Duration) func(error) {
	start := time.Now()
	_, _ = fmt.Fprintf(out, "building %s %s, only this once; takes about %s on two idle cores\n", name, version, cold)
	ticker := time.NewTicker(progressInterval)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_, _ = fmt.Fprintf(out, "building %s: %s so far\n", name, elapsed(start))
			case <-stop:
				return
			}
		}
	}()
	return func(err error) {
		close(stop)
		<-stopped
		if err != nil {
			_, _ = fmt.Fprintf(out, "building %s stopped after %s\n", name, elapsed(start))
			return
		}
		_, _ = fmt.Fprintf(out, "built %s %s in %s\n", name, version, elapsed(start))
	}
}

func elapsed(start time.Time) time.Duration {
	return time.Since(start).Round(time.Second)
}
