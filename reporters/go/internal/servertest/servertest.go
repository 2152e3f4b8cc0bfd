// SPDX-License-Identifier: Apache-2.0

// Package servertest is a status server for tests: real TLS, and a record of what arrived.
package servertest

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Server takes reports.
type Server struct {
	URL    string
	mu     sync.Mutex
	bodies []string
	answer http.HandlerFunc
	news   chan struct{} // holds something whenever a report came
}

// Start starts a server and points the environment of the test to it.
func Start(t *testing.T) *Server {
	t.Helper()
	s := &Server{news: make(chan struct{}, 1)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(s.take))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	s.URL = server.URL + "/status"
	folder := t.TempDir()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, content := range map[string][]byte{"ca.crt": authority, "token": []byte("token\n")} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"KUBEFLOW_TRAINER_SERVER_URL":     s.URL,
		"KUBEFLOW_TRAINER_SERVER_CA_CERT": filepath.Join(folder, "ca.crt"),
		"KUBEFLOW_TRAINER_SERVER_TOKEN":   filepath.Join(folder, "token"),
	} {
		t.Setenv(name, value)
	}
	for _, name := range []string{"RANK", "PET_NODE_RANK", "OMPI_COMM_WORLD_RANK", "JAX_PROCESS_ID", "SLURM_PROCID", "JOB_COMPLETION_INDEX"} {
		t.Setenv(name, "")
	}
	return s
}

// Answer replaces the plain 200 that every request gets.
func (s *Server) Answer(answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *Server) take(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.bodies = append(s.bodies, string(body))
	answer := s.answer
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
	if answer != nil {
		answer(w, r)
	}
}

// Bodies are the bodies of all requests so far.
func (s *Server) Bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

// Await waits until as many requests came, and returns the body of the last of them.
func (s *Server) Await(t *testing.T, count int) string {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		if bodies := s.Bodies(); len(bodies) >= count {
			return bodies[count-1]
		}
		select {
		case <-s.news:
		case <-limit:
			t.Fatalf("%d requests came, want %d", len(s.Bodies()), count)
		}
	}
}
