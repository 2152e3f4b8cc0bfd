// SPDX-License-Identifier: Apache-2.0

package servingcert_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/servingcert"
	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
)

const (
	caLifetime    = 100 * time.Hour
	caRenewBefore = 30 * time.Hour
)

var _ = Describe("Two keepers with the rights of the chart", Ordered, func() {
	var (
		clock       *clocktesting.FakeClock
		one, two    *servingcert.Keeper
		first, next string
		stop        []func()
	)

	BeforeAll(func(ctx SpecContext) {
		Expect(admin.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: secretName}})).To(Succeed())
		createWebhooks(ctx)
		clock = clocktesting.NewFakeClock(time.Now())
		one, two = newKeeper(clock), newKeeper(clock)
	})

	AfterAll(func() {
		for _, end := range stop {
			end()
		}
	})

	It("settle on one certificate when both issue the first", func(ctx SpecContext) {
		issued := make(chan error, 2)
		for _, keeper := range []*servingcert.Keeper{one, two} {
			go func() { issued <- keeper.EnsureNow(ctx) }()
		}
		for range 2 {
			Expect(<-issued).To(Succeed())
		}
		Expect(serial(one)).To(Equal(serial(two)))
		first = storedBundle(ctx)
		Expect(authority.ParseCertificates([]byte(first))).To(HaveLen(1))
	}, SpecTimeout(time.Minute))

	It("give the CA to the webhooks and become ready", func(ctx SpecContext) {
		stop = append(stop, start(one), start(two))
		Eventually(func() error { return one.Ready(nil) }).Should(Succeed())
		Eventually(func() error { return two.Ready(nil) }).Should(Succeed())
		Expect(webhookBundles(ctx)).To(HaveEach(first))
	}, SpecTimeout(time.Minute))

	It("put the CA back when somebody takes it out of a webhook", func(ctx SpecContext) {
		configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		Expect(admin.Get(ctx, client.ObjectKey{Name: validator}, configuration)).To(Succeed())
		for i := range configuration.Webhooks {
			configuration.Webhooks[i].ClientConfig.CABundle = nil
		}
		Expect(admin.Update(ctx, configuration)).To(Succeed())
		Eventually(func() []string { return webhookBundles(ctx) }).Should(HaveEach(first))
	}, SpecTimeout(time.Minute))

	It("rotate the CA once, and both serve the successor at once", func(ctx SpecContext) {
		clock.Step(caLifetime - caRenewBefore)
		Eventually(func() int { return len(authority.ParseCertificates([]byte(storedBundle(ctx)))) }).Should(Equal(2))
		next = storedBundle(ctx)
		for _, keeper := range []*servingcert.Keeper{one, two} {
			Eventually(servedBundle(keeper)).Should(Equal(next))
		}
		Eventually(func() []string { return webhookBundles(ctx) }).Should(HaveEach(next))
		Expect(serial(one)).To(Equal(serial(two)))
	}, SpecTimeout(time.Minute))

	It("leave what is fresh alone", func(ctx SpecContext) {
		before := stored(ctx).ResourceVersion
		clock.Step(time.Hour)
		Consistently(func() string { return stored(ctx).ResourceVersion }, time.Second).Should(Equal(before))
	}, SpecTimeout(time.Minute))

	It("fill the Secret again after somebody emptied it", func(ctx SpecContext) {
		secret := stored(ctx)
		secret.Data = nil
		Expect(admin.Update(ctx, secret)).To(Succeed())
		Eventually(func() map[string][]byte { return stored(ctx).Data }).Should(HaveLen(4))
		Eventually(servedBundle(one)).Should(Equal(storedBundle(ctx)))
	}, SpecTimeout(time.Minute))

	It("say plainly that they may not create the Secret, and go on serving", func(ctx SpecContext) {
		Expect(admin.Delete(ctx, stored(ctx))).To(Succeed())
		err := one.EnsureNow(ctx)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "error is %v", err)
		Expect(err).To(MatchError(ContainSubstring(secretName)))
		Expect(one.GetCertificate(nil)).NotTo(BeNil())
	}, SpecTimeout(time.Minute))
})

func newKeeper(clock *clocktesting.FakeClock) *servingcert.Keeper {
	GinkgoHelper()
	keeper, err := servingcert.New(servingcert.Config{
		Secret:            types.NamespacedName{Namespace: namespace, Name: secretName},
		Service:           "kubeflow-trainer-controller-manager",
		ValidatingWebhook: validator,
		MutatingWebhook:   defaulter,
		Manage:            true,
		Lifetimes: servingcert.Lifetimes{
			CA: caLifetime, CARenewBefore: caRenewBefore, Leaf: 20 * time.Hour, LeafRenewBefore: 5 * time.Hour,
		},
		Clock: clock,
	}, restricted)
	Expect(err).NotTo(HaveOccurred())
	return keeper
}

// start runs a keeper until the function it returns is called.
func start(keeper *servingcert.Keeper) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- keeper.Start(ctx) }()
	return func() {
		cancel()
		Eventually(done).Should(Receive(BeNil()))
	}
}

func serial(keeper *servingcert.Keeper) string {
	GinkgoHelper()
	certificate, err := keeper.GetCertificate(nil)
	Expect(err).NotTo(HaveOccurred())
	return certificate.Leaf.SerialNumber.String()
}

func stored(ctx context.Context) *corev1.Secret {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: secretName}, secret)).To(Succeed())
	return secret
}

func storedBundle(ctx context.Context) string {
	GinkgoHelper()
	return string(stored(ctx).Data[servingcert.KeyCACert])
}

func servedBundle(keeper *servingcert.Keeper) func() (string, error) {
	return func() (string, error) {
		bundle, err := keeper.CABundle()
		return string(bundle), err
	}
}

func createWebhooks(ctx context.Context) {
	GinkgoHelper()
	called := admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")}
	// A namespace that does not exist: the webhooks are never called.
	nowhere := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "nowhere"}}
	Expect(admin.Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: validator},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{Name: "one.example.org", ClientConfig: called, NamespaceSelector: nowhere, SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}},
			{Name: "two.example.org", ClientConfig: called, NamespaceSelector: nowhere, SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}},
		},
	})).To(Succeed())
	Expect(admin.Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: defaulter},
		Webhooks: []admissionregistrationv1.MutatingWebhook{
			{Name: "three.example.org", ClientConfig: called, NamespaceSelector: nowhere, SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}},
		},
	})).To(Succeed())
}

// webhookBundles returns the caBundle of every webhook.
func webhookBundles(ctx context.Context) []string {
	GinkgoHelper()
	validating, mutating := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
	Expect(admin.Get(ctx, client.ObjectKey{Name: validator}, validating)).To(Succeed())
	Expect(admin.Get(ctx, client.ObjectKey{Name: defaulter}, mutating)).To(Succeed())
	var bundles []string
	for _, webhook := range validating.Webhooks {
		bundles = append(bundles, string(webhook.ClientConfig.CABundle))
	}
	for _, webhook := range mutating.Webhooks {
		bundles = append(bundles, string(webhook.ClientConfig.CABundle))
	}
	return bundles
}
