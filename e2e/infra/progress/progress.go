// SPDX-License-Identifier: Apache-2.0

// Package progress tells people how long something slow will take and has
// taken. It owns the wording and the pace, nothing else.
package progress

import (
	"fmt"
	"io"
	"time"
)

// interval is short enough that nobody takes a build for a hang.
const interval = 15 * time.Second

// Start says that what is being built, and from then on how long that has
// taken. usual is the time on two idle cores. The returned function ends it and
// says how it went.
func Start(out io.Writer, what string, usual time.Duration) func(error) {
	start := time.Now()
	say(out, "building %s, only this once; takes about %s on two idle cores", what, usual)
	ticker := time.NewTicker(interval)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				say(out, "building %s: %s so far", what, elapsed(start))
			case <-stop:
				return
			}
		}
	}()
	return func(err error) {
		close(stop)
		<-stopped
		if err != nil {
			say(out, "building %s stopped after %s", what, elapsed(start))
			return
		}
		say(out, "built %s in %s", what, elapsed(start))
	}
}

func elapsed(start time.Time) time.Duration {
	return time.Since(start).Round(time.Second)
}

func say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...) // nobody can be told that telling does not work
}
