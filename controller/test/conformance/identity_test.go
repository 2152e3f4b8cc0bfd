// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/testkit/trainingpods"
)

// identityCase changes who calls, or what they call for.
type identityCase struct {
	source string
	// arrange returns the token to send; the job of the caller is the one asked for.
	arrange   func(t *testing.T, c *caller) string
	code      int
	reason    string
	upstream  string
	onPurpose string
	// eventually says that an informer has to learn of the change first.
	eventually bool
}

const podIsIdentity = "identity is the pod of the present job"

var identityCases = map[string]identityCase{
	"the pod's own token": {source: "design", arrange: func(_ *testing.T, c *caller) string { return c.token }, code: 200, upstream: "200"},
	"a token of another job": {
		source: "design, D3", code: 403, reason: "Forbidden", upstream: "403",
		arrange: func(t *testing.T, c *caller) string {
			return c.mint(t, c.pod, reportlink.Audience(c.kit.Namespace, "other"))
		},
	},
	"a token for the API server": {
		source: "D2", code: 401, reason: "Unauthorized", upstream: "403", onPurpose: honestCode,
		arrange: func(t *testing.T, c *caller) string { return c.mint(t, c.pod) },
	},
	"the right audience among others": {
		source: "hostile 7", code: 200, upstream: "200",
		arrange: func(t *testing.T, c *caller) string {
			return c.mint(t, c.pod, "a", reportlink.Audience(c.kit.Namespace, c.set.TrainJob.Name), "b")
		},
	},
	"the audience in another case": {
		source: "hostile 7", code: 401, reason: "Unauthorized", upstream: "403", onPurpose: honestCode,
		arrange: func(t *testing.T, c *caller) string {
			return c.mint(t, c.pod, strings.ToUpper(reportlink.Audience(c.kit.Namespace, c.set.TrainJob.Name)))
		},
	},
	"the audience with a trailing slash": {
		source: "hostile 7", code: 401, reason: "Unauthorized", upstream: "403", onPurpose: honestCode,
		arrange: func(t *testing.T, c *caller) string {
			return c.mint(t, c.pod, reportlink.Audience(c.kit.Namespace, c.set.TrainJob.Name)+"/")
		},
	},
	"a plain pod of the namespace": {
		source: "design, fault 3", code: 403, reason: "Forbidden", upstream: "200", onPurpose: podIsIdentity,
		arrange: func(t *testing.T, c *caller) string {
			pod := c.kit.Pod(c.set.TrainJob.Name + "-plain")
			c.create(t, pod)
			return c.mintOwn(t, pod)
		},
	},
	"a plain pod with the labels of the job": {
		source: "design, fault 3", code: 403, reason: "Forbidden", upstream: "200", onPurpose: podIsIdentity,
		arrange: func(t *testing.T, c *caller) string {
			pod := c.kit.Pod(c.set.TrainJob.Name + "-labelled")
			pod.Labels = c.pod.Labels
			c.create(t, pod)
			return c.mintOwn(t, pod)
		},
	},
	"a pod of another job of the namespace": {
		source: "design, fault 3", code: 403, reason: "Forbidden", upstream: "200", onPurpose: podIsIdentity,
		arrange: func(t *testing.T, c *caller) string {
			other, err := c.kit.Create(t.Context(), c.set.TrainJob.Name+"-other", 1)
			if err != nil {
				t.Fatal(err)
			}
			return c.mintOwn(t, other.Pods[0])
		},
	},
	"a token that is bound to no pod": {
		source: "design", code: 403, reason: "Forbidden", upstream: "200", onPurpose: podIsIdentity,
		arrange: func(t *testing.T, c *caller) string { return c.mintOwn(t, nil) },
	},
	"a pod that was deleted": {
		source: "design, hostile 11", code: 403, reason: "Forbidden", upstream: "200", onPurpose: podIsIdentity, eventually: true,
		arrange: func(t *testing.T, c *caller) string {
			if err := c.kit.Client.Delete(t.Context(), c.pod, client.GracePeriodSeconds(0)); err != nil {
				t.Fatal(err)
			}
			return c.token
		},
	},
	"a job that was deleted": {
		source: "design, 10", code: 404, reason: "NotFound", upstream: "404", eventually: true,
		arrange: func(t *testing.T, c *caller) string {
			if err := c.kit.Client.Delete(t.Context(), c.set.TrainJob); err != nil {
				t.Fatal(err)
			}
			return c.token
		},
	},
	"a job that was deleted and made again": {
		source: "design, hostile 12", code: 403, reason: "Forbidden", upstream: "200", onPurpose: podIsIdentity, eventually: true,
		arrange: func(t *testing.T, c *caller) string {
			again := c.set.TrainJob.DeepCopy()
			if err := c.kit.Client.Delete(t.Context(), c.set.TrainJob); err != nil {
				t.Fatal(err)
			}
			again.ObjectMeta = metav1.ObjectMeta{Namespace: again.Namespace, Name: again.Name}
			c.create(t, again)
			return c.token
		},
	},
	"a service account that was deleted": {
		source: "hostile 13", code: 200, upstream: "200",
		arrange: func(t *testing.T, c *caller) string {
			c.deleteAccount(t)
			t.Cleanup(func() { // for the cases after this one
				if err := c.kit.Prepare(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
			return c.token
		},
	},
	"a service account that was deleted and made again": {
		source: "hostile 13", code: 200, upstream: "200",
		arrange: func(t *testing.T, c *caller) string {
			c.deleteAccount(t)
			if err := c.kit.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			return c.token
		},
	},
	"a pod that is being deleted": {
		source: "hostile 14", code: 200, upstream: "200",
		arrange: func(t *testing.T, c *caller) string {
			c.pod.Finalizers = []string{"conformance.milepost.dev/hold"}
			if err := c.kit.Client.Update(t.Context(), c.pod); err != nil {
				t.Fatal(err)
			}
			if err := c.kit.Client.Delete(t.Context(), c.pod); err != nil {
				t.Fatal(err)
			}
			return c.token
		},
	},
	"a launcher that RBAC lets in": {
		source: "design", code: 200, upstream: "200", eventually: true,
		arrange: func(t *testing.T, c *caller) string {
			name := "launcher-of-" + c.set.TrainJob.Name
			c.create(t, &rbacv1.Role{
				ObjectMeta: metav1.ObjectMeta{Namespace: c.kit.Namespace, Name: name},
				Rules: []rbacv1.PolicyRule{{
					APIGroups: []string{"trainer.kubeflow.org"}, Resources: []string{"trainjobs/status"},
					ResourceNames: []string{c.set.TrainJob.Name}, Verbs: []string{"update"},
				}},
			})
			c.create(t, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: c.kit.Namespace, Name: name},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
				Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: c.kit.Namespace, Name: trainingpods.Account}},
			})
			return c.mintOwn(t, nil)
		},
	},
}

func (c *caller) mint(t *testing.T, pod *corev1.Pod, audiences ...string) string {
	t.Helper()
	token, err := c.kit.TokenFor(t.Context(), pod, audiences...)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// mintOwn returns a token of the pod for the job of the caller.
func (c *caller) mintOwn(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	return c.mint(t, pod, reportlink.Audience(c.kit.Namespace, c.set.TrainJob.Name))
}

// deleteAccount deletes the service account of the pods.
func (c *caller) deleteAccount(t *testing.T) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: c.kit.Namespace, Name: trainingpods.Account}}
	if err := c.kit.Client.Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}
}

func (c *caller) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := c.kit.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func TestIdentity(t *testing.T) {
	i := 0
	for _, name := range sortedNames(identityCases) {
		tc := identityCases[name]
		i++
		job := fmt.Sprintf("identity-%d", i)
		t.Run(name, func(t *testing.T) {
			c := newCaller(t, job)
			token := tc.arrange(t, c)
			before, err := c.kit.Status(t.Context(), job)
			if err != nil && tc.code != http.StatusNotFound {
				t.Fatal(err)
			}
			got := c.askWith(t, token, tc)
			defer func() {
				shared.note(t, row{source: tc.source, name: name, upstream: tc.upstream, ours: fmt.Sprint(got.code), onPurpose: tc.onPurpose})
			}()
			if got.code != tc.code || got.status.Reason != tc.reason {
				t.Fatalf("answer %d %s, want %d %s", got.code, got.body, tc.code, tc.reason)
			}
			if strings.Contains(got.body, token) {
				t.Error("the answer holds the token")
			}
			if tc.code == http.StatusNotFound {
				return
			}
			after, err := c.kit.Status(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			if changed := (before == nil) != (after == nil); changed != (tc.code == http.StatusOK) {
				t.Errorf("status was %v and is %v", before, after)
			}
		})
	}
}

// askWith posts a report, again and again where an informer or the cache of
// rights has to learn of the change first.
func (c *caller) askWith(t *testing.T, token string, tc identityCase) answer {
	t.Helper()
	limit := time.Now().Add(15 * time.Second)
	for {
		method, body := http.MethodPost, `{"trainerStatus":{"progressPercentage":7,`+stamp+`}}`
		if tc.eventually && tc.code != http.StatusOK {
			method, body = http.MethodGet, "" // must not store anything while the change is not known
		}
		got := c.do(method, body, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
		if !tc.eventually || got.code == tc.code || time.Now().After(limit) {
			return got
		}
	}
}
