// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// remembered is how many things are remembered to say them once. Beyond it nothing new is said, so
// that names which change at every step fill neither memory nor the log. D21.
const remembered = 1000

// once remembers for the life of the process what was said.
type once struct {
	mu   sync.Mutex
	said map[string]bool
}

func (o *once) first(key string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said[key] || len(o.said) >= remembered {
		return false
	}
	if o.said == nil {
		o.said = map[string]bool{}
	}
	o.said[key] = true
	return true
}

// said is shared by all reporters of the process.
var said struct{ metrics, warnings once }

// logger writes lines and survives a handler that does not. D3.
type logger struct{ to *slog.Logger }

func (l logger) log(level slog.Level, message string, args ...any) {
	defer func() { _ = recover() }()
	to := l.to
	if to == nil {
		to = slog.Default()
	}
	to.Log(context.Background(), level, "milepost: "+message, args...)
}

// trouble decides which failures get a line: the first, one a minute, and the end of it. D21.
type trouble struct {
	every time.Duration
	count int // failures since the last success
	last  time.Time
}

// add notes a failure and tells whether it gets a line.
func (t *trouble) add(now time.Time) (speak bool) {
	t.count++
	if t.count == 1 || now.Sub(t.last) >= t.every {
		t.last = now
		return true
	}
	return false
}

// end notes a success and returns how many failures came before it.
func (t *trouble) end() (failures int) {
	failures, t.count = t.count, 0
	return failures
}

// cut shortens text to a number of code points and puts it on one line.
func cut(text string, most int) string {
	var out []rune
	for _, r := range text {
		if len(out) == most {
			break
		}
		if r < ' ' || r == 0x7f {
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}
