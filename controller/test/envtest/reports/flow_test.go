// SPDX-License-Identifier: Apache-2.0

package reports_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
	"github.com/milepost-dev/milepost/controller/internal/testkit/trainingpods"
)

// trainee is a training pod that reports.
type trainee struct {
	set   *trainingpods.Set
	token string
}

func newTrainee(ctx context.Context, name string) trainee {
	GinkgoHelper()
	set, err := kit.Create(ctx, name, 1)
	Expect(err).NotTo(HaveOccurred())
	token, err := kit.Token(ctx, set.Pods[0], name)
	Expect(err).NotTo(HaveOccurred())
	return trainee{set: set, token: token}
}

// report sends one report and returns the status code.
func (t trainee) report(ctx context.Context, c *http.Client, m *livemanager.Manager, progress, second int) int {
	GinkgoHelper()
	body := fmt.Sprintf(`{"trainerStatus":{"progressPercentage":%d,"lastUpdatedTime":"2026-06-12T03:%02d:%02dZ"}}`, progress, second/60, second%60)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL(kit.Namespace, t.set.TrainJob.Name), strings.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	req.Header.Set("Authorization", "Bearer "+t.token)
	resp, err := c.Do(req)
	Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	Expect(err).NotTo(HaveOccurred())
	return resp.StatusCode
}

func (t trainee) progress(ctx context.Context) int {
	GinkgoHelper()
	status, err := kit.Status(ctx, t.set.TrainJob.Name)
	Expect(err).NotTo(HaveOccurred())
	if status == nil || status.ProgressPercentage == nil {
		return -1
	}
	return int(*status.ProgressPercentage)
}

// known waits until the informers of a manager have seen the pod.
func (t trainee) known(ctx context.Context, c *http.Client, m *livemanager.Manager) {
	GinkgoHelper()
	Eventually(func() int { return t.report(ctx, c, m, 0, 0) }).Should(Equal(http.StatusOK))
}

// value reads one metric, summed over its labels.
func value(ctx context.Context, m *livemanager.Manager, name string) float64 {
	GinkgoHelper()
	page, err := m.Metrics(ctx)
	Expect(err).NotTo(HaveOccurred())
	sum := 0.0
	for _, match := range regexp.MustCompile(`(?m)^`+name+`(?:\{[^}]*\})? ([0-9.e+]+)$`).FindAllStringSubmatch(page, -1) {
		number, err := strconv.ParseFloat(match[1], 64)
		Expect(err).NotTo(HaveOccurred())
		sum += number
	}
	return sum
}

var _ = Describe("Two replicas", Ordered, func() {
	var (
		one, two       *livemanager.Manager
		toOne, toTwo   *http.Client
		pod            trainee
		second         int
		stopped        bool
		reportThrough  func(ctx context.Context, c *http.Client, m *livemanager.Manager, progress, at int)
		expectProgress func(ctx context.Context, want int)
	)

	BeforeAll(func(ctx SpecContext) {
		one, two = startManager(livemanager.Options{}), startManager(livemanager.Options{})
		toOne, toTwo = httpClient(ctx, one), httpClient(ctx, two)
		pod = newTrainee(ctx, "replicas")
		pod.known(ctx, toOne, one)
		pod.known(ctx, toTwo, two)
		reportThrough = func(ctx context.Context, c *http.Client, m *livemanager.Manager, progress, at int) {
			GinkgoHelper()
			Expect(pod.report(ctx, c, m, progress, at)).To(Equal(http.StatusOK))
		}
		expectProgress = func(ctx context.Context, want int) {
			GinkgoHelper()
			Eventually(pod.progress).WithContext(ctx).Should(Equal(want))
		}
	})

	AfterAll(func() {
		if !stopped {
			Expect(one.Stop()).To(Succeed())
		}
		Expect(two.Stop()).To(Succeed())
	})

	It("take reports in turn", func(ctx SpecContext) {
		for i := 1; i <= 20; i++ {
			second = i
			if i%2 == 0 {
				reportThrough(ctx, toOne, one, i, second)
			} else {
				reportThrough(ctx, toTwo, two, i, second)
			}
		}
		expectProgress(ctx, 20)
	})

	It("do not overwrite a newer report of the other with an older one", func(ctx SpecContext) {
		reportThrough(ctx, toOne, one, 60, second+10)
		expectProgress(ctx, 60)
		reportThrough(ctx, toTwo, two, 50, second+5)
		Consistently(pod.progress).WithContext(ctx).Should(Equal(60))
		reportThrough(ctx, toTwo, two, 70, second+11)
		expectProgress(ctx, 70)
		second += 11
	})

	It("store the newest of what both take at once", func(ctx SpecContext) {
		var wg sync.WaitGroup
		for i := 1; i <= 30; i++ {
			at, client, manager := second+i, toOne, one
			if i%3 == 0 {
				client, manager = toTwo, two
			}
			wg.Go(func() {
				defer GinkgoRecover()
				reportThrough(ctx, client, manager, i, at)
			})
		}
		wg.Wait()
		expectProgress(ctx, 30)
		second += 30
	})

	It("lose nothing when one stops and the other goes on", func(ctx SpecContext) {
		reportThrough(ctx, toOne, one, 98, second+1)
		Expect(one.Stop()).To(Succeed())
		stopped = true
		expectProgress(ctx, 98)
		reportThrough(ctx, toTwo, two, 100, second+2)
		Expect(pod.progress(ctx)).To(Equal(100), "a final report is stored when it is answered")
	})
})

var _ = Describe("One replica", func() {
	It("stores all that it accepted before it ends, though its budget is spent", func(ctx SpecContext) {
		m := startManager(livemanager.Options{QPS: 2, Burst: 1})
		c := httpClient(ctx, m)
		var pods []trainee
		for i := range 30 {
			pods = append(pods, newTrainee(ctx, fmt.Sprintf("flush-%d", i)))
		}
		for i, pod := range pods {
			pod.known(ctx, c, m)
			Expect(pod.report(ctx, c, m, 50+i, 1)).To(Equal(http.StatusOK))
		}
		Expect(value(ctx, m, "milepost_reports_waiting_jobs")).To(BeNumerically(">", 5), "the budget must be spent for this to prove anything")
		begun := time.Now()
		Expect(m.Stop()).To(Succeed())
		Expect(time.Since(begun)).To(BeNumerically("<", 20*time.Second))
		for i, pod := range pods {
			Expect(pod.progress(ctx)).To(Equal(50 + i))
		}
	})

	It("answers a final report only when it is stored, however busy it is", func(ctx SpecContext) {
		m := startManager(livemanager.Options{QPS: 5, Burst: 1})
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		c := httpClient(ctx, m)
		var pods []trainee
		for i := range 20 {
			pods = append(pods, newTrainee(ctx, fmt.Sprintf("final-%d", i)))
			pods[i].known(ctx, c, m)
		}
		for i := range pods {
			Expect(pods[i].report(ctx, c, m, 50, 1)).To(Equal(http.StatusOK))
		}
		last := pods[len(pods)-1]
		Expect(last.report(ctx, c, m, 100, 2)).To(Equal(http.StatusOK))
		Expect(last.progress(ctx)).To(Equal(100))
	})

	It("reconciles nothing because of a report, and counts what it does", func(ctx SpecContext) {
		m := startManager(livemanager.Options{})
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		c := httpClient(ctx, m)
		pod := newTrainee(ctx, "no-reconcile")
		pod.known(ctx, c, m)
		Eventually(pod.progress).WithContext(ctx).Should(Equal(0))
		reconciles := func() float64 { return value(ctx, m, "controller_runtime_reconcile_total") }
		var settled float64
		Eventually(func() bool { before := settled; settled = reconciles(); return before == settled && settled > 0 }).
			WithPolling(500 * time.Millisecond).Should(BeTrue())
		written := value(ctx, m, `milepost_reports_writes_total`)
		for i := 1; i <= 10; i++ {
			Expect(pod.report(ctx, c, m, i, i)).To(Equal(http.StatusOK))
		}
		Eventually(pod.progress).WithContext(ctx).Should(Equal(10))
		// Reports that come faster than one a second share writes; each is accepted all the same.
		Expect(value(ctx, m, `milepost_reports_writes_total`) - written).To(And(BeNumerically(">=", 1), BeNumerically("<=", 10)))
		Consistently(reconciles).Should(Equal(settled))
		Expect(value(ctx, m, "milepost_reports_accepted_total")).To(BeNumerically(">=", 10))
		Expect(value(ctx, m, "milepost_reports_oldest_waiting_seconds")).To(BeZero())
	})
})
