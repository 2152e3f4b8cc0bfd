// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// resetter opens streams on one HTTP/2 connection and gives each up at once.
type resetter struct {
	t      *testing.T
	conn   *tls.Conn
	framer *http2.Framer
	header bytes.Buffer
	encode *hpack.Encoder
}

func newResetter(t *testing.T, r *rig) *resetter {
	t.Helper()
	config := r.ca.ClientConfig()
	config.NextProtos = []string{protoHTTP2}
	conn := r.dial(config)
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	a := &resetter{t: t, conn: conn, framer: http2.NewFramer(conn, conn)}
	a.encode = hpack.NewEncoder(&a.header)
	if err := a.framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return a
}

// attack asks and takes back until so many streams were opened or the server
// ends the connection.
func (a *resetter) attack(streams int) {
	for i := range streams {
		id := uint32(2*i + 1) //nolint:gosec // a few thousand
		a.header.Reset()
		for _, field := range [][2]string{
			{":method", http.MethodGet}, {":scheme", "https"}, {":authority", "x"}, {":path", path}, {"authorization", "Bearer good"},
		} {
			if err := a.encode.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
				a.t.Error(err)
				return
			}
		}
		err := a.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: a.header.Bytes(), EndStream: true, EndHeaders: true})
		if err != nil {
			return
		}
		if err := a.framer.WriteRSTStream(id, http2.ErrCodeCancel); err != nil {
			return
		}
	}
}

// farewell reads until the connection ends and returns why the server ended it.
func (a *resetter) farewell() (reason http2.ErrCode, said bool) {
	for {
		frame, err := a.framer.ReadFrame()
		if err != nil {
			if isTimeout(err) {
				a.t.Errorf("the connection is still open: %v", err)
			}
			return reason, said
		}
		if end, ok := frame.(*http2.GoAwayFrame); ok {
			reason, said = end.ErrCode, true
		}
	}
}

// TestRapidReset has a caller with a good token open streams and reset them
// while their handlers still run, as CVE-2023-44487 does.
func TestRapidReset(t *testing.T) {
	const streams = 20_000
	r := newRig(t, func(c *Config) { c.TLS.NextProtos = []string{protoHTTP2, protoHTTP1} })
	r.store.hold = make(chan struct{})
	door := r.server.door
	watched, most := make(chan struct{}), make(chan int64)
	go func() {
		highest := int64(0)
		for {
			highest = max(highest, door.inFlight.Load())
			select {
			case <-watched:
				most <- highest
				return
			default:
			}
		}
	}()
	a := newResetter(t, r)
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		a.attack(streams)
	}()
	reason, said := a.farewell()
	_ = a.conn.Close() // ends the attack where it still goes on
	<-opened
	// Whoever reports is served meanwhile.
	wantCode(t, heard{code: r.do(r.request(http.MethodPost, path, goodBody)).code}, http.StatusOK)
	close(watched)
	if highest := <-most; highest > maxStreams+1 || highest < maxStreams/2 {
		t.Errorf("%d requests were answered at a time, want some and %d at most", highest, maxStreams+1)
	}
	if !said || reason != http2.ErrCodeEnhanceYourCalm {
		t.Errorf("the server ends the connection with %v (said: %v), want %v", reason, said, http2.ErrCodeEnhanceYourCalm)
	}
	close(r.store.hold)
	waitFor(t, func() bool { return door.inFlight.Load() == 0 })
}
