// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Answer is what the server does with one request.
type Answer struct {
	Status  int                 `json:"status"`  // 200 when missing
	Headers map[string][]string `json:"headers"` // {now+10} in a value stands for an HTTP date in 10 s
	Body    *string             `json:"body"`    // the report itself when missing
	Delay   float64             `json:"delay"`   // seconds before the answer
	Early   int                 `json:"early"`   // an informational status before the answer
	Reset   bool                `json:"reset"`   // the connection is reset without an answer
	Hang    bool                `json:"hang"`    // no answer ever
	Drip    float64             `json:"drip"`    // seconds between single bytes of a body without end
	Close   bool                `json:"close"`   // the connection is closed behind the answer, without saying so
	Long    int                 `json:"long"`    // bytes of a body that is much longer than it should be
	Times   int                 `json:"times"`   // how often this answer is given, once when missing
}

// give answers a request.
func (e *Endpoint) give(w http.ResponseWriter, r *http.Request, body []byte, a Answer) {
	if !e.wait(r, time.Duration(a.Delay*float64(time.Second))) {
		return
	}
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	switch {
	case a.Hang:
		e.wait(r, time.Hour)
		panic(http.ErrAbortHandler) // an orderly end would be an answer
	case a.Reset:
		reset(conn)
		return
	}
	if a.Early != 0 {
		w.WriteHeader(a.Early)
	}
	e.writeHead(w, a)
	if a.Drip > 0 {
		e.drip(w, r, time.Duration(a.Drip*float64(time.Second)))
		panic(http.ErrAbortHandler)
	}
	if text := a.text(body); text != nil {
		_, _ = w.Write(text)
	}
	if a.Close {
		_ = http.NewResponseController(w).Flush()
		time.AfterFunc(20*time.Millisecond, func() { _ = conn.Close() })
	}
}

func (e *Endpoint) writeHead(w http.ResponseWriter, a Answer) {
	w.Header().Set("Content-Type", "application/json")
	for name, values := range a.Headers {
		for _, value := range values {
			w.Header().Add(name, dated(value))
		}
	}
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	w.WriteHeader(a.Status)
}

// text is the body of the answer; some statuses have none.
func (a Answer) text(report []byte) []byte {
	switch {
	case a.Status == http.StatusNoContent, a.Status == http.StatusNotModified:
		return nil
	case a.Long > 0:
		return append([]byte(`{"message":"`), make([]byte, a.Long)...)
	case a.Body != nil:
		return []byte(*a.Body)
	}
	return report
}

// drip sends a byte now and then, as long as anyone listens.
func (e *Endpoint) drip(w http.ResponseWriter, r *http.Request, every time.Duration) {
	for {
		if _, err := w.Write([]byte(" ")); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		if !e.wait(r, every) {
			return
		}
	}
}

// wait is false when the client or the server went away before the time was over.
func (e *Endpoint) wait(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-e.stopped:
	}
	return false
}

// reset ends a connection with an RST.
func reset(conn net.Conn) {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	if held, ok := conn.(*trackedConn); ok {
		conn = held.Conn
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
