// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
)

// handshake is what the reporting clients of the contract do: a default context with a CA file. From
// 3.13 on it checks certificates strictly; older versions are told to.
const handshake = `
import socket, ssl, sys
context = ssl.create_default_context(cafile=sys.argv[1])
context.verify_flags |= ssl.VERIFY_X509_STRICT
with socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=10) as plain:
    with context.wrap_socket(plain, server_hostname=sys.argv[3]) as secured:
        print(secured.version())
`

func TestPythonAcceptsTheCertificatesDuringARotation(t *testing.T) {
	python := findPython(t)
	now := time.Now()
	data := renewed(t, testPlanner(), nil, now.Add(-70*time.Hour))
	oldOnly := data[KeyCACert]
	data = renewed(t, testPlanner(), data, now)
	bundle := data[KeyCACert]
	if got := len(authority.ParseCertificates(bundle)); got != 2 {
		t.Fatalf("bundle holds %d certificates, want an overlap", got)
	}
	current, err := newServing(data)
	if err != nil {
		t.Fatal(err)
	}
	server := serveTLS(t, func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return current.certificate, nil })
	_, port, err := net.SplitHostPort(server.address)
	if err != nil {
		t.Fatal(err)
	}
	stranger := renewed(t, testPlanner(), nil, now)[KeyCACert]

	for client, tc := range map[string]struct {
		trusted []byte
		wantErr bool
	}{
		"with the old CA alone": {trusted: oldOnly},
		"with the new CA alone": {trusted: firstCertificate(bundle)},
		"with the bundle":       {trusted: bundle},
		"with a stranger's CA":  {trusted: stranger, wantErr: true},
	} {
		t.Run(client, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ca.crt")
			if err := os.WriteFile(file, tc.trusted, 0o600); err != nil {
				t.Fatal(err)
			}
			output, err := exec.CommandContext(t.Context(), python, "-c", handshake, file, port, host).CombinedOutput()
			if gotErr := err != nil; gotErr != tc.wantErr {
				t.Errorf("error %v, want error %t\n%s", err, tc.wantErr, output)
			}
		})
	}
}

func findPython(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3.14", "python3.13", "python3"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if exec.CommandContext(t.Context(), path, "-c", "import ssl, sys; sys.exit(sys.version_info < (3, 7))").Run() == nil {
			return path
		}
	}
	t.Skip("no Python with ssl is installed")
	return ""
}
