// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// startPatience is how long one step of the start may take on a busy machine.
const startPatience = 2 * time.Minute

// components lists all components in the order of their start.
func (l layout) components() []component {
	return []component{
		l.etcdComponent(), l.containerdComponent(), l.apiServerComponent(), l.controllerManagerComponent(),
		l.schedulerComponent(), l.proxyComponent(), l.dnsComponent(), l.kubeletComponent(),
	}
}

// launch starts the components. Most retry until what they need is there, so
// it only waits where something gives up: the API server without etcd, and the
// kubelet without containerd, whose mounts it also joins.
func (c *Cluster) launch(ctx context.Context, p parts) error {
	l := c.layout
	s := &starter{cluster: c, programs: p.programs}
	s.start(l.etcdComponent(), 0)
	node := s.start(l.containerdComponent(), 0)
	s.start(l.apiServerComponent(), 0)
	s.wait(ctx, "containerd to answer", func(ctx context.Context) (bool, error) {
		return c.Command(ctx, "ctr", "version").Run() == nil, nil
	})
	for _, archive := range p.images {
		s.do(func() error { return c.importImage(ctx, archive) })
	}
	s.wait(ctx, "the API server to be ready", func(ctx context.Context) (bool, error) {
		_, err := c.kubectl(ctx, "get", "--raw=/readyz", "--request-timeout=2s")
		return err == nil, nil
	})
	s.do(func() error { return c.applyAccess(ctx) })
	s.start(l.controllerManagerComponent(), 0)
	s.start(l.schedulerComponent(), 0)
	s.start(l.proxyComponent(), 0)
	s.start(l.dnsComponent(), 0)
	s.start(l.kubeletComponent(), node)
	s.wait(ctx, "the node to be ready", func(ctx context.Context) (bool, error) {
		ready, _ := c.nodeReady(ctx)
		return ready, nil
	})
	s.wait(ctx, "the default service account", func(ctx context.Context) (bool, error) {
		_, err := c.kubectl(ctx, "get", "serviceaccount", "default", "--namespace=default", "--output=name")
		return err == nil, nil
	})
	return s.err
}

// applyAccess grants cluster DNS what it reads.
func (c *Cluster) applyAccess(ctx context.Context) error {
	output, err := c.Command(ctx, "kubectl", "apply", "--server-side", "--filename="+c.layout.config("rbac.yaml")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("granting access to cluster DNS: %w: %s", err, output)
	}
	return nil
}

// starter runs steps until one fails and remembers why.
type starter struct {
	cluster  *Cluster
	programs string
	daemons  []*daemon
	err      error
}

func (s *starter) do(step func() error) {
	if s.err == nil {
		s.err = step()
	}
}

// start starts a component and returns its process id.
func (s *starter) start(what component, nodePID int) int {
	if s.err != nil {
		return 0
	}
	var started *daemon
	started, s.err = s.cluster.layout.start(s.programs, what, nodePID)
	if s.err != nil {
		return 0
	}
	s.daemons = append(s.daemons, started)
	return started.pid
}

// wait polls until done, and ends at once when a component ends.
func (s *starter) wait(ctx context.Context, what string, done func(context.Context) (bool, error)) {
	if s.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	begin := time.Now()
	notice := begin.Add(10 * time.Second)
	s.err = poll(ctx, 100*time.Millisecond, func() (bool, error) {
		if err := s.firstFailure(); err != nil {
			return true, err
		}
		if time.Now().After(notice) {
			s.cluster.say("waiting for %s: %s so far", what, time.Since(begin).Round(time.Second))
			notice = time.Now().Add(10 * time.Second)
		}
		return done(ctx)
	})
	if errors.Is(s.err, context.DeadlineExceeded) {
		s.err = fmt.Errorf("waited %s for %s", startPatience, what)
	}
}

func (s *starter) firstFailure() error {
	for _, d := range s.daemons {
		select {
		case exit := <-d.exited:
			return d.failure(exit)
		default:
		}
	}
	return nil
}
