// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-jose/go-jose/v4"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// Keys are the signing keys of service account tokens, with their issuer.
type Keys struct {
	Issuer string
	Set    jose.JSONWebKeySet
}

// API is what is asked of the API server.
type API interface {
	// Keys returns the signing keys.
	Keys(ctx context.Context) (Keys, error)
	// Review has a token checked for an audience.
	Review(ctx context.Context, bearer, audience string) (authenticationv1.TokenReviewStatus, error)
	// Access asks whether a user may do something.
	Access(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, error)
}

const (
	discoveryPath = "/.well-known/openid-configuration"
	keysPath      = "/openid/v1/jwks"
)

// +kubebuilder:rbac:urls=/.well-known/openid-configuration;/openid/v1/jwks,verbs=get
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Cluster is the API of a real API server. It talks to that server alone: the
// addresses in the discovery document may lead to an outside issuer, which must
// not be offered the controller's credentials and may not be reachable.
type Cluster struct {
	rest    rest.Interface
	reviews authenticationclient.TokenReviewInterface
	access  authorizationclient.SubjectAccessReviewInterface
}

var _ API = (*Cluster)(nil)

// NewCluster returns the API behind a configuration. The HTTP client may be nil;
// one shared with others saves connections. The calls have no rate limit here,
// since the Identifier limits them.
func NewCluster(config *rest.Config, httpClient *http.Client) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.RateLimiter = -1, -1, nil
	if httpClient == nil {
		var err error
		if httpClient, err = rest.HTTPClientFor(config); err != nil {
			return nil, fmt.Errorf("making the client of identities: %w", err)
		}
	}
	authentication, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making the client of token reviews: %w", err)
	}
	authorization, err := authorizationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making the client of access reviews: %w", err)
	}
	return &Cluster{
		rest: authentication.RESTClient(), reviews: authentication.TokenReviews(), access: authorization.SubjectAccessReviews(),
	}, nil
}

// Keys reads issuer and keys from the API server itself.
func (c *Cluster) Keys(ctx context.Context) (Keys, error) {
	var discovery struct {
		Issuer string `json:"issuer"`
	}
	var keys Keys
	if err := c.document(ctx, discoveryPath, &discovery); err != nil {
		return Keys{}, err
	}
	if err := c.document(ctx, keysPath, &keys.Set); err != nil {
		return Keys{}, err
	}
	if discovery.Issuer == "" || len(keys.Set.Keys) == 0 {
		return Keys{}, errors.New("the API server names no issuer or no keys")
	}
	keys.Issuer = discovery.Issuer
	return keys, nil
}

func (c *Cluster) document(ctx context.Context, path string, into any) error {
	raw, err := c.rest.Get().AbsPath(path).SetHeader("Accept", "application/json, application/jwk-set+json").MaxRetries(0).Do(ctx).Raw()
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// Review creates a TokenReview.
func (c *Cluster) Review(ctx context.Context, bearer, audience string) (authenticationv1.TokenReviewStatus, error) {
	review, err := c.reviews.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: bearer, Audiences: []string{audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.TokenReviewStatus{}, fmt.Errorf("reviewing a token: %w", err)
	}
	return review.Status, nil
}

// Access creates a SubjectAccessReview.
func (c *Cluster) Access(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	review, err := c.access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("reviewing access: %w", err)
	}
	return review.Status.Allowed && !review.Status.Denied, nil
}
