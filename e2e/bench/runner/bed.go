// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/milepost-dev/milepost/e2e/bench/controlplane"
	"github.com/milepost-dev/milepost/e2e/bench/echo"
	"github.com/milepost-dev/milepost/e2e/bench/fixture"
	"github.com/milepost-dev/milepost/e2e/bench/milepost"
	"github.com/milepost-dev/milepost/e2e/bench/result"
	"github.com/milepost-dev/milepost/e2e/bench/scenario"
	"github.com/milepost-dev/milepost/e2e/bench/subject"
	"github.com/milepost-dev/milepost/e2e/bench/upstream"
)

// fixtureQPS is the rate at which a manager may write while the objects are made, far above its
// default, which would take minutes.
const fixtureQPS = 500

// liftedQPS is far above anything two cores can write.
const liftedQPS = 100_000

// bed is one control plane with objects and the runs that happen on it.
type bed struct {
	config *Config
	host   host
	direct bool
	want   fixture.Size
	tasks  []task

	plane     *controlplane.Plane
	milepost  *milepost.Milepost
	upstream  *upstream.Upstream
	trainJobs dynamic.ResourceInterface
	pods      scenario.Pods
	runs      int
}

// run makes the bed, measures, and removes it again.
func (b *bed) run(ctx context.Context, report *result.Report) (err error) {
	start := time.Now()
	dir, err := os.MkdirTemp(b.config.Dir, string(b.host)+"-")
	if err != nil {
		return fmt.Errorf("making a folder for a control plane: %w", err)
	}
	b.config.Log("starting a control plane for %s", b)
	planeConfig := b.config.Plane
	planeConfig.Dir = dir
	if b.plane, err = controlplane.Start(ctx, planeConfig); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.plane.Stop()) }()
	if err := b.prepare(ctx); err != nil {
		return fmt.Errorf("preparing %s: %w", b, err)
	}
	b.config.Log("ready after %s", time.Since(start).Round(time.Second))
	for _, t := range b.tasks {
		if err := b.measureTask(ctx, t, report); err != nil {
			return err
		}
	}
	return nil
}

// prepare installs the managers' definitions and makes the objects.
func (b *bed) prepare(ctx context.Context) (err error) {
	if b.host == hostMilepost {
		b.milepost, err = milepost.Install(ctx, b.plane, b.config.Milepost)
	} else {
		b.upstream, err = upstream.Install(ctx, b.plane, b.config.Upstream, b.config.Bench)
	}
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(b.plane.Admin())
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	b.trainJobs = client.Resource(fixture.TrainJobs).Namespace(fixture.Namespace)
	objects, err := fixture.New(ctx, b.plane, b.config.Log)
	if err != nil {
		return err
	}
	if b.direct {
		err = objects.Direct(ctx, b.want)
	} else {
		err = b.throughControllers(ctx, objects)
	}
	if err != nil {
		return err
	}
	b.pods.Quiet, b.pods.Crowd, err = objects.Targets(ctx)
	return err
}

// throughControllers runs the manager, with generous limits, for as long as it takes to make the
// pods.
func (b *bed) throughControllers(ctx context.Context, objects *fixture.Fixture) error {
	dir, err := b.plane.Dir("fixture")
	if err != nil {
		return err
	}
	var manager *subject.Server
	if b.milepost != nil {
		manager, err = b.milepost.Start(ctx, dir, milepost.Settings{ReconcileQPS: fixtureQPS})
	} else {
		manager, err = b.upstream.Start(ctx, dir, upstream.Limits{ReconcileQPS: fixtureQPS, ReconcileBurst: 2 * fixtureQPS})
	}
	if manager != nil && manager.Process != nil {
		defer b.stop(manager)
	}
	if err != nil {
		return err
	}
	return objects.ThroughControllers(ctx, b.want)
}

// stop ends a server. That ours had to be killed is worth a line, but no reason to give up; of
// upstream's it is known.
func (b *bed) stop(server *subject.Server) {
	if err := server.Process.Stop(); err != nil && b.host != hostUpstream {
		b.config.Log("note: %v", err)
	}
}

// start runs a server for one phase.
func (b *bed) start(ctx context.Context, server result.Server, dir string, phase *scenario.Phase) (*subject.Server, error) {
	switch server {
	case result.Echo:
		return echo.Start(ctx, b.config.Bench, dir, b.plane.Authority())
	case result.Milepost:
		return b.milepost.Start(ctx, dir, milepost.Settings{Budget: phase.Budget})
	case result.Upstream:
		return b.upstream.Start(ctx, dir, upstream.Limits{})
	case result.UpstreamLifted:
		return b.upstream.Start(ctx, dir, upstream.Limits{StatusQPS: liftedQPS, StatusBurst: liftedQPS})
	}
	return nil, fmt.Errorf("unknown server %q", server)
}

// runDir makes the folder of one run.
func (b *bed) runDir(s *scenario.Scenario, server result.Server) (string, error) {
	b.runs++
	return b.plane.Dir("runs", fmt.Sprintf("%02d-%s-%s", b.runs, filepath.Base(s.Name), server))
}
