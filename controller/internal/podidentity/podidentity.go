// SPDX-License-Identifier: Apache-2.0

// Package podidentity proves which pod sends a report.
//
// It owns the check of the token, the check that the pod named in it exists and
// belongs to the TrainJob of today, and the way in for callers that are no pod
// of the job. It does not own the rules of a report or any limit on callers.
//
// # What is proven
//
// The token is signed with a key of the cluster, is of the cluster's issuer, is
// in its time, and carries the audience of this very TrainJob. The pod named in
// the token exists under that UID. Its controller is a Job that exists, whose
// controller is a JobSet that exists, whose controller is the TrainJob that
// exists now, each link compared by UID. So a token of another job, of another
// pod of the namespace, of a deleted pod, or of a pod of a deleted TrainJob of
// the same name is refused. All of it is read from informer caches that hold
// metadata alone; a report costs no call. Only while a pod or its TrainJob is
// newer than the cache is it looked up past it, within a limit: over all, and for
// each namespace. Who is over it is told to come again, not that there is none.
//
// # What is not proven
//
// Labels are no proof and are used only to keep the cache small. Owner
// references are what controllers write, but whoever may create pods in the
// namespace may write the same ones on a pod of their own, with a projected
// token of any audience. Nothing in the metadata of a pod says who created it.
// Two things limit that. Each link must also have blockOwnerDeletion set, as
// every controller does: in clusters with the admission plugin
// OwnerReferencesPermissionEnforcement only those may set it who may update the
// finalizers of the owner, so there a forged link is refused at creation. And
// the Job controller counts such a pod among its own and deletes what is too
// many. Elsewhere the right to create pods in a namespace includes the right to
// report for its TrainJobs, just as it includes the use of every service
// account and Secret of the namespace. The namespace is the boundary, and no
// caller can cross it: the token names its namespace, and no owner reference
// leads into another one.
//
// # Callers that are no pod of the job
//
// A proven caller that is no pod of the job may report when RBAC lets it update
// trainjobs/status of that job. The API server is asked whether the token still
// holds and whether the access is allowed; both answers are cached for a short
// time, and there is a limit on how often it is asked.
package podidentity

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// Jobs knows the TrainJobs of today.
type Jobs interface {
	// JobUID returns the UID of a TrainJob; report.ErrUnknownJob when there is
	// none of that name. It costs no call.
	JobUID(ctx context.Context, job report.JobKey) (types.UID, error)
	// Find does the same past the cache, at the cost of a call, and has whoever
	// stores reports know the job from then on.
	Find(ctx context.Context, job report.JobKey) (types.UID, error)
}

// Config of an Identifier. Every field has a default.
type Config struct {
	// MaxProofs is the number of verified tokens that are remembered; default
	// 65536. The one not used for longest is forgotten first.
	MaxProofs int
	// KeyInterval is the least time between two fetches of the signing keys;
	// default 10 s.
	KeyInterval time.Duration
	// KeyAge is the age at which the signing keys are fetched again although
	// none is missing, so that withdrawn ones are noticed; default 10 min.
	KeyAge time.Duration
	// ReviewQPS and ReviewBurst limit the questions to the API server about
	// callers that are no pod of the job; defaults 10 and 20.
	ReviewQPS   float64
	ReviewBurst int
	// TokenQPS and TokenBurst limit the tokens that the API server is asked to
	// check because the signing keys cannot be had; defaults 50 and 100.
	TokenQPS   float64
	TokenBurst int
	// Live reads past the cache, for pods that are newer than it; nil takes the
	// cache's word. It needs to list metadata of pods, Jobs and JobSets.
	Live   ctrlclient.Reader
	Logger logr.Logger
	Clock  clock.Clock
}

const (
	defaultMaxProofs   = 65536
	defaultKeyInterval = 10 * time.Second
	defaultKeyAge      = 10 * time.Minute
	defaultReviewQPS   = 10
	defaultReviewBurst = 20
	defaultTokenQPS    = 50
	defaultTokenBurst  = 100
)

// Validate reports every field that makes no sense.
func (c Config) Validate() error {
	var errs []error
	if c.MaxProofs < 0 || c.ReviewQPS < 0 || c.ReviewBurst < 0 || c.TokenQPS < 0 || c.TokenBurst < 0 {
		errs = append(errs, errors.New("MaxProofs and the limits of questions must not be negative"))
	}
	if c.KeyInterval < 0 || c.KeyAge < 0 {
		errs = append(errs, errors.New("KeyInterval and KeyAge must not be negative"))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.MaxProofs == 0 {
		c.MaxProofs = defaultMaxProofs
	}
	if c.KeyInterval == 0 {
		c.KeyInterval = defaultKeyInterval
	}
	if c.KeyAge == 0 {
		c.KeyAge = defaultKeyAge
	}
	if c.ReviewQPS == 0 {
		c.ReviewQPS = defaultReviewQPS
	}
	if c.ReviewBurst == 0 {
		c.ReviewBurst = defaultReviewBurst
	}
	if c.TokenQPS == 0 {
		c.TokenQPS = defaultTokenQPS
	}
	if c.TokenBurst == 0 {
		c.TokenBurst = defaultTokenBurst
	}
	if c.Logger.GetSink() == nil {
		c.Logger = logr.Discard()
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c
}

// Identifier proves callers. It is safe for concurrent use.
type Identifier struct {
	cfg    Config
	reader ctrlclient.Reader
	jobs   Jobs
	keys   *keyring
	review *reviewer
	live   *live
	proofs *utilcache.LRUExpireCache
}

// New returns an Identifier that reads pods and their owners from the cache
// behind reader, and asks the API server for what no cache has.
func New(cfg Config, reader ctrlclient.Reader, jobs Jobs, api API) (*Identifier, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("checking the configuration of identities: %w", err)
	}
	cfg = cfg.withDefaults()
	return &Identifier{
		cfg: cfg, reader: reader, jobs: jobs,
		keys:   newKeyring(cfg, api),
		review: newReviewer(cfg, api),
		live:   newLive(cfg),
		proofs: utilcache.NewLRUExpireCacheWithClock(cfg.MaxProofs, cfg.Clock),
	}, nil
}

// NeedLeaderElection is false: every replica proves its own callers.
func (i *Identifier) NeedLeaderElection() bool { return false }

// Start fetches the signing keys, so that the first report does not wait for
// them, and returns when the context ends. Without it the keys are fetched when
// they are first needed.
func (i *Identifier) Start(ctx context.Context) error {
	i.keys.fetch(ctx)
	<-ctx.Done()
	return nil
}

// Identify returns who presents the token, and that it may report for the job.
// The error is a *report.Refusal.
func (i *Identifier) Identify(ctx context.Context, bearer string, job report.JobKey) (report.Sender, error) {
	p, err := i.proof(ctx, bearer, job)
	if err != nil {
		return report.Sender{}, err
	}
	if err := p.addressed(job); err != nil {
		return report.Sender{}, err
	}
	uid, unknown := i.jobs.JobUID(ctx, job)
	if unknown != nil && (!errors.Is(unknown, report.ErrUnknownJob) || !i.isFresh(p)) {
		return report.Sender{}, undecided("cannot look up the TrainJob at present", unknown)
	}
	from := report.Sender{Job: job, JobUID: uid, User: p.user}
	refusal, err := i.podOf(ctx, p, &from)
	switch {
	case err != nil:
		return report.Sender{}, undecided("cannot look up the pod and its TrainJob at present", err)
	case refusal == nil:
		return from, nil
	case unknown != nil:
		return report.Sender{}, unknown
	}
	return i.review.allowed(ctx, bearer, p, from, refusal)
}

// proof verifies a token, once.
func (i *Identifier) proof(ctx context.Context, bearer string, job report.JobKey) (*proof, error) {
	key := sha256.Sum256([]byte(bearer))
	if held, ok := i.proofs.Get(key); ok {
		return held.(*proof), nil
	}
	p, err := i.verify(ctx, bearer, job)
	if err != nil {
		return nil, err
	}
	if life := p.until.Sub(i.cfg.Clock.Now()); life > 0 {
		i.proofs.Add(key, p, life)
	}
	return p, nil
}

// verify checks a token locally, or has the API server check it where the keys
// cannot be had.
func (i *Identifier) verify(ctx context.Context, bearer string, job report.JobKey) (*proof, error) {
	token, err := parseToken(bearer)
	if err != nil {
		return nil, err
	}
	key, err := i.keys.find(ctx, token.keyID())
	if errors.Is(err, errNoKeys) {
		return i.review.verify(ctx, bearer, token, job)
	}
	if err != nil {
		return nil, err
	}
	return token.verify(key, i.cfg.Clock.Now())
}

// undecided makes a refusal of an error that says nothing about the caller.
func undecided(message string, err error) error {
	if _, decided := errors.AsType[*report.Refusal](err); decided {
		return err
	}
	return &report.Refusal{Err: report.ErrUnavailable, Reason: "undecided", Message: message, RetryAfter: time.Second, Cause: err}
}
