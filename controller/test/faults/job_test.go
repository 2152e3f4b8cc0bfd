// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// sequence is the metric that tells the reports of a job apart.
const sequence = "sequence"

// job is a TrainJob with one pod, and the history of what was answered to it.
type job struct {
	name  string
	token string
	pod   *corev1.Pod

	mu sync.Mutex
	// sent is the sequence of the newest report.
	sent int
	// acked is the newest that was answered with 200, final the newest of those
	// that said 100 %.
	acked, final int
}

func (s *site) newJob(ctx context.Context, name string) (*job, error) {
	set, err := s.kit.Create(ctx, name, 1)
	if err != nil {
		return nil, err
	}
	token, err := s.kit.Token(ctx, set.Pods[0], name)
	return &job{name: name, token: token, pod: set.Pods[0]}, err
}

// next returns the body of the next report of the job. With finals every so
// manieth says 100 %.
func (j *job) next(finals bool) (number int, final bool, body string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sent++
	progress := j.sent % 100
	if final = finals && j.sent%finalEvery == 0; final {
		progress = 100
	}
	return j.sent, final, fmt.Sprintf(`{"trainerStatus":{"progressPercentage":%d,"metrics":[{"name":%q,"value":"%d"}],"lastUpdatedTime":%q}}`,
		progress, sequence, j.sent, time.Now().UTC().Format(time.RFC3339Nano))
}

// accepted notes that a report was answered with 200. One that was superseded
// need not be stored, unless it is final: then what superseded it is.
func (j *job) accepted(number int, final, superseded bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !superseded {
		j.acked = max(j.acked, number)
	}
	if final {
		j.final = max(j.final, number)
	}
}

// known returns the newest answered report, and the newest answered final one.
func (j *job) known() (acked, final int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.acked, j.final
}

func newTrainJob() *trainer.TrainJob { return &trainer.TrainJob{} }

// lowest is what must be stored of each job, by its name.
type lowest map[string]int

// ackedFinals is what must be stored at every time: what was answered as stored.
func ackedFinals(jobs []*job) lowest {
	out := lowest{}
	for _, j := range jobs {
		_, out[j.name] = j.known()
	}
	return out
}

// ackedReports is what must be stored once nothing waits any more.
func ackedReports(jobs []*job) lowest {
	out := lowest{}
	for _, j := range jobs {
		out[j.name], _ = j.known()
	}
	return out
}

// stored reads the sequence of what is stored for each job, past all caches.
func (s *site) stored(ctx context.Context) (map[string]int, error) {
	var list trainer.TrainJobList
	if err := s.api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing TrainJobs: %w", err)
	}
	out := map[string]int{}
	for _, item := range list.Items {
		if item.Status.TrainerStatus == nil {
			continue
		}
		for _, metric := range item.Status.TrainerStatus.Metrics {
			if metric.Name != sequence {
				continue
			}
			number, err := strconv.Atoi(metric.Value)
			if err != nil {
				return nil, fmt.Errorf("reading what is stored for %s: %w", item.Name, err)
			}
			out[item.Name] = number
		}
	}
	return out, nil
}

// check compares what is stored with what must be.
func (l lowest) check(stored map[string]int) error {
	for name, number := range l {
		if stored[name] < number {
			return fmt.Errorf("%s: report %d was answered with 200, stored is %d", name, number, stored[name])
		}
	}
	return nil
}

// wantStored waits until at least what is asked for is stored.
func (s *site) wantStored(t *testing.T, limit time.Duration, want lowest) time.Duration {
	t.Helper()
	return eventually(t, limit, "newest reports stored", func() error {
		stored, err := s.stored(t.Context())
		if err != nil {
			return err
		}
		return want.check(stored)
	})
}

// watchFinals reads what is stored again and again until stop is called, and
// fails the test when a final report that was answered before the read is not
// there. Reads that fail, as while the API server is away, count for nothing.
func (s *site) watchFinals(t *testing.T, jobs []*job) (stop func() (reads int)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		reads := 0
		tick := time.NewTicker(5 * poll)
		defer tick.Stop()
		for ctx.Err() == nil {
			want := ackedFinals(jobs)
			if stored, err := s.stored(ctx); err == nil {
				reads++
				if err := want.check(stored); err != nil {
					t.Errorf("acknowledged final lost: %v", err)
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		done <- reads
	}()
	return func() int { cancel(); return <-done }
}
