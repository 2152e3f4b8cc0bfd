// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"context"
	"os"
	"sync"
)

// live holds the reporters of this process that may have something to send at its end.
var live registry

type registry struct {
	mu      sync.Mutex
	release map[*sender]func() // what to undo when the reporter ends
}

// add makes a reporter known to Exit, to signals and to its context.
func (l *registry) add(s *sender, with settings) {
	var release []func()
	if !with.noSignals {
		release = append(release, watchSignals())
	}
	if with.context != nil {
		stop := context.AfterFunc(with.context, s.flush)
		release = append(release, func() { stop() })
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.release == nil {
		l.release = map[*sender]func(){}
	}
	l.release[s] = func() {
		for _, undo := range release {
			undo()
		}
	}
}

func (l *registry) remove(s *sender) {
	l.mu.Lock()
	undo := l.release[s]
	delete(l.release, s)
	l.mu.Unlock()
	if undo != nil {
		undo()
	}
}

// flush sends the newest reports of all reporters at the same time, in at most 5 seconds.
func (l *registry) flush() {
	l.mu.Lock()
	var group sync.WaitGroup
	for s := range l.release {
		group.Add(1)
		go func() {
			defer group.Done()
			s.flush()
		}()
	}
	l.mu.Unlock()
	group.Wait()
}

// Exit sends the newest report, waiting at most 5 seconds, and ends the program with os.Exit. Use it
// in place of os.Exit and log.Fatal, which Go does not let anyone notice. D24.
func Exit(code int) {
	live.flush()
	os.Exit(code)
}
