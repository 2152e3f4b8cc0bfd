// SPDX-License-Identifier: Apache-2.0

package localrun

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/utils/clock"

	"github.com/milepost-dev/milepost/controller/internal/localrun/command"
	"github.com/milepost-dev/milepost/controller/internal/localrun/screen"
	"github.com/milepost-dev/milepost/controller/internal/progressview"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

const (
	barEvery   = 250 * time.Millisecond
	plainEvery = time.Second
	speaker    = "milepost: "
)

// view shows the newest report while the command runs.
type view struct {
	name    string
	clock   clock.WithTicker
	started time.Time
	err     io.Writer      // for plain lines
	screen  *screen.Screen // nil where there is no bar
	style   progressview.Style
	resized func() // called when the terminal has another size

	mu       sync.Mutex
	newest   *report.Report
	received time.Time
	shown    *report.Report // by the last plain line

	stop    chan struct{}
	drawing sync.WaitGroup
}

// newView decides between the bar and plain lines.
func newView(name string, stderr *os.File, env []string, plain bool, c clock.WithTicker) *view {
	v := &view{name: name, clock: c, started: c.Now(), err: stderr, stop: make(chan struct{})}
	if plain || !command.HasOutput || !term.IsTerminal(int(stderr.Fd())) || lookup(env, "TERM") == "dumb" || lookup(env, "TERM") == "" {
		return v
	}
	size := func() (rows, columns int) {
		columns, rows, err := term.GetSize(int(stderr.Fd()))
		if err != nil {
			return 0, 0
		}
		return rows, columns
	}
	if rows, columns := size(); rows < screen.MinRows || columns < 1 {
		return v
	}
	v.screen = screen.New(stderr, size)
	v.style = progressview.Style{Colour: lookup(env, "NO_COLOR") == "", Unicode: speaksUnicode(env)}
	return v
}

// speaksUnicode follows the variables that choose the character set. macOS has
// none by default and a terminal that knows all characters.
func speaksUnicode(env []string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(lookup(env, name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return runtime.GOOS == "darwin"
}

// report takes the newest report.
func (v *view) report(rep report.Report) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.newest, v.received = &rep, v.clock.Now()
}

func (v *view) state() progressview.View {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.clock.Now()
	state := progressview.View{Name: v.name, Report: v.newest, Elapsed: now.Sub(v.started)}
	if v.newest != nil {
		state.ReportAge = now.Sub(v.received)
	}
	return state
}

// say writes one line of milepost itself.
func (v *view) say(text string) {
	if v.screen != nil {
		v.screen.Say(speaker + text)
		return
	}
	_, _ = fmt.Fprintln(v.err, speaker+text) // a log that is closed must not end the training
}

// start draws until close.
func (v *view) start() {
	v.drawing.Go(func() {
		every, draw := plainEvery, v.plain
		if v.screen != nil {
			every, draw = barEvery, v.bar
			draw()
		}
		ticker := v.clock.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C():
				draw()
			case <-v.stop:
				return
			}
		}
	})
}

// close shows the last report where lines are plain, and removes the bar.
func (v *view) close() {
	close(v.stop)
	v.drawing.Wait()
	if v.screen != nil {
		v.screen.Close()
		return
	}
	v.plain()
}

func (v *view) bar() {
	style := v.style
	_, style.Width = v.screen.Size()
	if v.screen.Show(progressview.Bar(v.state(), style)) && v.resized != nil {
		v.resized()
	}
}

// plain writes a line when the report says something new.
func (v *view) plain() {
	state := v.state()
	if state.Report == nil || v.shown != nil && sameValues(*v.shown, *state.Report) {
		return
	}
	v.shown = state.Report
	v.say(progressview.Plain(state))
}

// sameValues compares what a plain line shows, which is all but the time.
func sameValues(a, b report.Report) bool {
	a.LastUpdatedTime = b.LastUpdatedTime
	return a.Equal(b)
}
