// SPDX-License-Identifier: Apache-2.0

package statuswriter

import (
	"errors"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Observer hears what the writer does. Implementations must not block.
type Observer interface {
	// Written is called with the seconds that the call took and those since the
	// report's job had something to store.
	Written(callSeconds, waitedSeconds float64)
	// Skipped is called for a report that needs no write: equal or superseded.
	Skipped(reason string)
	// Failed is called for a call that stored nothing: conflict, gone, invalid,
	// or fault.
	Failed(reason string)
}

// Config of a Writer. Every field has a default.
type Config struct {
	// Workers is the largest number of calls at a time; default 16.
	Workers int
	// CallTimeout bounds one call; default 5 s.
	CallTimeout time.Duration
	// FlushTimeout bounds the writing at the end; default 15 s.
	FlushTimeout time.Duration
	// MaxHold is the longest pause after a fault; default 2 s.
	MaxHold time.Duration
	Logger  logr.Logger
	Clock   clock.Clock
	// Observer may be nil.
	Observer Observer
}

const (
	defaultWorkers      = 16
	defaultCallTimeout  = 5 * time.Second
	defaultFlushTimeout = 15 * time.Second
	defaultMaxHold      = 2 * time.Second
	firstHold           = 50 * time.Millisecond
	firstRetry          = 100 * time.Millisecond
	maxRetry            = 3 * time.Second
	// easyConflicts is how often a conflict is tried again at once.
	easyConflicts = 3
)

// Validate reports every field that makes no sense.
func (c Config) Validate() error {
	var errs []error
	if c.Workers < 0 {
		errs = append(errs, errors.New("Workers must not be negative"))
	}
	if c.CallTimeout < 0 || c.FlushTimeout < 0 || c.MaxHold < 0 {
		errs = append(errs, errors.New("timeouts must not be negative"))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.Workers == 0 {
		c.Workers = defaultWorkers
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = defaultCallTimeout
	}
	if c.FlushTimeout == 0 {
		c.FlushTimeout = defaultFlushTimeout
	}
	if c.MaxHold == 0 {
		c.MaxHold = defaultMaxHold
	}
	if c.Logger.GetSink() == nil {
		c.Logger = logr.Discard()
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Observer == nil {
		c.Observer = silent{}
	}
	return c
}

type silent struct{}

func (silent) Written(float64, float64) {}

func (silent) Skipped(string) {}

func (silent) Failed(string) {}
