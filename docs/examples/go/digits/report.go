// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// This file is all that a Go program needs to show its progress on its TrainJob: no package beside Go's own.
// It has three parts: what a report looks like, sending one, and sending them without ever holding up the training.

// [start:report]

// report is the state of the training. A field that is nil or empty is unknown.
type report struct {
	ProgressPercentage        *int     `json:"progressPercentage,omitempty"`        // 0 to 100
	EstimatedRemainingSeconds *int     `json:"estimatedRemainingSeconds,omitempty"` // 0 or more
	Metrics                   []metric `json:"metrics,omitempty"`                   // at most 256
	LastUpdatedTime           string   `json:"lastUpdatedTime"`                     // RFC 3339
}

// metric is one number as text. Name and value are 1 to 64 characters each.
type metric struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// endpoint is where the reports of this TrainJob go. Milepost sets all three variables in every training container.
type endpoint struct {
	url       string // KUBEFLOW_TRAINER_SERVER_URL
	caFile    string // KUBEFLOW_TRAINER_SERVER_CA_CERT
	tokenFile string // KUBEFLOW_TRAINER_SERVER_TOKEN
}

// endpointFromEnvironment returns false when the program does not run as part of a TrainJob.
func endpointFromEnvironment() (endpoint, bool) {
	e := endpoint{
		url:       os.Getenv("KUBEFLOW_TRAINER_SERVER_URL"),
		caFile:    os.Getenv("KUBEFLOW_TRAINER_SERVER_CA_CERT"),
		tokenFile: os.Getenv("KUBEFLOW_TRAINER_SERVER_TOKEN"),
	}
	return e, e.url != "" && e.caFile != "" && e.tokenFile != ""
}

// client trusts the CA of the endpoint and nothing else.
func (e endpoint) client() (*http.Client, error) {
	pem, err := os.ReadFile(e.caFile)
	if err != nil {
		return nil, fmt.Errorf("reading the CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading the CA: no certificate in %s", e.caFile)
	}
	return &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
	}, nil
}

// send posts one report. The token is read for every report, because the file is replaced before the token expires.
func (e endpoint) send(ctx context.Context, client *http.Client, r report) error {
	token, err := os.ReadFile(e.tokenFile)
	if err != nil {
		return fmt.Errorf("reading the token: %w", err)
	}
	body, err := json.Marshal(map[string]report{"trainerStatus": r})
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")

	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 4096)) // read to the end, so that the connection is used again
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("endpoint answered %s: %s", response.Status, bytes.TrimSpace(answer))
	}
	return nil
}

// [end:report]

// [start:reporter]

// reporter sends reports from a goroutine of its own. It holds one report, always the newest: a slow or dead endpoint
// costs the training nothing.
type reporter struct {
	endpoint endpoint
	interval time.Duration // at least this long between two reports
	logf     func(format string, args ...any)

	mu      sync.Mutex
	pending *report // the newest report that was not sent yet

	wake   chan struct{} // one slot: pending was set
	finish chan struct{} // closed by close: send what is left, then stop
	done   chan struct{} // closed when the goroutine has stopped
}

const (
	longestPause = 30 * time.Second // between attempts while the endpoint does not answer
	longestFlush = 5 * time.Second  // at the end of the program
)

// startReporter starts the goroutine. Outside a TrainJob it returns nil, and every method of nil does nothing.
func startReporter(interval time.Duration, logf func(format string, args ...any)) *reporter {
	e, ok := endpointFromEnvironment()
	if !ok {
		logf("progress is not reported: KUBEFLOW_TRAINER_SERVER_URL, _CA_CERT and _TOKEN are not all set")
		return nil
	}
	r := &reporter{
		endpoint: e, interval: interval, logf: logf,
		wake: make(chan struct{}, 1), finish: make(chan struct{}), done: make(chan struct{}),
	}
	go r.run()
	return r
}

// report hands over the newest state and returns at once.
func (r *reporter) report(now report) {
	if r == nil {
		return
	}
	now.LastUpdatedTime = time.Now().UTC().Format(time.RFC3339Nano)
	r.mu.Lock()
	r.pending = &now
	r.mu.Unlock()
	r.signal()
}

// close sends the last report if it was not sent yet. It waits for that at most five seconds.
func (r *reporter) close() {
	if r == nil {
		return
	}
	close(r.finish)
	select {
	case <-r.done:
	case <-time.After(longestFlush):
		r.logf("the last progress report was not sent in time")
	}
}

// run sends reports until close. Only a report that arrived starts the interval; one that failed is tried again after a
// pause that doubles with every failure, unless a newer one has replaced it by then.
func (r *reporter) run() {
	defer close(r.done)
	var client *http.Client
	pause := r.interval
	for {
		select {
		case <-r.wake:
		case <-r.finish:
			if err := r.sendPending(&client); err != nil {
				r.logf("the last progress report was not sent: %v", err)
			}
			return
		}
		if err := r.sendPending(&client); err != nil {
			if pause == r.interval {
				r.logf("progress was not reported, training goes on: %v", err)
			}
			pause = min(2*pause, longestPause)
			r.signal()
		} else {
			pause = r.interval
		}
		select {
		case <-time.After(pause):
		case <-r.finish:
		}
	}
}

// sendPending sends the newest report if there is one. It keeps a report that could not be sent.
func (r *reporter) sendPending(client **http.Client) error {
	r.mu.Lock()
	now := r.pending
	r.pending = nil
	r.mu.Unlock()
	if now == nil {
		return nil
	}
	err := r.trySend(client, *now)
	if err != nil {
		r.mu.Lock()
		r.pending = cmp.Or(r.pending, now)
		r.mu.Unlock()
	}
	return err
}

// trySend makes the client when there is none: a CA file that comes late, or was renewed, is read again, and the public
// roots never take its place.
func (r *reporter) trySend(client **http.Client, now report) error {
	if *client == nil {
		made, err := r.endpoint.client()
		if err != nil {
			return err
		}
		*client = made
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestFlush)
	defer cancel()
	err := r.endpoint.send(ctx, *client, now)
	if untrusted := (*tls.CertificateVerificationError)(nil); errors.As(err, &untrusted) {
		*client = nil
	}
	return err
}

func (r *reporter) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// [end:reporter]
