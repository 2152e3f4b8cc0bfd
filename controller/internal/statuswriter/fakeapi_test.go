// SPDX-License-Identifier: Apache-2.0

package statuswriter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

const apiJob = "job"

// fakeAPI stands for the API server with one TrainJob. It applies merge patches,
// refuses those of an old version and remembers every version, so that caches can
// be late. That a real one behaves so is shown by the envtest suite.
type fakeAPI struct {
	// call is how long a request takes to arrive, and its answer to come back.
	call time.Duration

	mu       sync.Mutex
	versions []fakeVersion
	gone     bool
}

func (a *fakeAPI) remove() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = true
}

type fakeVersion struct {
	since  time.Time
	object map[string]any
}

func newFakeAPI(call time.Duration) *fakeAPI {
	return &fakeAPI{call: call, versions: []fakeVersion{{since: time.Now(), object: map[string]any{
		"metadata": map[string]any{"name": apiJob, "namespace": "ns", "uid": "uid-" + apiJob, "resourceVersion": "10"},
	}}}}
}

// RoundTrip answers the two calls of the client.
func (a *fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(a.call)
	code, body := a.serve(r)
	time.Sleep(a.call)
	encoded, err := json.Marshal(body)
	return &http.Response{
		StatusCode: code, Body: io.NopCloser(bytes.NewReader(encoded)), Request: r,
		Header: http.Header{"Content-Type": []string{"application/json"}},
	}, err
}

func (a *fakeAPI) serve(r *http.Request) (code int, body any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone {
		return http.StatusNotFound, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Details: &metav1.StatusDetails{Name: apiJob},
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
		}
	}
	newest := a.versions[len(a.versions)-1].object
	if r.Method == http.MethodGet {
		return http.StatusOK, newest
	}
	var patch map[string]any
	if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
		return http.StatusBadRequest, metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonBadRequest, Code: http.StatusBadRequest}
	}
	version := newest["metadata"].(map[string]any)["resourceVersion"].(string)
	if patch["metadata"].(map[string]any)["resourceVersion"] != version {
		return http.StatusConflict, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Code: http.StatusConflict,
		}
	}
	number, err := strconv.Atoi(version)
	if err != nil {
		panic(err)
	}
	patch["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(number + 1)
	next := merge(newest, patch)
	a.versions = append(a.versions, fakeVersion{since: time.Now(), object: next})
	return http.StatusOK, next
}

// merge applies a JSON merge patch and leaves the original as it is.
func merge(object, patch map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, object)
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(out, key)
		case map[string]any:
			below, _ := out[key].(map[string]any)
			out[key] = merge(below, value)
		default:
			out[key] = value
		}
	}
	return out
}

// at returns the TrainJob as it was at a time.
func (a *fakeAPI) at(when time.Time) *trainer.TrainJob {
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.versions[0]
	for _, v := range a.versions {
		if !v.since.After(when) {
			held = v
		}
	}
	encoded, err := json.Marshal(held.object)
	if err != nil {
		panic(err)
	}
	var job trainer.TrainJob
	if err := json.Unmarshal(encoded, &job); err != nil {
		panic(err)
	}
	return &job
}

// stored is the report that is stored now, with the fraction of its second.
func (a *fakeAPI) stored() *report.Report {
	status := a.at(time.Now()).Status
	if status.TrainerStatus == nil {
		return nil
	}
	second := status.TrainerStatus.LastUpdatedTime.UTC()
	return &report.Report{
		ProgressPercentage: status.TrainerStatus.ProgressPercentage, LastUpdatedTime: second,
		SentTime: second.Add(time.Duration(*status.LastUpdatedNanos)),
	}
}

// lateCache is an informer cache that is behind.
type lateCache struct {
	ctrlclient.Reader
	api *fakeAPI
	lag time.Duration
	// empty hides the TrainJob, and earlier shows another life of its name.
	empty   bool
	earlier *trainer.TrainJob
}

// Get returns the TrainJob as it was a while ago.
func (c *lateCache) Get(_ context.Context, key types.NamespacedName, into ctrlclient.Object, _ ...ctrlclient.GetOption) error {
	job, ok := into.(*trainer.TrainJob)
	if !ok {
		return fmt.Errorf("no cache of %T for %s", into, key)
	}
	switch {
	case c.empty:
		return apierrors.NewNotFound(schema.GroupResource{Group: trainer.GroupName, Resource: resource}, key.Name)
	case c.earlier != nil:
		*job = *c.earlier
	default:
		*job = *c.api.at(time.Now().Add(-c.lag))
	}
	return nil
}

// cutTransport is the way of a process to the API server, which ends when the
// process is killed.
type cutTransport struct {
	next http.RoundTripper

	mu   sync.Mutex
	gone bool
}

func (c *cutTransport) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
}

// RoundTrip passes a request on while the process lives.
func (c *cutTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	gone := c.gone
	c.mu.Unlock()
	if gone {
		return nil, errors.New("killed")
	}
	return c.next.RoundTrip(r)
}
