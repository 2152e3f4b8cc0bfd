// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"regexp"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"k8s.io/apimachinery/pkg/types"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
)

const (
	// maxToken is the size of the largest token that is looked at. Those of the
	// API server have about 1 KiB.
	maxToken = 16 << 10
	// notBeforeLeeway is how far the clock of the issuer may be ahead.
	notBeforeLeeway = 5 * time.Minute
)

// algorithms are those that an API server signs with. Everything else, none and
// the symmetric ones above all, is refused before any key is looked at.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

// claims are those of a projected service account token.
type claims struct {
	jwt.Claims
	Kubernetes struct {
		Namespace string  `json:"namespace"`
		Pod       *podRef `json:"pod"`
	} `json:"kubernetes.io"`
}

type podRef struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// proof is what a verified token says. It does not depend on the job that is
// asked for.
type proof struct {
	user      string
	namespace string
	// pod is empty when the token is bound to no pod.
	pod       podRef
	audiences []string
	// issued is when the token was made.
	issued time.Time
	until  time.Time
	// owner remembers which TrainJob the pod belongs to, once that is proven:
	// owners of a pod never change.
	owner ownerMemo
}

func unproven(reason, message string) error {
	return report.Refuse(report.ErrUnproven, reason, message)
}

// token is one that was read and not verified.
type token struct {
	jwt *jwt.JSONWebToken
}

// parseToken reads a token of the compact form. Headers that point at keys (jku,
// x5u, jwk) are never followed: keys are found by their id alone.
func parseToken(bearer string) (token, error) {
	if len(bearer) > maxToken {
		return token{}, unproven("malformed", "the token is too long")
	}
	parsed, err := jwt.ParseSigned(bearer, algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return token{}, unproven("malformed", "the token is not a signed JWT of a known algorithm")
	}
	return token{jwt: parsed}, nil
}

func (t token) keyID() string { return t.jwt.Headers[0].KeyID }

// verify checks signature, issuer and time.
func (t token) verify(key signingKey, now time.Time) (*proof, error) {
	if key.jwk.Algorithm != "" && key.jwk.Algorithm != t.jwt.Headers[0].Algorithm {
		return nil, unproven("signature", "the token is signed with another algorithm than its key is for")
	}
	var c claims
	if err := t.jwt.Claims(key.jwk.Key, &c); err != nil {
		return nil, unproven("signature", "the signature of the token does not hold")
	}
	switch {
	case c.Issuer != key.issuer:
		return nil, unproven("issuer", "the token is of another issuer")
	case c.Expiry == nil || !now.Before(c.Expiry.Time()):
		return nil, unproven("expired", "the token has expired")
	case c.NotBefore != nil && now.Add(notBeforeLeeway).Before(c.NotBefore.Time()):
		return nil, unproven("notYet", "the token is not valid yet")
	}
	return newProof(c), nil
}

// unverified reads the claims without any check. They may only be used to choose
// the question that is put to the API server.
func (t token) unverified() (claims, error) {
	var c claims
	if err := t.jwt.UnsafeClaimsWithoutVerification(&c); err != nil {
		return claims{}, unproven("malformed", "the token holds no claims")
	}
	return c, nil
}

func newProof(c claims) *proof {
	p := &proof{user: c.Subject, namespace: c.Kubernetes.Namespace, audiences: c.Audience}
	if c.Expiry != nil {
		p.until = c.Expiry.Time()
	}
	if c.IssuedAt != nil {
		p.issued = c.IssuedAt.Time()
	}
	if c.Kubernetes.Pod != nil {
		p.pod = *c.Kubernetes.Pod
	}
	return p
}

// jobAudience matches the audience of any TrainJob.
var jobAudience = regexp.MustCompile(`^` + reportlink.Audience(namePattern, namePattern) + `$`)

const namePattern = `[a-z0-9][-.a-z0-9]*`

// isJobAudience tells whether an audience is that of a TrainJob, whichever.
func isJobAudience(audience string) bool { return jobAudience.MatchString(audience) }

// addressed checks that the token was issued for the job.
func (p *proof) addressed(job report.JobKey) error {
	if !slices.Contains(p.audiences, reportlink.Audience(job.Namespace, job.Name)) {
		if slices.ContainsFunc(p.audiences, isJobAudience) {
			return report.Refuse(report.ErrOtherJob, "otherJob", "the token was issued for another TrainJob")
		}
		return unproven("audience", "the token was not issued for this endpoint")
	}
	if p.namespace != job.Namespace {
		return report.Refuse(report.ErrOtherJob, "otherNamespace", "the token is of another namespace")
	}
	return nil
}
