// SPDX-License-Identifier: Apache-2.0

package podidentity

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/util/flowcontrol"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// freshFor is the age up to which the pod of a token may be newer than the
	// cache. Kubelet has the token made when it starts the pod.
	freshFor = 2 * time.Minute
	// lookedUpFor is how long the answer of a look-up counts. A pod deleted
	// meanwhile is noticed that much later.
	lookedUpFor  = 3 * time.Second
	lookUpQPS    = 10
	lookUpBurst  = 20
	maxLookedUp  = 1024
	lookUpAtMost = 2 * time.Second
)

// live looks up what the caches do not know yet, for callers that have just been
// started. It costs the API server little: only proven tokens made of late get
// here, each answer counts for a while, and there is a limit over all.
type live struct {
	reader ctrlclient.Reader
	limit  flowcontrol.PassiveRateLimiter
	// answers holds the metadata of each object; nil for one that is not there.
	answers *utilcache.LRUExpireCache
}

func newLive(cfg Config) *live {
	if cfg.Live == nil {
		return nil
	}
	return &live{
		reader:  cfg.Live,
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
	if !l.limit.TryAccept() {
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

// lookUp reads an object of one life from the cache, or past it when the token
// is so new that the cache may be behind. It is nil when there is none. The
// object must not be changed.
func (i *Identifier) lookUp(ctx context.Context, p *proof, kind schema.GroupVersionKind, name string, uid types.UID) (*metav1.PartialObjectMetadata, error) {
	object, err := i.metadata(ctx, kind, p.namespace, name)
	if err != nil || object != nil && object.UID == uid {
		return object, err
	}
	if i.live == nil || i.cfg.Clock.Since(p.issued) > freshFor {
		return nil, nil
	}
	return i.live.find(ctx, place{kind: kind, key: types.NamespacedName{Namespace: p.namespace, Name: name}, uid: uid})
}
