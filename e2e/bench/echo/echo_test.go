// SPDX-License-Identifier: Apache-2.0

package echo

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/e2e/bench/pki"
	"github.com/milepost-dev/milepost/e2e/bench/subject"
)

func TestServe(t *testing.T) {
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server(subject.ServiceName)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- Serve(listener, cert) }()
	t.Cleanup(func() {
		_ = listener.Close()
		if err := <-ended; err == nil {
			t.Error("Serve() = nil after its listener was closed")
		}
	})

	server := &subject.Server{Address: listener.Addr().String(), Name: subject.ServiceName, CA: authority.PEM()}
	if err := server.Handshake(t.Context()); err != nil {
		t.Fatalf("a client that trusts the authority is refused: %v", err)
	}
	stranger := &subject.Server{Address: server.Address, Name: "other.test", CA: authority.PEM()}
	if err := stranger.Handshake(t.Context()); err == nil {
		t.Error("a client that wants another name is content")
	}

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, // the name was checked above
	}}}
	for name, tc := range map[string]struct {
		body     string
		wantCode int
	}{
		"a body comes back":              {body: `{"trainerStatus": {}}`, wantCode: http.StatusOK},
		"an endless body is turned away": {body: strings.Repeat("x", bodyLimit+1), wantCode: http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			response, err := client.Post("https://"+server.Address+"/", "application/json", strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			got, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != tc.wantCode || (tc.wantCode == http.StatusOK && string(got) != tc.body) {
				t.Errorf("answer %d %q, want %d %q", response.StatusCode, got, tc.wantCode, tc.body)
			}
		})
	}
}
