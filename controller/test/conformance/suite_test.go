// SPDX-License-Identifier: Apache-2.0

// Package conformance_test holds the report endpoint against the contract: what
// is sent over TLS with the token of a real pod, what comes back, and what a
// reader of the API server then finds. It prints one row per case.
package conformance_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/reportapi"
	"github.com/milepost-dev/milepost/controller/internal/testkit/envtest"
	"github.com/milepost-dev/milepost/controller/internal/testkit/leaks"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
	"github.com/milepost-dev/milepost/controller/internal/testkit/trainingpods"
)

// row is one line of the printed table.
type row struct {
	source, name, upstream, ours string
	// onPurpose says why ours differs from upstream; empty when it does not.
	onPurpose string
	passed    bool
}

// bench is the server under test with one TrainJob per case.
type bench struct {
	kit     trainingpods.Kit
	manager *livemanager.Manager
	// replica makes a second manager beside the first.
	replica func(ctx context.Context) (*livemanager.Manager, error)
	tls     *tls.Config
	client  *http.Client

	mu   sync.Mutex
	rows []row
}

var shared *bench

func TestMain(m *testing.M) { os.Exit(leaks.Check(run(m))) }

func run(m *testing.M) int {
	if os.Getenv(envtest.EnvAssets) == "" {
		return m.Run() // each test says that it is skipped
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ctrl.SetLogger(logr.Discard())
	b, stop, err := start(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the server under test:", err)
		return 1
	}
	defer stop()
	shared = b
	code := m.Run()
	b.print(os.Stdout)
	return code
}

func start(ctx context.Context) (*bench, func(), error) {
	cluster, err := envtest.Start(ctx, envtest.Options{})
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return nil, nil, errors.Join(err, cluster.Stop())
	}
	stopCluster := func() {
		if err := errors.Join(cluster.Stop(), os.RemoveAll(folder)); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
	}
	b, err := startOn(ctx, cluster, folder)
	if err != nil {
		stopCluster()
		return nil, nil, err
	}
	return b, func() {
		b.client.CloseIdleConnections()
		if err := b.manager.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the manager:", err)
		}
		stopCluster()
	}, nil
}

func startOn(ctx context.Context, cluster *envtest.Cluster, folder string) (*bench, error) {
	api, err := client.New(cluster.Config, client.Options{Scheme: cluster.Scheme})
	if err != nil {
		return nil, err
	}
	b := &bench{kit: trainingpods.Kit{Client: api, Namespace: "conformance"}}
	if err := livemanager.Prepare(ctx, api); err != nil {
		return nil, err
	}
	if err := b.kit.Prepare(ctx); err != nil {
		return nil, err
	}
	program, err := livemanager.Build(ctx, folder)
	if err != nil {
		return nil, err
	}
	b.replica = func(ctx context.Context) (*livemanager.Manager, error) {
		return livemanager.Start(ctx, cluster.Config, api, livemanager.Options{Program: program, Folder: folder})
	}
	if b.manager, err = b.replica(ctx); err != nil {
		return nil, err
	}
	if b.tls, err = b.manager.TLS(ctx); err != nil {
		return nil, err
	}
	b.client = &http.Client{Transport: &http.Transport{TLSClientConfig: b.tls}, Timeout: 10 * time.Second}
	return b, nil
}

func (b *bench) print(w io.Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RESULT\tSOURCE\tCASE\tUPSTREAM\tHERE\tDIFFERS ON PURPOSE")
	passed := 0
	for _, r := range b.rows {
		result := "FAIL"
		if r.passed {
			result = "ok"
			passed++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", result, r.source, r.name, r.upstream, r.ours, r.onPurpose)
	}
	table.Flush()
	fmt.Fprintf(w, "%d of %d conformance cases pass\n", passed, len(b.rows))
}

func (b *bench) note(t *testing.T, r row) {
	r.passed = !t.Failed()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, r)
}

// caller is a pod of a TrainJob that was made for one case.
type caller struct {
	*bench
	t     *testing.T
	set   *trainingpods.Set
	pod   *corev1.Pod
	token string
}

// newCaller makes a TrainJob with one pod and its token.
func newCaller(t *testing.T, name string) *caller {
	t.Helper()
	envtest.Require(t)
	set, err := shared.kit.Create(t.Context(), name, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := &caller{bench: shared, t: t, set: set, pod: set.Pods[0]}
	c.token, err = shared.kit.Token(t.Context(), c.pod, name)
	if err != nil {
		t.Fatal(err)
	}
	c.awaitKnown()
	return c
}

// awaitKnown waits until the informers of the manager have seen the pod: no real
// pod is as fast as one that does not run.
func (c *caller) awaitKnown() {
	c.t.Helper()
	limit := time.Now().Add(10 * time.Second)
	for {
		got := c.do(http.MethodGet, "", nil)
		if got.code == http.StatusOK {
			return
		}
		if time.Now().After(limit) {
			c.t.Fatalf("the pod is not known: %d %s", got.code, got.body)
		}
	}
}

type answer struct {
	code   int
	header http.Header
	body   string
	status reportapi.Status
}

func (c *caller) post(body string) answer { c.t.Helper(); return c.do(http.MethodPost, body, nil) }

func (c *caller) do(method, body string, change func(*http.Request)) answer {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.manager.URL(c.kit.Namespace, c.set.TrainJob.Name), strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if change != nil {
		change(req)
	}
	return c.send(req)
}

func (c *caller) send(req *http.Request) answer {
	c.t.Helper()
	resp, err := c.client.Do(req)
	if err != nil {
		c.t.Fatalf("sending: %v", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("reading the answer: %v", err)
	}
	got := answer{code: resp.StatusCode, header: resp.Header, body: string(body)}
	if got.code != http.StatusOK {
		if err := json.Unmarshal(body, &got.status); err != nil {
			c.t.Fatalf("error body %q: %v", body, err)
		}
	}
	return got
}

// stored returns what a reader of the API server finds.
func (c *caller) stored() *trainer.TrainerStatus {
	c.t.Helper()
	status, err := c.kit.Status(c.t.Context(), c.set.TrainJob.Name)
	if err != nil {
		c.t.Fatal(err)
	}
	return status
}

// wantStored waits until what is stored is as wanted.
func (c *caller) wantStored(want string) {
	c.t.Helper()
	limit := time.Now().Add(5 * time.Second)
	for {
		got := "none"
		if status := c.stored(); status != nil {
			data, err := json.Marshal(status)
			if err != nil {
				c.t.Fatal(err)
			}
			got = string(data)
		}
		if got == want {
			return
		}
		if time.Now().After(limit) {
			c.t.Errorf("stored (-want +got):\n%s", cmp.Diff(want, got))
			return
		}
	}
}
