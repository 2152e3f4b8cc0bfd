// SPDX-License-Identifier: Apache-2.0

// Package latest keeps the newest accepted report of each TrainJob until it is
// stored.
//
// It owns the memory between the door and the writer: which report of a job is
// the newest, which job is written next, and how long a caller waits for its
// answer. It does not own the checks of a report (reportrules), the pace of
// writing or the API (statuswriter).
//
// A job is known by its UID, so that a job deleted and made again under the
// same name starts anew. There is at most one report per job in memory, however
// many arrive, and at most one write per job under way.
package latest

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// Pace tells how fast reports are written.
type Pace interface {
	// Expect returns the time until a report is written that has so many others
	// before it.
	Expect(before int) time.Duration
}

// Keeper reads what is stored.
type Keeper interface {
	// Load returns what is stored for a job; report.ErrUnknownJob when there is
	// no such job.
	Load(ctx context.Context, job report.JobKey) (report.Kept, error)
}

// Observer hears what becomes of reports. Implementations must not block.
type Observer interface {
	Accepted()
	// Coalesced is called when a report takes the place of one not yet written.
	Coalesced()
	Superseded()
}

// Config of a Store. Every field has a default.
type Config struct {
	// QuickWait is how long a caller waits for the write of a report that is
	// expected within that time; default 250 ms.
	QuickWait time.Duration
	// FinalWait is how long a caller waits for the write of a final report
	// before it is told to come again; default 4 s, a second less than the
	// timeout of published clients.
	FinalWait time.Duration
	// HurryEvery is how often a job may come first with a final report; default
	// 5 s. A job that keeps saying it is complete waits its turn in between.
	HurryEvery time.Duration
	// MinGap is the least time between two writes of one job, unless the newer
	// report is final; default 1 s. It keeps a job that reports all the time from
	// taking every write that others leave.
	MinGap time.Duration
	// MaxReporters is the number of pods per job whose order is watched;
	// default 1024. Beyond it the pod that was silent longest is forgotten.
	MaxReporters int
	// Clock is the source of time; default the real one.
	Clock clock.Clock
	// Observer may be nil.
	Observer Observer
}

const (
	defaultQuickWait    = 250 * time.Millisecond
	defaultFinalWait    = 4 * time.Second
	defaultHurryEvery   = 5 * time.Second
	defaultMinGap       = time.Second
	defaultMaxReporters = 1024
)

// Validate reports every field that makes no sense.
func (c Config) Validate() error {
	var errs []error
	if min(c.QuickWait, c.FinalWait, c.HurryEvery, c.MinGap) < 0 {
		errs = append(errs, errors.New("waits must not be negative"))
	}
	if c.MaxReporters < 0 {
		errs = append(errs, errors.New("MaxReporters must not be negative"))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.QuickWait == 0 {
		c.QuickWait = defaultQuickWait
	}
	if c.FinalWait == 0 {
		c.FinalWait = defaultFinalWait
	}
	if c.HurryEvery == 0 {
		c.HurryEvery = defaultHurryEvery
	}
	if c.MinGap == 0 {
		c.MinGap = defaultMinGap
	}
	if c.MaxReporters == 0 {
		c.MaxReporters = defaultMaxReporters
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

func (silent) Accepted()   {}
func (silent) Coalesced()  {}
func (silent) Superseded() {}

// Store is safe for concurrent use.
type Store struct {
	cfg    Config
	pace   Pace
	keeper Keeper

	// wake holds one signal at most: that there is something to write.
	wake chan struct{}

	mu      sync.Mutex
	entries map[types.UID]*entry
	queue   queue
	// unsettled counts the entries with something that is not stored.
	unsettled int
}

// New returns an empty Store.
func New(cfg Config, pace Pace, keeper Keeper) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Store{
		cfg:     cfg.withDefaults(),
		pace:    pace,
		keeper:  keeper,
		wake:    make(chan struct{}, 1),
		entries: map[types.UID]*entry{},
	}, nil
}

// Newest returns the newest report of the sender's job, stored or about to be;
// nil when there is none.
func (s *Store) Newest(ctx context.Context, from report.Sender) (*report.Report, error) {
	kept, err := s.keeper.Load(ctx, from.Job)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[from.JobUID]
	if e == nil || e.version == 0 {
		return kept.Report, nil
	}
	own := e.newest
	// What is kept may be newer than all that came through this process. Until
	// the cache has caught up with a write, it may also be older.
	if kept.Newer(e.from, own, s.cfg.Clock.Now()) && !e.pending().Wrote(kept) {
		return kept.Report, nil
	}
	return &own, nil
}

// Forget drops all that is known of a job that is gone. Callers that wait for
// it learn that the job is unknown.
func (s *Store) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[uid]
	if e == nil {
		return
	}
	s.queue.remove(e)
	if e.dirty() {
		s.unsettled--
	}
	delete(s.entries, uid)
	e.release(e.version, answer{err: report.Refuse(report.ErrUnknownJob, "gone", "Train job not found")})
}

// Len returns the number of jobs with something that is not stored yet.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unsettled
}

// OldestWait returns how long the oldest change that is not stored waits; 0
// when everything is stored.
func (s *Store) OldestWait() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest time.Time
	for _, e := range s.entries {
		if e.dirty() && (oldest.IsZero() || e.since.Before(oldest)) {
			oldest = e.since
		}
	}
	if oldest.IsZero() {
		return 0
	}
	return s.cfg.Clock.Since(oldest)
}
