// SPDX-License-Identifier: Apache-2.0

//go:build unix

package milepost

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signals counts the reporters that want the last report sent when a signal ends the program. D25.
var signals struct {
	mu      sync.Mutex
	users   int
	channel chan os.Signal
}

// watchSignals begins to watch, until the returned function is called.
func watchSignals() (release func()) {
	signals.mu.Lock()
	defer signals.mu.Unlock()
	if signals.users++; signals.users == 1 {
		signals.channel = make(chan os.Signal, 1)
		for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
			if !signal.Ignored(sig) { // a program started by nohup lives on
				signal.Notify(signals.channel, sig)
			}
		}
		go endBySignal(signals.channel)
	}
	return sync.OnceFunc(func() {
		signals.mu.Lock()
		defer signals.mu.Unlock()
		if signals.users--; signals.users == 0 {
			signal.Stop(signals.channel)
			close(signals.channel)
		}
	})
}

// endBySignal sends the last report and lets the signal do what it would have done. If the program
// lives on, because it handles the signal as well, reporting goes on and the next signal is its own.
func endBySignal(channel chan os.Signal) {
	sig, ok := <-channel
	if !ok {
		return
	}
	live.flush()
	signal.Stop(channel)
	if number, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(os.Getpid(), number)
	}
}
