// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"net/http"
	"strings"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

const bearerScheme = "bearer"

// credential returns the bearer token of a request. Tokens are taken from one
// Authorization header and from nowhere else: not from the query, where logs
// would show them, and not from the body.
func credential(header http.Header) (string, error) {
	values := header["Authorization"]
	switch len(values) {
	case 0:
		return "", report.Refuse(report.ErrUnproven, "noToken", "a bearer token is required")
	case 1:
	default:
		return "", report.Refuse(report.ErrUnproven, "twoHeaders", "more than one Authorization header was sent")
	}
	token := bearerToken(values[0])
	if token == "" {
		return "", report.Refuse(report.ErrUnproven, "noToken", "the Authorization header holds no bearer token")
	}
	return token, nil
}

// bearerToken reads `Bearer TOKEN` without regard to the case of the scheme and
// to the white space around. It returns "" for anything else.
func bearerToken(value string) string {
	scheme, rest, found := cutSpace(strings.Trim(value, " \t"))
	if !found || !strings.EqualFold(scheme, bearerScheme) {
		return ""
	}
	if _, _, more := cutSpace(rest); more {
		return ""
	}
	return rest
}

// cutSpace splits at the first run of blanks.
func cutSpace(text string) (before, after string, found bool) {
	i := strings.IndexAny(text, " \t")
	if i < 0 {
		return text, "", false
	}
	return text[:i], strings.TrimLeft(text[i:], " \t"), true
}
