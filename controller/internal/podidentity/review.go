// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
)

const (
	// How long answers of the API server are remembered. Refusals are kept for
	// a short time, since a right may just have been granted.
	allowedFor = time.Minute
	refusedFor = 10 * time.Second
	// reviewedFor bounds how long a token counts as valid that only the API
	// server could check and that no pod stands for. With a pod it is the
	// deletion of the pod that ends it.
	reviewedFor = 5 * time.Minute
	// maxAnswers bounds the memory of answers.
	maxAnswers = 4096

	extraPodName = "authentication.kubernetes.io/pod-name"
	extraPodUID  = "authentication.kubernetes.io/pod-uid"
)

// reviewer asks the API server about tokens and rights, within a limit.
type reviewer struct {
	api   API
	clock clock.PassiveClock
	// tokens limits the checks of tokens, rights those of callers that are no
	// pod: apart, so that strangers cannot use up what pods need.
	tokens, rights flowcontrol.PassiveRateLimiter
	// answers holds the error of each question; a nil one is a yes.
	answers *utilcache.LRUExpireCache
}

func newReviewer(cfg Config, api API) *reviewer {
	return &reviewer{
		api: api, clock: cfg.Clock,
		tokens:  flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(cfg.TokenQPS), cfg.TokenBurst, cfg.Clock),
		rights:  flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(cfg.ReviewQPS), cfg.ReviewBurst, cfg.Clock),
		answers: utilcache.NewLRUExpireCacheWithClock(maxAnswers, cfg.Clock),
	}
}

// question is the key of an answer: a token, and what was asked about it.
type question struct {
	token [sha256.Size]byte
	about string
}

// verify has the API server check a token whose key is not known here.
func (r *reviewer) verify(ctx context.Context, bearer string, t token, job report.JobKey) (*proof, error) {
	c, err := t.unverified()
	if err != nil {
		return nil, err
	}
	audience, ok := reviewable(c.Audience, job)
	if !ok {
		return nil, unproven("audience", "the token was not issued for this endpoint")
	}
	q := question{token: sha256.Sum256([]byte(bearer)), about: "token for " + audience}
	if held, ok := r.answers.Get(q); ok {
		return nil, held.(error)
	}
	status, err := r.ask(ctx, r.tokens, bearer, audience)
	if err != nil {
		if errors.Is(err, report.ErrUnproven) {
			r.answers.Add(q, err, refusedFor)
		}
		return nil, err
	}
	p := newProof(c)
	p.user, p.pod = status.User.Username, podRef{}
	if name, uid := status.User.Extra[extraPodName], status.User.Extra[extraPodUID]; len(name) == 1 && len(uid) == 1 {
		p.pod = podRef{Name: name[0], UID: types.UID(uid[0])}
	}
	if latest := r.clock.Now().Add(reviewedFor); p.pod.Name == "" && p.until.After(latest) {
		p.until = latest
	}
	return p, nil
}

// reviewable chooses the audience to ask for: that of the job, or else that of
// another job, so that the answer can tell a wrong job from a wrong token.
func reviewable(audiences []string, job report.JobKey) (string, bool) {
	if own := reportlink.Audience(job.Namespace, job.Name); slices.Contains(audiences, own) {
		return own, true
	}
	i := slices.IndexFunc(audiences, isJobAudience)
	if i < 0 {
		return "", false
	}
	return audiences[i], true
}

// ask has a token checked, within a limit.
func (r *reviewer) ask(ctx context.Context, limit flowcontrol.PassiveRateLimiter, bearer, audience string) (authenticationv1.TokenReviewStatus, error) {
	var none authenticationv1.TokenReviewStatus
	if !limit.TryAccept() {
		return none, overLimit()
	}
	status, err := r.api.Review(ctx, bearer, audience)
	if err != nil {
		return none, undecided("cannot check the token at present", err)
	}
	if !status.Authenticated || !slices.Contains(status.Audiences, audience) {
		return none, unproven("review", "the API server does not accept the token")
	}
	return status, nil
}

// allowed lets a caller in that is no pod of the job, if RBAC does. Otherwise it
// returns the refusal that was found before.
func (r *reviewer) allowed(ctx context.Context, bearer string, p *proof, from report.Sender, refusal *report.Refusal) (report.Sender, error) {
	q := question{token: sha256.Sum256([]byte(bearer)), about: "access to " + from.Job.String() + " of " + string(from.JobUID)}
	held, known := r.answers.Get(q)
	if !known {
		yes, err := r.mayUpdate(ctx, bearer, from.Job)
		switch {
		case errors.Is(err, report.ErrUnproven):
			// The API server holds the token for revoked, because its pod or its
			// service account is gone.
			held = answer{refusal: refusal}
		case err != nil:
			return report.Sender{}, err
		case yes:
			held = answer{yes: true}
		default:
			held = answer{refusal: refusal}
		}
		r.remember(q, held.(answer), p)
	}
	if a := held.(answer); !a.yes {
		return report.Sender{}, a.refusal
	}
	return from, nil
}

// answer is what is remembered of a question about rights.
type answer struct {
	yes     bool
	refusal *report.Refusal
}

func (r *reviewer) remember(q question, a answer, p *proof) {
	life := refusedFor
	if a.yes {
		life = min(allowedFor, p.until.Sub(r.clock.Now()))
	}
	r.answers.Add(q, a, life)
}

// mayUpdate asks whether the token still holds and its user may update the
// status of the job.
func (r *reviewer) mayUpdate(ctx context.Context, bearer string, job report.JobKey) (bool, error) {
	status, err := r.ask(ctx, r.rights, bearer, reportlink.Audience(job.Namespace, job.Name))
	if err != nil {
		return false, err
	}
	extra := make(map[string]authorizationv1.ExtraValue, len(status.User.Extra))
	for key, value := range status.User.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	yes, err := r.api.Access(ctx, authorizationv1.SubjectAccessReviewSpec{
		User: status.User.Username, UID: status.User.UID, Groups: status.User.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: job.Namespace, Name: job.Name, Verb: "update",
			Group: trainJob.Group, Resource: "trainjobs", Subresource: "status", Version: "v1alpha1",
		},
	})
	if err != nil {
		return false, undecided("cannot check the rights of the caller at present", err)
	}
	return yes, nil
}

func overLimit() error {
	return &report.Refusal{
		Err: report.ErrUnavailable, Reason: "reviewLimit",
		Message: "too many callers have to be checked by the API server at present", RetryAfter: time.Second,
	}
}
