// SPDX-License-Identifier: Apache-2.0

package statuswriter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=trainjobs,verbs=get;list;watch
// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=trainjobs/status,verbs=patch

// Cluster is the Target of the cluster: it reads TrainJobs through the manager's
// cache and writes status.trainerStatus.
//
// A cache is always a little late. So Cluster remembers what it wrote or read
// itself until the cache shows it, and each write names the version it is based
// on: whatever changed in between makes the write fail, and the report is
// compared with the new value before it is tried again. That is how no replica
// overwrites a newer report of another, and how no report of a deleted job
// reaches one made again under its name.
type Cluster struct {
	reader ctrlclient.Reader
	client *client

	// early holds what Find found, by report.JobKey, until the cache shows it.
	early *utilcache.LRUExpireCache

	mu sync.Mutex
	// ahead holds what is known to be newer than the cache, by UID.
	ahead map[types.UID]report.Kept
}

const (
	// maxEarly bounds the memory of TrainJobs that the cache does not know, and
	// earlyFor how long a cache may be behind.
	maxEarly = 1024
	earlyFor = 10 * time.Minute
)

var _ Target = (*Cluster)(nil)

// NewCluster returns a Cluster that reads through the cache behind reader. The
// HTTP client may be nil; one shared with others saves connections.
func NewCluster(reader ctrlclient.Reader, config *rest.Config, httpClient *http.Client) (*Cluster, error) {
	c, err := newClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	return &Cluster{reader: reader, client: c, early: utilcache.NewLRUExpireCache(maxEarly), ahead: map[types.UID]report.Kept{}}, nil
}

// Load returns what is stored, as far as this process knows.
func (c *Cluster) Load(ctx context.Context, job report.JobKey) (report.Kept, error) {
	obj, err := c.read(ctx, job)
	if found, ok := c.beforeCache(job, obj, err); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		if own, ok := c.ahead[found.JobUID]; ok && newer(own.Version, found.Version) {
			return own, nil
		}
		return found, nil
	}
	if err != nil {
		return report.Kept{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	own, ok := c.ahead[obj.UID]
	if !ok {
		return toKept(obj), nil
	}
	if !newer(own.Version, obj.ResourceVersion) {
		delete(c.ahead, obj.UID)
		return toKept(obj), nil
	}
	return own, nil
}

// JobUID returns the UID of the TrainJob of today; report.ErrUnknownJob when
// there is none. It costs no call.
func (c *Cluster) JobUID(ctx context.Context, job report.JobKey) (types.UID, error) {
	obj, err := c.read(ctx, job)
	if found, ok := c.beforeCache(job, obj, err); ok {
		return found.JobUID, nil
	}
	if err != nil {
		return "", err
	}
	return obj.UID, nil
}

// Find does the same past the cache, at the cost of a call. What it finds counts
// until the cache shows the TrainJob.
func (c *Cluster) Find(ctx context.Context, job report.JobKey) (types.UID, error) {
	found, err := c.client.get(ctx, job)
	if err != nil {
		return "", err
	}
	c.early.Add(job, found, earlyFor)
	return found.JobUID, nil
}

// beforeCache returns what Find found, unless the cache has caught up: with an
// object or the error of a look into it.
func (c *Cluster) beforeCache(job report.JobKey, obj *trainer.TrainJob, err error) (report.Kept, bool) {
	if err != nil && !errors.Is(err, report.ErrUnknownJob) {
		return report.Kept{}, false
	}
	held, ok := c.early.Get(job)
	if !ok {
		return report.Kept{}, false
	}
	found := held.(report.Kept)
	if err == nil && !newer(found.Version, obj.ResourceVersion) {
		c.early.Remove(job)
		return report.Kept{}, false
	}
	return found, true
}

// read returns the object in the cache, which must not be changed.
func (c *Cluster) read(ctx context.Context, job report.JobKey) (*trainer.TrainJob, error) {
	var obj trainer.TrainJob
	err := c.reader.Get(ctx, types.NamespacedName(job), &obj, &ctrlclient.GetOptions{UnsafeDisableDeepCopy: new(true)})
	if apierrors.IsNotFound(err) {
		return nil, report.Refuse(report.ErrUnknownJob, "unknownJob", "Train job not found")
	}
	if err != nil {
		return nil, fmt.Errorf("reading TrainJob %q: %w", job, err)
	}
	return &obj, nil
}

// Store writes the report over what was kept. On a conflict it reads what is
// stored now, so that the next Load does not depend on the cache.
func (c *Cluster) Store(ctx context.Context, job report.JobKey, kept report.Kept, rep report.Report) error {
	version, err := c.client.patch(ctx, job, kept, rep)
	if errors.Is(err, report.ErrConflict) {
		err = c.afterConflict(ctx, job, kept, err)
	}
	if errors.Is(err, report.ErrUnknownJob) {
		c.early.Remove(job)
	}
	if err != nil {
		return err
	}
	c.remember(report.Kept{JobUID: kept.JobUID, Report: &rep, Version: version})
	return nil
}

// afterConflict reads what is stored now and returns the conflict, or what is
// worse.
func (c *Cluster) afterConflict(ctx context.Context, job report.JobKey, kept report.Kept, conflict error) error {
	now, err := c.client.get(ctx, job)
	if err != nil {
		return err
	}
	if now.JobUID != kept.JobUID {
		return report.Refuse(report.ErrUnknownJob, "recreated", "Train job not found")
	}
	c.remember(now)
	return conflict
}

func (c *Cluster) remember(kept report.Kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead[kept.JobUID] = kept
}

// Watch calls forget for each TrainJob that is deleted, and keeps no memory of
// it. It starts the informer of TrainJobs where none runs yet.
func (c *Cluster) Watch(ctx context.Context, informers ctrlcache.Informers, forget func(types.UID)) error {
	informer, err := informers.GetInformer(ctx, &trainer.TrainJob{})
	if err != nil {
		return fmt.Errorf("watching TrainJobs: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if job, ok := obj.(*trainer.TrainJob); ok {
				c.drop(job.UID)
				forget(job.UID)
				c.gone(job)
			}
		},
		UpdateFunc: func(before, after any) {
			// A deletion and a new creation between two looks arrive as one update.
			was, ok := before.(*trainer.TrainJob)
			is, ok2 := after.(*trainer.TrainJob)
			if ok && ok2 && was.UID != is.UID {
				c.drop(was.UID)
				forget(was.UID)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watching TrainJobs: %w", err)
	}
	return nil
}

func (c *Cluster) drop(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ahead, uid)
}

// gone ends what Find found of a TrainJob that the cache has seen deleted.
func (c *Cluster) gone(obj *trainer.TrainJob) {
	job := report.JobKey{Namespace: obj.Namespace, Name: obj.Name}
	if held, ok := c.early.Get(job); ok && held.(report.Kept).JobUID == obj.UID {
		c.early.Remove(job)
	}
}

// newer compares versions of one object. Versions that cannot be compared are
// taken for equal, so that the cache wins in the end.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// toKept reads the stored report of an object.
func toKept(obj *trainer.TrainJob) report.Kept {
	kept := report.Kept{JobUID: obj.UID, Version: obj.ResourceVersion, WrittenTime: writtenTime(obj.ManagedFields)}
	status := obj.Status.TrainerStatus
	if status == nil {
		return kept
	}
	rep := report.Report{
		ProgressPercentage:        status.ProgressPercentage,
		EstimatedRemainingSeconds: status.EstimatedRemainingSeconds,
		LastUpdatedTime:           status.LastUpdatedTime.UTC(),
	}
	if fraction := obj.Status.LastUpdatedNanos; fraction != nil {
		rep.SentTime = rep.LastUpdatedTime.Add(time.Duration(*fraction))
	}
	if len(status.Metrics) > 0 {
		rep.Metrics = make([]report.Metric, len(status.Metrics))
		for i, m := range status.Metrics {
			rep.Metrics[i] = report.Metric{Name: m.Name, Value: m.Value}
		}
	}
	kept.Report = &rep
	return kept
}

// writtenTime is when the field owner of reports last changed the object, by
// the clock of the API server.
func writtenTime(fields []metav1.ManagedFieldsEntry) time.Time {
	var latest time.Time
	for _, entry := range fields {
		if entry.Manager == FieldOwner && entry.Time != nil && entry.Time.After(latest) {
			latest = entry.Time.Time
		}
	}
	return latest
}

// KeepOwnManagedFields is a transform for the cache of TrainJobs. Managed fields
// are the larger part of many objects and nobody reads them, but for the time
// at which a report was last stored.
func KeepOwnManagedFields(obj any) (any, error) {
	job, ok := obj.(*trainer.TrainJob)
	if !ok {
		return obj, nil
	}
	var own []metav1.ManagedFieldsEntry
	for _, entry := range job.ManagedFields {
		if entry.Manager == FieldOwner {
			entry.FieldsV1 = nil
			own = append(own, entry)
		}
	}
	job.ManagedFields = own
	return job, nil
}
