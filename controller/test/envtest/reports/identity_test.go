// SPDX-License-Identifier: Apache-2.0

package reports_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/milepost-dev/milepost/controller/internal/podidentity"
	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/statuswriter"
)

// reportRules are all the rights that the report flow needs.
var reportRules = []rbacv1.PolicyRule{
	{APIGroups: []string{"trainer.kubeflow.org"}, Resources: []string{"trainjobs"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"trainer.kubeflow.org"}, Resources: []string{"trainjobs/status"}, Verbs: []string{"patch"}},
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"jobset.x-k8s.io"}, Resources: []string{"jobsets"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
	{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
}

// keyRule is the right to read issuer and keys. Every service account has it
// unless an administrator took it away.
var keyRule = rbacv1.PolicyRule{
	NonResourceURLs: []string{"/.well-known/openid-configuration", "/openid/v1/jwks"}, Verbs: []string{"get"},
}

// limited returns the configuration of a user with these rights and no other.
func limited(ctx context.Context, name string, rules ...rbacv1.PolicyRule) *rest.Config {
	GinkgoHelper()
	config, err := cluster.ConfigFor(name)
	Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
	}
	Expect(apiServer.Create(ctx, role)).To(Succeed())
	Expect(apiServer.Create(ctx, binding)).To(Succeed())
	return config
}

// parts are the report flow without its door.
type parts struct {
	cache      cache.Cache
	target     *statuswriter.Cluster
	identifier *podidentity.Identifier
}

func newParts(ctx context.Context, config *rest.Config) *parts {
	GinkgoHelper()
	byObject, err := podidentity.CacheOptions()
	Expect(err).NotTo(HaveOccurred())
	p := &parts{}
	p.cache, err = cache.New(config, cache.Options{Scheme: cluster.Scheme, ByObject: byObject})
	Expect(err).NotTo(HaveOccurred())
	Expect(podidentity.Watch(ctx, p.cache)).To(Succeed())
	p.target, err = statuswriter.NewCluster(p.cache, config, nil)
	Expect(err).NotTo(HaveOccurred())
	api, err := podidentity.NewCluster(config, nil)
	Expect(err).NotTo(HaveOccurred())
	p.identifier, err = podidentity.New(podidentity.Config{}, p.cache, p.target, api)
	Expect(err).NotTo(HaveOccurred())
	running, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.cache.Start(running) }()
	DeferCleanup(func() {
		stop()
		Expect(<-ended).To(Succeed())
	})
	Expect(p.cache.WaitForCacheSync(ctx)).To(BeTrue())
	return p
}

var _ = Describe("Identity", func() {
	DescribeTable("works with the least rights",
		func(ctx SpecContext, name string, rules []rbacv1.PolicyRule) {
			pod := newTrainee(ctx, name)
			p := newParts(ctx, limited(ctx, name, rules...))
			job := report.JobKey{Namespace: kit.Namespace, Name: name}
			var from report.Sender
			Eventually(func() (err error) { from, err = p.identifier.Identify(ctx, pod.token, job); return err }).Should(Succeed())
			Expect(from.PodUID).To(Equal(pod.set.Pods[0].UID))
			Expect(from.JobUID).To(Equal(pod.set.TrainJob.UID))
			Expect(from.PodCreated).To(BeTemporally("==", pod.set.Pods[0].CreationTimestamp.Time))

			By("storing with the same rights")
			kept, err := p.target.Load(ctx, job)
			Expect(err).NotTo(HaveOccurred())
			Expect(p.target.Store(ctx, job, kept, at(0, 30))).To(Succeed())

			By("refusing a stranger with the same rights")
			stranger := kit.Pod(name + "-stranger")
			Expect(apiServer.Create(ctx, stranger)).To(Succeed())
			token, err := kit.Token(ctx, stranger, name)
			Expect(err).NotTo(HaveOccurred())
			_, err = p.identifier.Identify(ctx, token, job)
			Expect(err).To(MatchError(report.ErrOtherJob))
		},
		Entry("with the signing keys", "with-keys", append([]rbacv1.PolicyRule{keyRule}, reportRules...)),
		Entry("without the signing keys, by token review", "without-keys", reportRules),
	)

	It("keeps metadata of the pods of JobSets alone, and of that only what it reads", func(ctx SpecContext) {
		p := newParts(ctx, cluster.Config)
		pod := newTrainee(ctx, "frugal")
		plain := kit.Pod("frugal-plain")
		Expect(apiServer.Create(ctx, plain)).To(Succeed())
		read := func(kind schema.GroupVersionKind, name string) (*metav1.PartialObjectMetadata, error) {
			object := &metav1.PartialObjectMetadata{}
			object.SetGroupVersionKind(kind)
			return object, p.cache.Get(ctx, client.ObjectKey{Namespace: kit.Namespace, Name: name}, object)
		}
		podKind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
		jobSetKind := jobsetv1alpha2.SchemeGroupVersion.WithKind("JobSet")
		var held *metav1.PartialObjectMetadata
		Eventually(func() (err error) { held, err = read(podKind, pod.set.Pods[0].Name); return err }).Should(Succeed())
		Expect(held.Labels).To(BeEmpty())
		Expect(held.Annotations).To(BeEmpty())
		Expect(held.ManagedFields).To(BeEmpty())
		Expect(held.OwnerReferences).To(HaveLen(1))
		Eventually(func() error { _, err := read(jobSetKind, "frugal"); return err }).Should(Succeed())
		_, err := read(podKind, plain.Name)
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), fmt.Sprintf("a pod of no JobSet: %v", err))
	})
})
