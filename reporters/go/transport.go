// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/milepost-dev/milepost/reporters/go/internal/wire"
)

// Version is the version of this package, as it stands in the User-Agent header.
const Version = "0.1.0"

const (
	maxAnswer  = 64 << 10
	maxMessage = 300
)

// transport sends one request at a time to the endpoint. It owns files, TLS and connections, and
// decides nothing about when to send.
type transport struct {
	env    environment
	client http.Client
	roots  []byte // content of the CA file that the client trusts
}

func newTransport(env environment) *transport {
	return &transport{env: env, client: http.Client{
		// A redirect would carry the token to a place that nobody configured. D14.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is what the server said.
type answer struct {
	status     int
	body       []byte
	retryAfter string
	warnings   []string
}

// do sends a request, once more with a new token after 401, before ctx ends. D14.
func (t *transport) do(ctx context.Context, method string, body []byte) (answer, error) {
	got, err := t.once(ctx, method, body)
	if err == nil && got.status == http.StatusUnauthorized {
		return t.once(ctx, method, body)
	}
	return got, err
}

func (t *transport) once(ctx context.Context, method string, body []byte) (answer, error) {
	if err := t.trust(); err != nil {
		return answer{}, err
	}
	token, err := readToken(t.env.tokenFile)
	if err != nil {
		return answer{}, err
	}
	ctx = context.WithValue(ctx, attempt{}, ctx)
	request, err := http.NewRequestWithContext(ctx, method, t.env.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("User-Agent", "milepost-reporter-go/"+Version)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	// An empty value is not sent; it lets net/http use another connection when a kept one is dead. D19.
	request.Header["Idempotency-Key"] = nil
	response, err := t.client.Do(request)
	if err != nil {
		return answer{}, plain(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil && response.StatusCode == http.StatusOK {
		return answer{}, fmt.Errorf("reading the answer: %w", plain(err))
	}
	return answer{
		status:     response.StatusCode,
		body:       text,
		retryAfter: response.Header.Get("Retry-After"),
		warnings:   warningTexts(response.Header.Values("Warning")),
	}, nil
}

// plain takes method and URL off an error; the log line names the endpoint itself.
func plain(err error) error {
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		err = outer.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return err
}

// trust reads the CA file and drops connections that were made under other roots. D16.
func (t *transport) trust() error {
	content, err := os.ReadFile(t.env.caFile)
	if err != nil {
		return fmt.Errorf("reading the CA file: %w", err)
	}
	if t.client.Transport != nil && bytes.Equal(content, t.roots) {
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return fmt.Errorf("reading the CA file: %s holds no certificate", t.env.caFile)
	}
	t.close()
	t.roots = content
	t.client.Transport = &http.Transport{
		Proxy:               nil, // cluster services are reached directly. D17.
		DialTLSContext:      dialWith(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}),
		Protocols:           onlyHTTP1(),
		DisableCompression:  true,
		MaxIdleConnsPerHost: 1,
		IdleConnTimeout:     90 * time.Second,
	}
	return nil
}

// attempt is the key under which a context knows itself.
type attempt struct{}

// dialWith makes connections that are given up together with the attempt they are for. net/http
// would go on with them in case another request wants one; with a server that accepts connections
// and says nothing, they would pile up. D18.
func dialWith(config *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := tls.Dialer{Config: config}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if of, ok := ctx.Value(attempt{}).(context.Context); ok {
			ctx = of
		}
		return dialer.DialContext(ctx, network, address)
	}
}

// onlyHTTP1 keeps to connections that end with a request that ended too late. D18.
func onlyHTTP1() *http.Protocols {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &protocols
}

// close drops the kept connection.
func (t *transport) close() { t.client.CloseIdleConnections() }

// readToken reads the token anew, because it is replaced before it expires. D15.
func readToken(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token, ok := tokenText(content)
	if !ok {
		return "", fmt.Errorf("reading the token: %s holds no token", path)
	}
	return token, nil
}

// tokenText removes blanks around a token and refuses what cannot stand in a header.
func tokenText(content []byte) (string, bool) {
	token := strings.TrimSpace(string(content))
	unfit := strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f })
	return token, token != "" && !unfit
}

// outcome is what becomes of a report after an answer.
type outcome int

const (
	taken   outcome = iota // the server has it
	failed                 // to be sent again
	refused                // to be dropped
)

// outcomeOf decides by the status. 401 counts as failed: do has used the new token already. D13, D14.
func outcomeOf(status int) outcome {
	switch {
	case status == http.StatusOK:
		return taken
	case status == http.StatusUnauthorized, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return failed
	}
	return refused
}

// serverMessage is the server's own words about a refusal. D14.
func serverMessage(body []byte) string {
	var status wire.Status
	if err := json.Unmarshal(body, &status); err != nil || status.Message == nil {
		return ""
	}
	return cut(*status.Message, maxMessage)
}
