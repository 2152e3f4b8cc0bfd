// SPDX-License-Identifier: Apache-2.0

// Package localidentity stands in for the cluster when the caller of the report
// endpoint has to be proven.
//
// It owns the signing key of one local run, the tokens made with it, and the
// objects that a pod of the run's TrainJob would have. It does not own the
// proof: podidentity checks these tokens against these objects exactly as it
// does in a cluster, so that a report is refused here for the same reasons and
// with the same answers.
package localidentity

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	"github.com/milepost-dev/milepost/controller/internal/podidentity"
	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
)

const (
	issuer         = "https://milepost.invalid/local-run" // never looked up: the keys are here
	serviceAccount = "default"
	tokenLife      = reportlink.TokenExpirationSeconds * time.Second
)

// Identity is the one pod of a local run, and its cluster as far as proving it
// goes.
type Identity struct {
	job    report.JobKey
	clock  clock.Clock
	keys   podidentity.Keys
	signer jose.Signer
	claims podClaims
	objects
}

// podClaims is what a projected service account token says of its pod.
type podClaims struct {
	Namespace      string    `json:"namespace"`
	Pod            objectRef `json:"pod"`
	ServiceAccount objectRef `json:"serviceaccount"`
}

type objectRef struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// New returns the identity of a fresh pod of a TrainJob, with a fresh key.
func New(job report.JobKey, jobUID types.UID, c clock.Clock) (*Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the signing key: %w", err)
	}
	keyID := string(uuid.NewUUID())
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader(jose.HeaderKey("kid"), keyID)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, options)
	if err != nil {
		return nil, fmt.Errorf("making the signer of tokens: %w", err)
	}
	public := jose.JSONWebKey{Key: key.Public(), KeyID: keyID, Algorithm: string(jose.ES256), Use: "sig"}
	chain := newObjects(job, jobUID, c.Now())
	return &Identity{
		job: job, clock: c, signer: signer,
		keys: podidentity.Keys{Issuer: issuer, Set: jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public}}},
		claims: podClaims{
			Namespace:      job.Namespace,
			Pod:            objectRef{Name: chain.pod.Name, UID: chain.pod.UID},
			ServiceAccount: objectRef{Name: serviceAccount, UID: uuid.NewUUID()},
		},
		objects: chain,
	}, nil
}

// Token returns a new token of the pod, and when it should be replaced: at four
// fifths of its life, as a kubelet does.
func (i *Identity) Token() (token string, renew time.Time, err error) {
	return i.tokenFor(i.job, i.clock.Now())
}

func (i *Identity) tokenFor(job report.JobKey, now time.Time) (string, time.Time, error) {
	standard := jwt.Claims{
		Issuer:    issuer,
		Subject:   "system:serviceaccount:" + job.Namespace + ":" + serviceAccount,
		Audience:  jwt.Audience{reportlink.Audience(job.Namespace, job.Name)},
		IssuedAt:  jwt.NewNumericDate(now),
		NotBefore: jwt.NewNumericDate(now),
		Expiry:    jwt.NewNumericDate(now.Add(tokenLife)),
		ID:        string(uuid.NewUUID()),
	}
	token, err := jwt.Signed(i.signer).Claims(standard).Claims(map[string]any{"kubernetes.io": i.claims}).Serialize()
	if err != nil {
		return "", time.Time{}, fmt.Errorf("signing the token: %w", err)
	}
	return token, now.Add(tokenLife / 5 * 4), nil
}

// Identifier returns the check of callers.
func (i *Identity) Identifier() (*podidentity.Identifier, error) {
	return podidentity.New(podidentity.Config{Clock: i.clock}, i, i, i)
}

var (
	_ podidentity.API  = (*Identity)(nil)
	_ podidentity.Jobs = (*Identity)(nil)
)

// JobUID knows the one TrainJob of the run.
func (i *Identity) JobUID(_ context.Context, job report.JobKey) (types.UID, error) {
	if job != i.job {
		return "", report.Refuse(report.ErrUnknownJob, "unknownJob", "Train job not found")
	}
	return i.jobUID, nil
}

// Find knows no more than JobUID: there is no cache that could be late.
func (i *Identity) Find(ctx context.Context, job report.JobKey) (types.UID, error) {
	return i.JobUID(ctx, job)
}

// Keys returns the key of the run.
func (i *Identity) Keys(context.Context) (podidentity.Keys, error) { return i.keys, nil }

// Review is asked about callers that are no pod of the job. There are none here.
func (i *Identity) Review(context.Context, string, string) (authenticationv1.TokenReviewStatus, error) {
	return authenticationv1.TokenReviewStatus{}, nil
}

// Access is never reached, because Review lets nobody through.
func (i *Identity) Access(context.Context, authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	return false, errors.New("a local run grants no rights")
}
