// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"fmt"
	"strings"
	"testing"
)

func TestBearerTokens(t *testing.T) {
	cases := map[string]string{
		"Bearer token": "token", "bearer token": "token", "BEARER token": "token", "Bearer \t token": "token", "  Bearer token  ": "token",
		"": "", "   ": "", "Bearer": "", "Bearer ": "", "token": "", "Basic dXNlcjpwYXNz": "", "Bearerx token": "", "Bearer token another": "",
	}
	for value, want := range cases {
		t.Run(fmt.Sprintf("%q", value), func(t *testing.T) {
			if got := bearerToken(value); got != want {
				t.Errorf("token %q, want %q", got, want)
			}
		})
	}
}

func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer token", "bearer \t x", "Basic x", "Bearer", "\x00", "Bearer a\u00a0b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		token := bearerToken(value)
		if strings.ContainsAny(token, " \t") {
			t.Errorf("%q gives the token %q, which holds a blank", value, token)
		}
		// A plain reading with the library must agree on plain values.
		fields := strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '\t' })
		want := ""
		if len(fields) == 2 && strings.EqualFold(fields[0], "bearer") {
			want = fields[1]
		}
		if token != want {
			t.Errorf("%q gives the token %q, want %q", value, token, want)
		}
	})
}
