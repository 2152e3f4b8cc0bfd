// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// lines keeps the log lines of the reporter.
type lines struct {
	mu   sync.Mutex
	kept []line
}

type line struct {
	Level   string `json:"level"`
	Message string `json:"message"`
}

func (l *lines) logger() *slog.Logger { return slog.New(handler{l}) }

// broken is a handler that fails at every line.
type broken struct{ handler }

func (broken) Handle(context.Context, slog.Record) error { panic("the log is broken") }

func (l *lines) all() []line {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]line{}, l.kept...)
}

// handler writes a record with its attributes on one line.
type handler struct{ to *lines }

func (handler) Enabled(context.Context, slog.Level) bool { return true }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.Key + "=" + a.Value.String()
		return true
	})
	level := strings.ToLower(r.Level.String())
	if level == "warn" {
		level = "warning"
	}
	h.to.mu.Lock()
	defer h.to.mu.Unlock()
	h.to.kept = append(h.to.kept, line{level, text})
	return nil
}

func (h handler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h handler) WithGroup(string) slog.Handler { return h }
