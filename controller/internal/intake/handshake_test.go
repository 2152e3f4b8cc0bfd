// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestHandshakes(t *testing.T) {
	cases := map[string]struct {
		change func(*tls.Config)
		served bool
	}{
		"TLS 1.0":                         {change: func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS10 }},
		"TLS 1.1":                         {change: func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 }},
		"TLS 1.2":                         {change: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, served: true},
		"TLS 1.3":                         {change: func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }, served: true},
		"a name that is not the server's": {change: func(c *tls.Config) { c.ServerName = "elsewhere.invalid" }},
		"a wrong name, and nobody compares it": {served: true, change: func(c *tls.Config) {
			c.ServerName, c.InsecureSkipVerify = "../../elsewhere", true
		}},
		"no name at all":                     {change: func(c *tls.Config) { c.ServerName = "127.0.0.1" }, served: true},
		"a suite without forward secrecy":    {change: suite(tls.TLS_RSA_WITH_AES_128_GCM_SHA256)},
		"a suite with a broken cipher":       {change: suite(tls.TLS_ECDHE_ECDSA_WITH_RC4_128_SHA)},
		"a protocol that nobody speaks":      {change: func(c *tls.Config) { c.NextProtos = []string{"spdy/3"} }},
		"HTTP/2 alone, which is not enabled": {change: func(c *tls.Config) { c.NextProtos = []string{"h2"} }},
	}
	r := newRig(t, func(c *Config) { c.TLS.NextProtos = []string{"http/1.1"} })
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := r.ca.ClientConfig()
			tc.change(config)
			conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", r.server.Address())
			if (err == nil) != tc.served {
				t.Fatalf("shaking hands gives %v, want served %v", err, tc.served)
			}
			if err != nil {
				return
			}
			defer conn.Close()
			wantCode(t, ask(t, conn.(*tls.Conn), "good"), http.StatusOK)
		})
	}
	wantCode(t, heard{code: r.do(r.request(http.MethodGet, path, "")).code}, http.StatusOK)
}

func suite(id uint16) func(*tls.Config) {
	return func(c *tls.Config) { c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{id} }
}

// TestRenegotiationIsRefused asks for a second handshake on a connection that has
// had one. No client library of ours can, so the records are made by hand.
func TestRenegotiationIsRefused(t *testing.T) {
	r := newRig(t, nil)
	c := newRecordConn(t, r)
	// An answer to an honest request shows that the records are right.
	c.write(recordData, []byte("GET "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n"))
	if kind, answer, err := c.read(); err != nil || kind != recordData || !bytes.HasPrefix(answer, []byte("HTTP/1.1 200 ")) {
		t.Fatalf("the honest request is answered with record %d %q (%v)", kind, answer, err)
	}
	r.idle(0, 1) // or the refusal would end a read that nobody waits for any more
	c.write(recordHandshake, clientHello())
	const fatal = 2
	kind, alert, err := c.read()
	if err != nil || kind != recordAlert || len(alert) != 2 || alert[0] != fatal {
		t.Fatalf("a second handshake is answered with record %d %v (%v), want a fatal alert", kind, alert, err)
	}
	for err == nil {
		if kind, alert, err = c.read(); err == nil && kind != recordAlert {
			t.Fatalf("behind the refusal comes record %d %q", kind, alert)
		}
	}
	if isTimeout(err) {
		t.Errorf("the connection goes on: %v", err)
	}
	wantCode(t, heard{code: r.do(r.request(http.MethodGet, path, "")).code}, http.StatusOK)
}

// Kinds of TLS records.
const (
	recordAlert     = 21
	recordHandshake = 22
	recordData      = 23
)

// recordConn writes and reads single records of TLS 1.2 after a handshake that
// crypto/tls made.
type recordConn struct {
	t                  *testing.T
	raw                net.Conn
	client, server     cipher.AEAD
	clientIV, serverIV []byte
	written, seen      uint64
	handshake, keys    bytes.Buffer
}

func newRecordConn(t *testing.T, r *rig) *recordConn {
	t.Helper()
	raw, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.server.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	_ = raw.SetDeadline(time.Now().Add(10 * time.Second))
	c := &recordConn{t: t, raw: raw, written: 1, seen: 1} // both sides sent a Finished
	config := r.ca.ClientConfig()
	config.ServerName, config.MaxVersion = "localhost", tls.VersionTLS12
	config.CipherSuites, config.KeyLogWriter = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, &c.keys
	if err := tls.Client(tapped{raw, &c.handshake}, config).HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.derive()
	return c
}

// tapped keeps what is read.
type tapped struct {
	net.Conn
	kept *bytes.Buffer
}

func (c tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.kept.Write(p[:n])
	return n, err
}

// derive computes the keys of both directions, as RFC 5246 says in 6.3.
func (c *recordConn) derive() {
	c.t.Helper()
	const randomAt, randomBytes, keyBytes, ivBytes = 11, 32, 16, 4
	words := strings.Fields(c.keys.String())
	if len(words) != 3 || c.handshake.Len() < randomAt+randomBytes {
		c.t.Fatalf("the handshake left %d words and %d bytes", len(words), c.handshake.Len())
	}
	clientRandom, err := hex.DecodeString(words[1])
	if err != nil {
		c.t.Fatal(err)
	}
	master, err := hex.DecodeString(words[2])
	if err != nil {
		c.t.Fatal(err)
	}
	serverRandom := c.handshake.Bytes()[randomAt : randomAt+randomBytes]
	seed := append(append([]byte("key expansion"), serverRandom...), clientRandom...)
	block := expand(master, seed, 2*(keyBytes+ivBytes))
	c.client, c.server = newGCM(c.t, block[:keyBytes]), newGCM(c.t, block[keyBytes:2*keyBytes])
	c.clientIV, c.serverIV = block[2*keyBytes:2*keyBytes+ivBytes], block[2*keyBytes+ivBytes:]
}

// expand is P_SHA256 of RFC 5246.
func expand(secret, seed []byte, length int) []byte {
	mac := func(parts ...[]byte) []byte {
		h := hmac.New(sha256.New, secret)
		for _, part := range parts {
			h.Write(part)
		}
		return h.Sum(nil)
	}
	var out []byte
	for a := mac(seed); len(out) < length; a = mac(a) {
		out = append(out, mac(a, seed)...)
	}
	return out[:length]
}

func newGCM(t *testing.T, key []byte) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	return gcm
}

func additional(number uint64, kind byte, length int) []byte {
	out := binary.BigEndian.AppendUint64(nil, number)
	return append(out, kind, 3, 3, byte(length>>8), byte(length))
}

func (c *recordConn) write(kind byte, payload []byte) {
	c.t.Helper()
	explicit := binary.BigEndian.AppendUint64(nil, c.written)
	sealed := c.client.Seal(explicit, append(bytes.Clone(c.clientIV), explicit...), payload, additional(c.written, kind, len(payload)))
	c.written++
	record := append([]byte{kind, 3, 3, byte(len(sealed) >> 8), byte(len(sealed))}, sealed...)
	if _, err := c.raw.Write(record); err != nil {
		c.t.Fatal(err)
	}
}

func (c *recordConn) read() (kind byte, payload []byte, err error) {
	const headerBytes, explicitBytes = 5, 8
	header := make([]byte, headerBytes)
	if _, err := io.ReadFull(c.raw, header); err != nil {
		return 0, nil, err
	}
	sealed := make([]byte, binary.BigEndian.Uint16(header[3:]))
	if _, err := io.ReadFull(c.raw, sealed); err != nil {
		return 0, nil, err
	}
	if len(sealed) < explicitBytes+c.server.Overhead() {
		return 0, nil, fmt.Errorf("record of %d bytes", len(sealed))
	}
	nonce := append(bytes.Clone(c.serverIV), sealed[:explicitBytes]...)
	length := len(sealed) - explicitBytes - c.server.Overhead()
	payload, err = c.server.Open(nil, nonce, sealed[explicitBytes:], additional(c.seen, header[0], length))
	c.seen++
	return header[0], payload, err
}

// clientHello is the start of a handshake, with what a server needs to go on.
func clientHello() []byte {
	const helloType, suites, curves = 1, "\xc0\x2b", "\x00\x17"
	body := "\x03\x03" + strings.Repeat("r", 32) + "\x00" + "\x00\x02" + suites + "\x01\x00"
	extensions := "\x00\x0a\x00\x04\x00\x02" + curves + "\x00\x0d\x00\x04\x00\x02\x04\x03"
	body += string([]byte{0, byte(len(extensions))}) + extensions
	return append([]byte{helloType, 0, 0, byte(len(body))}, body...)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
