// SPDX-License-Identifier: Apache-2.0

package statuswriter

import (
	"errors"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

func lateCluster(t *testing.T, cache *lateCache) *Cluster {
	t.Helper()
	cluster, err := NewCluster(cache, &rest.Config{Host: "http://api"}, &http.Client{Transport: cache.api})
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// TestAFoundTrainJobIsStoredForWhileTheCacheIsBehind lets the cache of a fake API server show nothing, or
// an earlier life of the name.
func TestAFoundTrainJobIsStoredForWhileTheCacheIsBehind(t *testing.T) {
	earlier := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: apiJob, Namespace: "ns", UID: "earlier", ResourceVersion: "9"}}
	for name, cache := range map[string]*lateCache{
		"nothing": {empty: true}, "an earlier life": {earlier: earlier},
	} {
		t.Run(name, func(t *testing.T) {
			cache.api = newFakeAPI(0)
			cluster := lateCluster(t, cache)
			job := key(apiJob)
			if uid, err := cluster.JobUID(t.Context(), job); uid == "uid-"+apiJob {
				t.Fatalf("the TrainJob is known before it is found: %v", err)
			}
			if uid, err := cluster.Find(t.Context(), job); err != nil || uid != "uid-"+apiJob {
				t.Fatalf("finding gives %s, %v", uid, err)
			}
			if uid, err := cluster.JobUID(t.Context(), job); err != nil || uid != "uid-"+apiJob {
				t.Errorf("UID is %s, %v", uid, err)
			}
			for progress := range int32(2) {
				kept, err := cluster.Load(t.Context(), job)
				if err != nil {
					t.Fatal(err)
				}
				if err := cluster.Store(t.Context(), job, kept, at(int(progress), progress)); err != nil {
					t.Fatal(err)
				}
			}
			if kept, err := cluster.Load(t.Context(), job); err != nil || kept.Report == nil || *kept.Report.ProgressPercentage != 1 {
				t.Errorf("loading gives %+v, %v; want what was stored last", kept, err)
			}
			cache.empty, cache.earlier = false, nil
			if kept, err := cluster.Load(t.Context(), job); err != nil || kept.Report == nil || kept.Version != "12" {
				t.Errorf("loading from a cache that has caught up gives %+v, %v", kept, err)
			}
			// From here on the cache has the word.
			cache.empty = true
			if _, err := cluster.Load(t.Context(), job); !errors.Is(err, report.ErrUnknownJob) {
				t.Errorf("loading a TrainJob that is gone gives %v", err)
			}
		})
	}
}

func TestAFoundTrainJobThatIsGoneIsUnknownAgainOnAFakeAPI(t *testing.T) {
	cache := &lateCache{empty: true, api: newFakeAPI(0)}
	cluster, job := lateCluster(t, cache), key(apiJob)
	if _, err := cluster.Find(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	kept, err := cluster.Load(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	cache.api.remove()
	if err := cluster.Store(t.Context(), job, kept, at(0, 1)); !errors.Is(err, report.ErrUnknownJob) {
		t.Fatalf("storing gives %v", err)
	}
	if _, err := cluster.JobUID(t.Context(), job); !errors.Is(err, report.ErrUnknownJob) {
		t.Errorf("looking at it gives %v", err)
	}
}
