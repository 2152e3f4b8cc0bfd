// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/testkit/controlplane"
	"github.com/milepost-dev/milepost/controller/internal/testkit/envtest"
	"github.com/milepost-dev/milepost/controller/internal/testkit/leaks"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
	"github.com/milepost-dev/milepost/controller/internal/testkit/trainingpods"
)

const (
	// envScale makes faults as long as promised when it is "full".
	envScale = "MILEPOST_FAULTS"
	// jobCount is the number of TrainJobs that all cases share.
	jobCount = 40
	// namespace is where they are.
	namespace = "faults"
	// patience bounds every wait for a condition that has no bound of its own.
	patience = 60 * time.Second
	poll     = 100 * time.Millisecond
)

// site is what all cases share.
type site struct {
	plane   *controlplane.Plane
	api     client.Client
	kit     trainingpods.Kit
	folder  string
	program string
	jobs    []*job

	mu    sync.Mutex
	lines []string
	// flowed holds the rate of reports before the fault, by name of the test.
	flowed map[string]float64
}

var shared *site

func TestMain(m *testing.M) { os.Exit(leaks.Check(run(m))) }

func run(m *testing.M) int {
	if os.Getenv(envtest.EnvAssets) == "" {
		return m.Run() // each test says that it is skipped
	}
	ctrl.SetLogger(logr.Discard())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := start(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "preparing the fault cases:", err)
		return 1
	}
	defer func() {
		if err := s.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "cleaning up:", err)
		}
	}()
	shared = s
	code := m.Run()
	for _, line := range s.lines {
		fmt.Println(line)
	}
	return code
}

func start(ctx context.Context) (*site, error) {
	folder, err := os.MkdirTemp("", "faults")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	s := &site{folder: folder, flowed: map[string]float64{}}
	s.program, err = livemanager.Build(ctx, folder)
	if err == nil {
		err = s.start(ctx, controlplane.Options{})
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// aside is a site of its own with an API server of its own, for a fault that
// other cases must not meet. It ends with the test.
func (s *site) aside(t *testing.T, opts controlplane.Options) *site {
	t.Helper()
	other := &site{folder: t.TempDir(), program: s.program}
	t.Cleanup(func() {
		if err := other.stop(); err != nil {
			t.Errorf("ending the site of the case: %v", err)
		}
	})
	if err := other.start(t.Context(), opts); err != nil {
		t.Fatalf("starting the site of the case: %v", err)
	}
	return other
}

func (s *site) start(ctx context.Context, opts controlplane.Options) (err error) {
	if s.plane, err = controlplane.Start(ctx, s.folder, opts); err != nil {
		return err
	}
	if s.api, err = client.New(s.plane.Config, client.Options{Scheme: s.plane.Scheme}); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	s.kit = trainingpods.Kit{Client: s.api, Namespace: namespace}
	if err := livemanager.Prepare(ctx, s.api); err != nil {
		return err
	}
	if err := s.kit.Prepare(ctx); err != nil {
		return err
	}
	for i := range jobCount {
		j, err := s.newJob(ctx, fmt.Sprintf("job-%d", i))
		if err != nil {
			return err
		}
		s.jobs = append(s.jobs, j)
	}
	return nil
}

func (s *site) stop() error {
	var err error
	if s.plane != nil {
		err = s.plane.Stop()
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

// fullScale tells whether faults last as long as the project promises to stand.
func fullScale() bool { return os.Getenv(envScale) == "full" }

// scale chooses between the short and the promised size of a fault.
func scale[T any](short, full T) T {
	if fullScale() {
		return full
	}
	return short
}

// require skips the test without an API server. A test that passes without
// having shown its traffic before the fault fails as void.
func require(t *testing.T) *site {
	t.Helper()
	envtest.Require(t)
	t.Cleanup(func() {
		if !t.Failed() && !shared.hasFlowed(t.Name()) {
			t.Errorf("void: no traffic was measured before the fault")
		}
	})
	return shared
}

// sawFlow notes the rate of reports before the fault of a test.
func (s *site) sawFlow(name string, rate float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flowed[name] = rate
}

// hasFlowed tells whether a test, or one below it, has shown its traffic.
func (s *site) hasFlowed(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for flowed, rate := range s.flowed {
		if rate >= minRate && (flowed == name || strings.HasPrefix(flowed, name+"/")) {
			return true
		}
	}
	return false
}

// manager runs a manager that ends with the test.
func (s *site) manager(t *testing.T, cluster *rest.Config, opts livemanager.Options) *livemanager.Manager {
	t.Helper()
	opts.Program, opts.Folder = s.program, t.TempDir()
	log, err := os.CreateTemp(opts.Folder, "manager")
	if err != nil {
		t.Fatal(err)
	}
	opts.Log = log
	m, err := livemanager.Start(t.Context(), cluster, s.api, opts)
	if err != nil {
		t.Fatalf("%v\n%s", err, tail(log.Name()))
	}
	t.Cleanup(func() {
		// How a manager ends is a case of its own; waiting for it here would
		// prove nothing.
		if err := m.Kill(); err != nil {
			t.Errorf("ending the manager: %v", err)
		}
		if t.Failed() {
			t.Logf("end of the manager's log:\n%s", tail(log.Name()))
		}
		_ = log.Close()
	})
	return m
}

// tail returns the end of a file.
func tail(path string) string {
	const size = 6000
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-size):])
}

// note adds the line that is printed for a case at the end.
func (s *site) note(t *testing.T, format string, args ...any) {
	t.Helper()
	if !s.hasFlowed(t.Name()) {
		t.Error("void: no traffic was measured before the fault")
	}
	result := "ok"
	if t.Failed() {
		result = "FAIL"
	}
	line := fmt.Sprintf("%-4s %s: %s", result, t.Name(), fmt.Sprintf(format, args...))
	t.Log(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

// eventually waits for a condition and returns how long it took.
func eventually(t *testing.T, limit time.Duration, what string, condition func() error) time.Duration {
	t.Helper()
	begun := time.Now()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		err := condition()
		took := time.Since(begun)
		if err == nil {
			return took
		}
		if took > limit {
			t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

// during lets the traffic go on for the length of a fault.
func during(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}
