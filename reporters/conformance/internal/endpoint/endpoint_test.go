// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// start starts a server and a client that trusts it.
func start(t *testing.T, change func(*Config)) (*Endpoint, *http.Client) {
	t.Helper()
	authority, err := NewAuthority("a")
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Listen: []string{"127.0.0.1"}, Hosts: []string{"127.0.0.1"}, Authority: authority}
	if change != nil {
		change(&config)
	}
	e, err := Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.PEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return e, &http.Client{Transport: transport, Timeout: 5 * time.Second}
}

// reply is what a test looks at of an answer.
type reply struct {
	status  int
	text    string
	header  http.Header
	closing bool
	tls     uint16
}

func post(client *http.Client, e *Endpoint, body string) (reply, error) {
	response, err := client.Post(fmt.Sprintf("https://127.0.0.1:%d/status", e.Port), "application/json", strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, string(text), response.Header, response.Close, response.TLS.Version}, err
}

func TestRecord(t *testing.T) {
	e, client := start(t, nil)
	for _, body := range []string{"one", "two"} {
		if got, err := post(client, e, body); err != nil || got.text != body {
			t.Fatalf("got %q, %v", got.text, err)
		}
	}
	got := e.Requests()
	if len(got) != 2 || string(got[1].Body) != "two" || got[1].Length != 3 || got[0].Connection != got[1].Connection || got[0].Connection == 0 {
		t.Errorf("recorded %+v", got)
	}
	if !got[0].Start.Before(got[1].Start) || e.Connections() != 1 {
		t.Errorf("times %v and %v, %d connections", got[0].Start, got[1].Start, e.Connections())
	}
	if e.Await(3, 20*time.Millisecond) || !e.Await(2, 0) {
		t.Error("await is wrong about the number of requests")
	}
}

func TestAnswersFollowTheScript(t *testing.T) {
	e, client := start(t, nil)
	later := "later"
	e.Script([]Answer{
		{Status: 503, Times: 2, Headers: map[string][]string{"Retry-After": {"{now+10}"}}, Body: &later},
		{Early: 103},
	}, Answer{Status: 404})
	var statuses []int
	for range 4 {
		got, err := post(client, e, "x")
		if err != nil {
			t.Fatal(err)
		}
		statuses = append(statuses, got.status)
		if got.status == http.StatusServiceUnavailable {
			at, err := http.ParseTime(got.header.Get("Retry-After"))
			if ahead := time.Until(at); got.text != later || err != nil || ahead < 8*time.Second || ahead > 10*time.Second {
				t.Errorf("got %q, Retry-After in %v, %v", got.text, ahead, err)
			}
		}
	}
	if fmt.Sprint(statuses) != "[503 503 200 404]" {
		t.Errorf("got %v", statuses)
	}
}

func TestBadAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		answer Answer
		want   func(error) bool
	}{
		"a reset":           {Answer{Reset: true}, func(err error) bool { return err != nil && strings.Contains(err.Error(), "reset") }},
		"nothing":           {Answer{Hang: true}, isTimeout},
		"drops":             {Answer{Drip: 0.01}, isTimeout},
		"a delay":           {Answer{Delay: 0.1}, func(err error) bool { return err == nil }},
		"a delay too long":  {Answer{Delay: 10}, isTimeout},
		"a closed and long": {Answer{Long: 1 << 20, Close: true}, func(error) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, client := start(t, nil)
			client.Timeout = 500 * time.Millisecond
			e.Script([]Answer{tc.answer}, Answer{})
			if _, err := post(client, e, "x"); !tc.want(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestQuietCloseEndsTheConnectionBehindTheAnswer(t *testing.T) {
	e, client := start(t, nil)
	e.Script([]Answer{{Close: true}}, Answer{})
	if got, err := post(client, e, "x"); err != nil || got.closing {
		t.Fatalf("the answer announces the end: %v", err)
	}
	end := time.Now().Add(5 * time.Second)
	for e.Connections() == 1 && time.Now().Before(end) {
		if _, err := post(client, e, "y"); err != nil && !errors.Is(err, io.EOF) {
			break // the client noticed the end while it wrote
		}
	}
	if _, err := post(client, e, "z"); err != nil || e.Connections() < 2 {
		t.Errorf("%d connections, %v", e.Connections(), err)
	}
}

func TestModes(t *testing.T) {
	e, client := start(t, nil)
	client.Timeout = 300 * time.Millisecond
	port := e.Port
	for _, tc := range []struct {
		mode Mode
		want string // what the error says, empty for none
	}{{Down, "refused"}, {Up, ""}, {Silent, "Timeout"}, {Up, ""}, {Down, "refused"}, {Silent, "Timeout"}} {
		if err := e.SetMode(tc.mode); err != nil {
			t.Fatal(err)
		}
		client.CloseIdleConnections()
		_, err := post(client, e, "x")
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", tc.mode, err, tc.want)
		}
		if e.Port != port {
			t.Errorf("the port changed from %d to %d", port, e.Port)
		}
	}
}

func TestCertificates(t *testing.T) {
	e, client := start(t, func(c *Config) { c.Hosts = []string{"elsewhere.example"} })
	if _, err := post(client, e, "x"); err == nil || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("a certificate for another name passes: %v", err)
	}
	other, err := NewAuthority("b")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Certify(other, []string{"127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	var unknown x509.UnknownAuthorityError
	if _, err := post(client, e, "x"); !errors.As(err, &unknown) {
		t.Errorf("another authority passes: %v", err)
	}
	if len(e.Requests()) != 0 {
		t.Error("a request came through")
	}
	if bytes.Contains(other.PEM, []byte("PRIVATE")) {
		t.Error("the CA file holds the key")
	}
}

func TestOldTLSAlone(t *testing.T) {
	e, client := start(t, func(c *Config) { c.TLS11 = true })
	if _, err := post(client, e, "x"); err == nil {
		t.Error("a client of today is served")
	}
	client.Transport.(*http.Transport).TLSClientConfig.MinVersion = tls.VersionTLS10
	if got, err := post(client, e, "x"); err != nil || got.tls != tls.VersionTLS11 {
		t.Errorf("a client of old is not served: %v", err)
	}
}

func TestHTTP2IsOfferedOnRequest(t *testing.T) {
	for _, offered := range []bool{false, true} {
		e, client := start(t, func(c *Config) { c.HTTP2 = offered })
		client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
		if _, err := post(client, e, "x"); err != nil {
			t.Fatal(err)
		}
		got := e.Requests()[0]
		if (got.Proto == "HTTP/2.0") != offered || got.Connection == 0 {
			t.Errorf("offered: %v, got %s on connection %d", offered, got.Proto, got.Connection)
		}
	}
}

func TestSilentServerKnowsWhoIsStillThere(t *testing.T) {
	e, client := start(t, nil)
	if err := e.SetMode(Silent); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", e.Port))
	if err != nil {
		t.Fatal(err)
	}
	awaitHeld(t, e, 1)
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	awaitHeld(t, e, 0)
	client.CloseIdleConnections()
}

func awaitHeld(t *testing.T, e *Endpoint, want int) {
	t.Helper()
	end := time.After(5 * time.Second)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for e.Held() != want {
		select {
		case <-again.C:
		case <-end:
			t.Fatalf("%d connections are held, want %d", e.Held(), want)
		}
	}
}
