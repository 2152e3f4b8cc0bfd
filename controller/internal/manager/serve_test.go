// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	configapi "github.com/milepost-dev/milepost/controller/api/config/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/features"
)

// fakeManager stands for one of controller-runtime, whose start is deaf while it
// waits for caches.
type fakeManager struct {
	ctrl.Manager
	mark *startMark
	// filled is closed when the caches are; stop is how long the end takes then.
	filled chan struct{}
	stop   time.Duration
	// release ends a start that nobody waits for any more.
	release chan struct{}
	err     error
}

func (m *fakeManager) Add(r manager.Runnable) error {
	m.mark = r.(*startMark)
	return nil
}

func (m *fakeManager) Start(ctx context.Context) error {
	select {
	case <-m.filled:
	case <-m.release:
		return nil
	}
	if err := m.mark.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	time.Sleep(m.stop)
	return m.err
}

func newFake() *fakeManager {
	return &fakeManager{filled: make(chan struct{}), release: make(chan struct{})}
}

func TestAStartThatIsDeafIsLeftBehindOnAFakeManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		defer close(fake.release)
		p := &parts{Manager: fake}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begun := time.Now()
		if err := p.serve(ctx); err != nil {
			t.Errorf("serving ends with %v", err)
		}
		if took := time.Since(begun); took > stopPatience {
			t.Errorf("the end took %s", took)
		}
	})
}

func TestAStartedManagerEndsInGoodOrderOnAFakeManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		close(fake.filled)
		fake.stop = 25 * time.Second
		ctx, cancel := context.WithCancelCause(t.Context())
		p := &parts{Manager: fake, Options: Options{Log: logr.Discard()}}
		time.AfterFunc(time.Second, func() { cancel(errDeposed) })
		begun := time.Now()
		if err := p.serve(ctx); !errors.Is(err, errDeposed) {
			t.Errorf("serving ends with %v, want the cause", err)
		}
		if took := time.Since(begun); took != 26*time.Second {
			t.Errorf("the end took %s, so it did not wait for what was accepted to be stored", took)
		}
	})
}

// brokenWebhooks is a server that cannot serve.
type brokenWebhooks struct{ webhook.Server }

var errBroken = errors.New("bind: address already in use")

func (brokenWebhooks) Start(context.Context) error { return errBroken }

func TestAWebhookServerThatFailsEndsADeafStartOnAFakeManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		defer close(fake.release)
		ctx, cancel := context.WithCancelCause(t.Context())
		hooks := heardWebhooks{Server: brokenWebhooks{}, end: cancel}
		go func() { _ = hooks.Start(ctx) }()
		if err := (&parts{Manager: fake}).serve(ctx); !errors.Is(err, errBroken) {
			t.Errorf("serving ends with %v, want what the webhooks failed of", err)
		}
	})
}

func TestEachPortThatIsTakenIsNamed(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0") // of every interface, as the status port
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().(*net.TCPAddr)
	port := int32(address.Port) //nolint:gosec // a port fits
	cases := map[string]func(c *configapi.Configuration){
		"health.healthProbeBindAddress": func(c *configapi.Configuration) { c.Health.HealthProbeBindAddress = address.String() },
		"metrics.bindAddress":           func(c *configapi.Configuration) { c.Metrics.BindAddress = address.String() },
		"webhook.port":                  func(c *configapi.Configuration) { c.Webhook.Port, c.Webhook.Host = &port, nil },
		"statusServer.port":             func(c *configapi.Configuration) { c.StatusServer.Port = &port },
		"":                              func(*configapi.Configuration) {},
	}
	gates, err := features.Resolve(nil, string(features.TrainJobStatus)+"=true")
	if err != nil {
		t.Fatal(err)
	}
	for field, change := range cases {
		t.Run(field, func(t *testing.T) {
			cfg := &configapi.Configuration{}
			configapi.SetDefaults_Configuration(cfg)
			cfg.Health.HealthProbeBindAddress, cfg.Metrics.BindAddress = noPort, noPort
			cfg.Webhook.Port, cfg.Webhook.Host = new(int32(freePort(t))), new("127.0.0.1")
			cfg.StatusServer.Port = new(int32(freePort(t)))
			change(cfg)
			err := Options{Config: cfg, Gates: gates}.checkPorts(t.Context())
			if field == "" {
				if err != nil {
					t.Errorf("free ports: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), "in use") {
				t.Errorf("error is %v, want one that names %s", err, field)
			}
		})
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
