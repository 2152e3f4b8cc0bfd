// SPDX-License-Identifier: Apache-2.0

package reports_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/statuswriter"
	"github.com/milepost-dev/milepost/controller/internal/testkit/trainingpods"
)

// lateReader is a cache that stands still: an injected fault.
type lateReader struct {
	client.Reader
	objects map[types.NamespacedName]*trainer.TrainJob
}

func (r *lateReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	job, ok := object.(*trainer.TrainJob)
	if !ok {
		return fmt.Errorf("%T is not held", object)
	}
	if held, ok := r.objects[key]; ok {
		held.DeepCopyInto(job)
		return nil
	}
	return r.Reader.Get(ctx, key, object)
}

// freeze makes the reader show the object as it is now, whatever happens.
func (r *lateReader) freeze(ctx context.Context, key types.NamespacedName) {
	GinkgoHelper()
	var job trainer.TrainJob
	Expect(r.Reader.Get(ctx, key, &job)).To(Succeed())
	r.objects[key] = &job
}

// at is a report of some second, 7 ns into it.
func at(seconds int, progress int32, metrics ...report.Metric) report.Report {
	sent := time.Date(2026, 6, 12, 3, 0, seconds, 7, time.UTC)
	return report.Report{
		ProgressPercentage: &progress, Metrics: metrics, SentTime: sent, LastUpdatedTime: sent.Truncate(time.Second),
	}
}

var _ = Describe("Writing a report", func() {
	var (
		reader *lateReader
		target *statuswriter.Cluster
		set    *trainingpods.Set
		job    report.JobKey
		n      int
	)

	BeforeEach(func(ctx SpecContext) {
		n++ // every spec has a job of its own
		var err error
		set, err = kit.Create(ctx, fmt.Sprintf("writer-%d", n), 0)
		Expect(err).NotTo(HaveOccurred())
		job = report.JobKey{Namespace: kit.Namespace, Name: set.TrainJob.Name}
		reader = &lateReader{Reader: apiServer, objects: map[types.NamespacedName]*trainer.TrainJob{}}
		target, err = statuswriter.NewCluster(reader, cluster.Config, nil)
		Expect(err).NotTo(HaveOccurred())
	})

	store := func(ctx context.Context, rep report.Report) error {
		GinkgoHelper()
		kept, err := target.Load(ctx, job)
		Expect(err).NotTo(HaveOccurred())
		return target.Store(ctx, job, kept, rep)
	}

	It("keeps the order of two reports of a second", func(ctx SpecContext) {
		newer := at(0, 100)
		newer.SentTime = newer.SentTime.Add(time.Nanosecond)
		Expect(store(ctx, newer)).To(Succeed())
		other, err := statuswriter.NewCluster(apiServer, cluster.Config, nil)
		Expect(err).NotTo(HaveOccurred())
		kept, err := other.Load(ctx, job)
		Expect(err).NotTo(HaveOccurred())
		Expect(kept.Report.Equal(newer)).To(BeTrue())
		Expect(kept.Newer(report.Sender{}, at(0, 100), time.Now())).To(BeTrue())
	})

	It("replaces the one before and clears what it leaves out", func(ctx SpecContext) {
		first := at(0, 40, report.Metric{Name: "a", Value: "1"}, report.Metric{Name: "a", Value: "2"})
		first.EstimatedRemainingSeconds = new(int32(7))
		Expect(store(ctx, first)).To(Succeed())
		kept, err := target.Load(ctx, job)
		Expect(err).NotTo(HaveOccurred())
		Expect(kept.Report.Equal(first)).To(BeTrue())

		second := report.Report{LastUpdatedTime: first.LastUpdatedTime.Add(time.Second)}
		Expect(store(ctx, second)).To(Succeed())
		status, err := kit.Status(ctx, job.Name)
		Expect(err).NotTo(HaveOccurred())
		Expect(*status).To(Equal(trainer.TrainerStatus{LastUpdatedTime: metav1.NewTime(second.LastUpdatedTime.Local())}))
	})

	It("owns trainerStatus with its fraction of a second and nothing else, and leaves the fields of others", func(ctx SpecContext) {
		condition := `{"status":{"state":"Running","conditions":[{"type":"Suspended","status":"False","reason":"Resumed","message":"m","lastTransitionTime":"2026-06-12T03:00:00Z"}]}}`
		Expect(apiServer.Status().Patch(ctx, set.TrainJob, client.RawPatch(types.MergePatchType, []byte(condition)), client.FieldOwner("trainer"))).To(Succeed())
		Expect(store(ctx, at(0, 40))).To(Succeed())

		var got trainer.TrainJob
		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(set.TrainJob), &got)).To(Succeed())
		Expect(got.Status.Conditions).To(HaveLen(1))
		Expect(string(got.Status.State)).To(Equal("Running"))
		var owned []string
		for _, entry := range got.ManagedFields {
			if entry.Manager == statuswriter.FieldOwner {
				owned = append(owned, entry.FieldsV1.GetRawString())
				Expect(entry.Subresource).To(Equal("status"))
			}
		}
		Expect(owned).To(ConsistOf(MatchJSON(`{"f:status":{"f:lastUpdatedNanos":{},"f:trainerStatus":{".":{},"f:lastUpdatedTime":{},"f:progressPercentage":{}}}}`)))
	})

	It("fails on a version that is no longer the present one, and then knows the present one though the cache stands still", func(ctx SpecContext) {
		reader.freeze(ctx, types.NamespacedName(job))
		other, err := statuswriter.NewCluster(apiServer, cluster.Config, nil)
		Expect(err).NotTo(HaveOccurred())
		kept, err := other.Load(ctx, job)
		Expect(err).NotTo(HaveOccurred())
		Expect(other.Store(ctx, job, kept, at(9, 90))).To(Succeed())

		Expect(store(ctx, at(5, 50))).To(MatchError(report.ErrConflict))
		now, err := target.Load(ctx, job)
		Expect(err).NotTo(HaveOccurred())
		Expect(now.Report.Equal(at(9, 90))).To(BeTrue(), "the value of the other replica is seen")
		Expect(now.Newer(report.Sender{}, at(5, 50), time.Now())).To(BeTrue())
		Expect(now.WrittenTime).To(BeTemporally("~", time.Now(), 5*time.Second))
	})

	It("sees its own write though the cache stands still", func(ctx SpecContext) {
		reader.freeze(ctx, types.NamespacedName(job))
		Expect(store(ctx, at(1, 10))).To(Succeed())
		Expect(store(ctx, at(2, 20))).To(Succeed())
		status, err := kit.Status(ctx, job.Name)
		Expect(err).NotTo(HaveOccurred())
		Expect(*status.ProgressPercentage).To(BeEquivalentTo(20))
	})

	It("never makes a job that is gone", func(ctx SpecContext) {
		reader.freeze(ctx, types.NamespacedName(job))
		Expect(kit.Delete(ctx, set)).To(Succeed())
		Expect(store(ctx, at(1, 10))).To(MatchError(report.ErrUnknownJob))
		Expect(apierrors.IsNotFound(apiServer.Get(ctx, client.ObjectKeyFromObject(set.TrainJob), &trainer.TrainJob{}))).To(BeTrue())
	})

	It("never reaches a job that was made again under the name", func(ctx SpecContext) {
		reader.freeze(ctx, types.NamespacedName(job))
		Expect(kit.Delete(ctx, set)).To(Succeed())
		again, err := kit.Create(ctx, job.Name, 0)
		Expect(err).NotTo(HaveOccurred())
		Expect(store(ctx, at(1, 10))).To(MatchError(report.ErrUnknownJob))
		status, err := kit.Status(ctx, again.TrainJob.Name)
		Expect(err).NotTo(HaveOccurred())
		Expect(status).To(BeNil())
	})

	It("says that a report cannot be stored which makes the job too large", func(ctx SpecContext) {
		large := set.TrainJob.DeepCopy()
		large.ObjectMeta = metav1.ObjectMeta{Namespace: kit.Namespace, Name: job.Name + "-large"}
		large.Spec.Trainer = &trainer.Trainer{Command: []string{strings.Repeat("x", 1<<20)}, Args: []string{strings.Repeat("y", 500_000)}}
		Expect(apiServer.Create(ctx, large)).To(Succeed())
		job.Name = large.Name
		var metrics []report.Metric
		for range 256 {
			metrics = append(metrics, report.Metric{Name: strings.Repeat("é", 64), Value: strings.Repeat("é", 64)})
		}
		err := store(ctx, at(1, 10, metrics...))
		Expect(err).To(MatchError(report.ErrTooLarge))
		Expect(err.Error()).To(ContainSubstring("larger than the API server can store"))
	})

	It("says what the API server has against a report", func(ctx SpecContext) {
		err := store(ctx, at(1, 101))
		Expect(err).To(BeAssignableToTypeOf(report.Invalid{}))
		Expect(err.Error()).To(ContainSubstring("status.trainerStatus.progressPercentage"))
	})
})
