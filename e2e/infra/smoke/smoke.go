// SPDX-License-Identifier: Apache-2.0

package smoke

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/milepost-dev/milepost/e2e/infra/binaries"
	"github.com/milepost-dev/milepost/e2e/infra/images"
)

const (
	namespace = "milepost-smoke"
	image     = "localhost/milepost/smoke:1"
)

//go:embed manifests
var manifests embed.FS

// Cluster is what the checks need of a cluster.
type Cluster interface {
	Command(ctx context.Context, name string, args ...string) *exec.Cmd
	LoadImage(ctx context.Context, archive string) error
}

// check is one ability of a cluster; name is a sentence that should be true.
type check struct {
	name string
	run  func(*run, context.Context) error
}

var checks = []check{
	{"a pod under restricted pod security runs", (*run).podRuns},
	{"kubectl logs shows what it printed", (*run).logsShow},
	{"kubectl exec runs a command in it", (*run).execRuns},
	{"the name of a Service resolves to its address", (*run).nameResolves},
	{"another pod reaches the Service", (*run).serviceAnswers},
	{"a pod reaches itself through its Service", (*run).hairpinAnswers},
	{"a name outside the cluster fails at once", (*run).foreignNameFails},
	{"a token for a chosen audience is mounted", (*run).tokenMounted},
	{"a NetworkPolicy is accepted", (*run).networkPolicyAccepted},
	{"a JobSet runs to completion", (*run).jobSetCompletes},
}

type run struct {
	cluster Cluster
	builder *binaries.Builder
	out     io.Writer
}

// Run checks every ability, in an own namespace that is removed again, and says
// how each went. The first failure ends it and leaves the namespace to look at.
func Run(ctx context.Context, cluster Cluster, out io.Writer) error {
	builder, err := binaries.New(out)
	if err != nil {
		return err
	}
	r := &run{cluster: cluster, builder: builder, out: out}
	if err := r.prepare(ctx); err != nil {
		return fmt.Errorf("preparing the checks: %w", err)
	}
	for _, c := range checks {
		begin := time.Now()
		if err := c.run(r, ctx); err != nil {
			return fmt.Errorf("not true that %s: %w", c.name, err)
		}
		_, _ = fmt.Fprintf(out, "ok  %-50s %s\n", c.name, time.Since(begin).Round(10*time.Millisecond)) // a report is a courtesy
	}
	_, err = r.kubectl(ctx, "delete", "namespace", namespace, "--timeout=2m")
	return err
}

func (r *run) prepare(ctx context.Context) error {
	archive, err := images.NewStore(r.builder.Cache()).Go(ctx, images.Go{
		Package:   "github.com/milepost-dev/milepost/e2e/images/smoke",
		Reference: image,
		Output:    r.out,
	})
	if err != nil {
		return err
	}
	if err := r.cluster.LoadImage(ctx, archive); err != nil {
		return err
	}
	if _, err := r.kubectl(ctx, "delete", "namespace", namespace, "--ignore-not-found", "--timeout=2m"); err != nil {
		return err
	}
	return r.apply(ctx, "pods.yaml")
}

// apply sends a manifest to the cluster.
func (r *run) apply(ctx context.Context, file string) error {
	content, err := manifests.ReadFile("manifests/" + file)
	if err != nil {
		return err
	}
	_, err = r.output(ctx, content, "kubectl", "apply", "--server-side", "--filename=-")
	return err
}

func (r *run) kubectl(ctx context.Context, args ...string) (string, error) {
	return r.output(ctx, nil, "kubectl", args...)
}

// inPod runs the smoke program in the pod of a deployment.
func (r *run) inPod(ctx context.Context, deployment string, args ...string) (string, error) {
	return r.kubectl(ctx, append([]string{"exec", "--namespace=" + namespace, "deployment/" + deployment, "--", "/smoke"}, args...)...)
}

func (r *run) output(ctx context.Context, input []byte, name string, args ...string) (string, error) {
	command := r.cluster.Command(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("running %s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
