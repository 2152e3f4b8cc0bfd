// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// componentNames lists every component in the order of their start.
var componentNames = []string{etcd, containerd, apiServer, controllerManager, scheduler, proxy, dns, kubelet}

// Health is what can be seen of a cluster from outside.
type Health struct {
	// Running maps components to process ids.
	Running map[string]int
	// Missing are the components that do not run.
	Missing []string
	// Ready says that the API server answers and the node takes pods.
	Ready bool
	// Reason says why Ready is false.
	Reason string
}

// Exists says that something of the cluster is there, working or not.
func (h Health) Exists() bool { return len(h.Running) > 0 }

// Health looks at the cluster without changing anything.
func (c *Cluster) Health(ctx context.Context) (Health, error) {
	if err := CheckMachine(); err != nil {
		return Health{}, err // processes of root keep their environment secret from others
	}
	running, err := c.layout.running()
	if err != nil {
		return Health{}, err
	}
	health := Health{Running: running}
	for _, name := range componentNames {
		if _, runs := running[name]; !runs {
			health.Missing = append(health.Missing, name)
		}
	}
	switch {
	case !health.Exists():
		health.Reason = "not running"
	case len(health.Missing) > 0:
		health.Reason = "not running: " + strings.Join(health.Missing, ", ")
	default:
		health.Ready, health.Reason = c.nodeReady(ctx)
	}
	return health, nil
}

// nodeReady returns whether the node is ready and, if not, why.
func (c *Cluster) nodeReady(ctx context.Context) (bool, string) {
	const condition = `jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}`
	output, err := c.kubectl(ctx, "get", "node", c.layout.name, "--request-timeout=5s", "--output="+condition)
	if err != nil {
		return false, fmt.Sprintf("asking for the node: %v", err)
	}
	status, message, _ := strings.Cut(string(output), " ")
	return status == "True", message
}

// String describes the components, one per line.
func (h Health) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h.Running)) {
		fmt.Fprintf(&text, "%-26s %d\n", name, h.Running[name])
	}
	for _, name := range h.Missing {
		fmt.Fprintf(&text, "%-26s not running\n", name)
	}
	return text.String()
}

// reusable says that a healthy cluster of exactly this making runs.
func (c *Cluster) reusable(ctx context.Context, fingerprint string) (bool, error) {
	recorded, err := os.ReadFile(c.layout.fingerprint())
	if err != nil || string(recorded) != fingerprint {
		return false, nil //nolint:nilerr // no fingerprint means no cluster
	}
	health, err := c.Health(ctx)
	return health.Ready, err
}
