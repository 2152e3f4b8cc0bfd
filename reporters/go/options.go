// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/milepost-dev/milepost/reporters/go/internal/hooks"
)

// An Option changes how [Start] makes a reporter.
type Option func(*settings)

type settings struct {
	get       func(string) string // looks up environment variables
	rank      *int
	interval  time.Duration
	logger    logger
	context   context.Context
	noSignals bool
	hooks     hooks.Hooks
}

func newSettings(options []Option) settings {
	s := settings{get: os.Getenv, interval: defaultInterval}
	for _, option := range options {
		if option != nil {
			option(&s)
		}
	}
	return s
}

// WithRank states the global rank of this process instead of reading it from the environment. Only
// rank 0 reports.
func WithRank(rank int) Option {
	return func(s *settings) { s.rank = &rank }
}

// WithInterval sets the least time between the starts of two reports that arrive, 5 seconds by
// default. Below 0 counts as 0. The server slows down who sends more often than once a second.
func WithInterval(interval time.Duration) Option {
	return func(s *settings) { s.interval = max(0, interval) }
}

// WithLogger sends the few log lines of the reporter to a logger of yours. [slog.Default] gets them
// otherwise.
func WithLogger(to *slog.Logger) Option {
	return func(s *settings) { s.logger.to = to }
}

// WithContext sends the newest report at once when ctx ends, and leaves signals to the program: use
// it where the program turns signals into the end of a context by itself.
func WithContext(ctx context.Context) Option {
	return func(s *settings) { s.context, s.noSignals = ctx, true }
}

// WithoutSignals leaves SIGTERM and SIGINT to the program. Without it the reporter sends its last
// report when one of them comes, and then lets it end the program. Go does not tell whether the
// program handles signals itself; one that does has to use this option, because it would get the
// signal a second time.
func WithoutSignals() Option {
	return func(s *settings) { s.noSignals = true }
}

// WithHooks is for the tests of this repository.
func WithHooks(h hooks.Hooks) Option {
	return func(s *settings) { s.hooks = h }
}
