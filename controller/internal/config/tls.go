// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/tls"

	configapi "github.com/milepost-dev/milepost/controller/api/config/v1alpha1"
)

var tlsVersions = map[string]uint16{
	configapi.TLSVersion10: tls.VersionTLS10,
	configapi.TLSVersion11: tls.VersionTLS11,
	configapi.TLSVersion12: tls.VersionTLS12,
	configapi.TLSVersion13: tls.VersionTLS13,
}

// ApplyTLS sets what the tls section asks for on a server's TLS settings. Without the section,
// or without a value in it, TLS 1.2 is the minimum, Go chooses the suites, and HTTP/2 stays
// off (rapid-reset attacks, CVE-2023-44487). opts must have passed Load.
func ApplyTLS(c *tls.Config, opts *configapi.TLSOptions) {
	c.MinVersion = tls.VersionTLS12
	c.NextProtos = []string{"http/1.1"}
	if opts == nil {
		return
	}
	if version, ok := tlsVersions[opts.MinVersion]; ok {
		c.MinVersion = version
	}
	for _, name := range opts.CipherSuites {
		if suite := cipherSuite(name); suite != nil {
			c.CipherSuites = append(c.CipherSuites, suite.ID)
		}
	}
	if len(opts.NextProtos) > 0 {
		c.NextProtos = opts.NextProtos
	}
}
