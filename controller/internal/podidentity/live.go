// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

const (
	// freshFor is the age up to which the pod of a token may be newer than the
	// cache. Kubelet has the token made when it starts the pod.
	freshFor = 2 * time.Minute
	// lookedUpFor is how long the answer of a look-up counts. A pod deleted
	// meanwhile is noticed that much later.
	lookedUpFor  = 3 * time.Second
	maxLookedUp  = 1024
	lookUpAtMost = 2 * time.Second
	// What look-ups may cost: over all, and for one namespace, so that none can
	// use up what the pods of others need.
	lookUpQPS   = 40
	lookUpBurst = 80
	spaceQPS    = 10
	spaceBurst  = 20
	// maxSpaces is the number of namespaces whose look-ups are counted. The one
	// without a look-up for longest starts anew.
	maxSpaces = 1024
	spaceFor  = time.Minute
)

// live looks up what the caches do not know yet, for callers that have just been
// started. It costs the API server little: only proven tokens made of late get
// here, each answer counts for a while, and there is a limit over all.
type live struct {
	reader ctrlclient.Reader
	clock  clock.Clock
	limit  flowcontrol.PassiveRateLimiter
	// spaces holds the limit of each namespace.
	spaces *utilcache.LRUExpireCache
	// answers holds the metadata of each object, nil for one that is not there,
	// and the UID of each TrainJob.
	answers *utilcache.LRUExpireCache

	mu sync.Mutex
}

func newLive(cfg Config) *live {
	if cfg.Live == nil {
		return nil
	}
	return &live{
		reader:  cfg.Live,
		clock:   cfg.Clock,
		spaces:  utilcache.NewLRUExpireCacheWithClock(maxSpaces, cfg.Clock),
		limit:   flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(lookUpQPS, lookUpBurst, cfg.Clock),
		answers: utilcache.NewLRUExpireCacheWithClock(maxLookedUp, cfg.Clock),
	}
}

// place names an object in one of its lives.
type place struct {
	kind schema.GroupVersionKind
	key  types.NamespacedName
	uid  types.UID
}

// find returns an object; nil when there is none. The error says that it could
// not be found out now: the caller does well to come again.
func (l *live) find(ctx context.Context, p place) (*metav1.PartialObjectMetadata, error) {
	if held, ok := l.answers.Get(p); ok {
		return held.(*metav1.PartialObjectMetadata), nil
	}
	if !l.mayAsk(p.key.Namespace) {
		return nil, fmt.Errorf("looking up %s %q: too many look-ups at present", p.kind.Kind, p.key)
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpAtMost)
	defer cancel()
	// A list of one needs no right beyond those of the cache.
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(p.kind.GroupVersion().WithKind(p.kind.Kind + "List"))
	err := l.reader.List(ctx, list, ctrlclient.InNamespace(p.key.Namespace), ctrlclient.MatchingFields{"metadata.name": p.key.Name}, ctrlclient.Limit(1))
	if err != nil {
		return nil, fmt.Errorf("looking up %s %q: %w", p.kind.Kind, p.key, err)
	}
	var found *metav1.PartialObjectMetadata
	if len(list.Items) == 1 && list.Items[0].UID == p.uid {
		found = &list.Items[0]
	}
	l.answers.Add(p, found, lookedUpFor)
	return found, nil
}

// mayAsk takes a look-up out of what a namespace may cost, and out of what all
// may.
func (l *live) mayAsk(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	held, ok := l.spaces.Get(namespace)
	if !ok {
		held = flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(spaceQPS, spaceBurst, l.clock)
	}
	l.spaces.Add(namespace, held, spaceFor)
	return held.(flowcontrol.PassiveRateLimiter).TryAccept() && l.limit.TryAccept()
}

// isFresh tells whether a token was made so lately that its pod and the owners of
// that may be newer than the caches.
func (i *Identifier) isFresh(p *proof) bool {
	return i.live != nil && i.cfg.Clock.Since(p.issued) <= freshFor
}

// findJob returns the UID of a TrainJob that the cache does not know, or knows in
// an earlier life only. It is empty when there is none. It is asked when the
// owners of a pod, which exist, lead to that TrainJob.
func (i *Identifier) findJob(ctx context.Context, p *proof, job report.JobKey) (types.UID, error) {
	if !i.isFresh(p) {
		return "", nil
	}
	if held, ok := i.live.answers.Get(job); ok {
		return held.(types.UID), nil
	}
	if !i.live.mayAsk(job.Namespace) {
		return "", fmt.Errorf("looking up TrainJob %q: too many look-ups at present", job)
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpAtMost)
	defer cancel()
	uid, err := i.jobs.Find(ctx, job)
	if err != nil && !errors.Is(err, report.ErrUnknownJob) {
		return "", fmt.Errorf("looking up TrainJob %q: %w", job, err)
	}
	i.live.answers.Add(job, uid, lookedUpFor)
	return uid, nil
}

// lookUp reads an object of one life from the cache, or past it when the token
// is so new that the cache may be behind. It is nil when there is none. The
// object must not be changed.
func (i *Identifier) lookUp(ctx context.Context, p *proof, kind schema.GroupVersionKind, name string, uid types.UID) (*metav1.PartialObjectMetadata, error) {
	object, err := i.metadata(ctx, kind, p.namespace, name)
	if err != nil || object != nil && object.UID == uid {
		return object, err
	}
	if !i.isFresh(p) {
		return nil, nil
	}
	return i.live.find(ctx, place{kind: kind, key: types.NamespacedName{Namespace: p.namespace, Name: name}, uid: uid})
}
