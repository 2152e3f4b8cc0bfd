// SPDX-License-Identifier: Apache-2.0

// Package echo serves reports by sending them back: the least that any HTTPS server in Go must do
// for a report, and so the yardstick for servers that do more.
//
// It owns the handler and the limits of the server. It does not own certificates or processes.
package echo

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// bodyLimit is that of the report endpoint.
const bodyLimit = 64 << 10

// Serve answers on listener until it is closed, with http.ErrServerClosed or the error of accept.
func Serve(listener net.Listener, pair tls.Certificate) error {
	server := &http.Server{
		Handler:           http.HandlerFunc(echo),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{pair},
			MinVersion:   tls.VersionTLS12,
			NextProtos:   []string{"http/1.1"},
		},
	}
	return server.ServeTLS(listener, "", "")
}

// POST /any/path
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client is gone; nobody is left to tell
}
