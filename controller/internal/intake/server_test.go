// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"crypto/tls"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/milepost-dev/milepost/controller/internal/reportrules"
	"github.com/milepost-dev/milepost/controller/internal/testkit/localca"
)

func TestProtocols(t *testing.T) {
	cases := map[string]struct {
		server, client []string
		want           string
	}{
		"HTTP/1.1 unless asked":  {client: []string{"h2", "http/1.1"}, want: "HTTP/1.1"},
		"HTTP/2 when configured": {server: []string{"h2", "http/1.1"}, client: []string{"h2", "http/1.1"}, want: "HTTP/2.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.TLS.NextProtos = tc.server })
			config := r.ca.ClientConfig()
			config.NextProtos = tc.client
			transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
			defer transport.CloseIdleConnections()
			resp, err := (&http.Client{Transport: transport}).Do(r.request(http.MethodGet, path, ""))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.Proto != tc.want || resp.StatusCode != http.StatusOK {
				t.Errorf("answer %d over %s, want 200 over %s", resp.StatusCode, resp.Proto, tc.want)
			}
		})
	}
	t.Run("TLS below the configured version is refused", func(t *testing.T) {
		r := newRig(t, nil)
		config := r.ca.ClientConfig()
		config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		if _, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", r.server.Address()); err == nil {
			t.Error("TLS 1.1 is spoken")
		}
	})
}

func TestProbesFollowTheServer(t *testing.T) {
	probe, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, nil)
	for name, check := range map[string]func(*http.Request) error{"ready": r.server.ReadyCheck, "live": r.server.LiveCheck} {
		if err := check(probe); err != nil {
			t.Errorf("%s while serving: %v", name, err)
		}
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if err := r.server.ReadyCheck(probe); err == nil {
		t.Error("ready after the end")
	}
	fresh, err := New(Config{TLS: r.ca.ServerConfig()}, known, reportrules.New(clocktesting.NewFakePassiveClock(testNow)), r.store)
	if err != nil {
		t.Fatal(err)
	}
	if fresh.ReadyCheck(probe) == nil {
		t.Error("ready before the start")
	}
	if err := fresh.LiveCheck(probe); err != nil {
		t.Errorf("not alive before the start: %v", err)
	}
}

func TestStopWaitsForOpenRequests(t *testing.T) {
	r := newRig(t, nil)
	r.store.block = make(chan struct{})
	answered := make(chan int, 1)
	go func() { answered <- r.do(r.request(http.MethodPost, path, goodBody)).code }()
	waitFor(t, func() bool { return r.server.http.Handler.(*door).inFlight.Load() == 1 })
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	waitFor(t, r.server.leaving.Load)
	select {
	case err := <-stopped:
		t.Fatalf("stopped with a request open: %v", err)
	default:
	}
	close(r.store.block)
	if code := <-answered; code != http.StatusOK {
		t.Errorf("the open request is answered %d", code)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func TestStopIsBounded(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DrainTimeout = 50 * time.Millisecond })
	r.store.block = make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		resp, err := r.client.Do(r.request(http.MethodPost, path, goodBody))
		if err == nil {
			resp.Body.Close()
		}
	})
	waitFor(t, func() bool { return r.server.http.Handler.(*door).inFlight.Load() == 1 })
	if err := r.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	close(r.store.block)
	wg.Wait()
}

func TestPortInUseIsSaid(t *testing.T) {
	r := newRig(t, nil)
	second, err := New(Config{Address: r.server.Address(), TLS: r.ca.ServerConfig()}, known, reportrules.New(clocktesting.NewFakePassiveClock(testNow)), r.store)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v, want one that names the port in use", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	ca := localca.New(t)
	cases := map[string]Config{
		"no TLS":            {},
		"no certificate":    {TLS: &tls.Config{MinVersion: tls.VersionTLS12}},
		"address no number": {TLS: ca.ServerConfig(), Address: "10443"},
		"negative limit":    {TLS: ca.ServerConfig(), Limits: Limits{InFlight: -1}},
		"negative drain":    {TLS: ca.ServerConfig(), DrainTimeout: -1},
	}
	for name, cfg := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := New(cfg, known, nil, nil); err == nil {
				t.Error("no error")
			}
		})
	}
}
