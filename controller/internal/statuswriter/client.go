// SPDX-License-Identifier: Apache-2.0

package statuswriter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

// FieldOwner is the owner of status.trainerStatus.
const FieldOwner = "trainer-status"

const (
	resource    = "trainjobs"
	subresource = "status"
	// metadataOnly asks the API server to answer a write with metadata alone:
	// a TrainJob may be large, and only its new version is of interest.
	metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"
)

// etcdTooLarge is how the API server passes on that an object is too large. It
// comes with the code of an internal error and without a reason.
const etcdTooLarge = "request is too large"

// client makes the two calls that storing takes. It has no rate limit of its
// own, since the Budget is one.
type client struct {
	rest rest.Interface
}

// newClient returns a client that shares nothing with the manager's, so that
// neither waits for the other's rate limit.
func newClient(config *rest.Config, httpClient *http.Client) (*client, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.RateLimiter = -1, -1, nil
	config.APIPath = "/apis"
	config.GroupVersion = &trainer.GroupVersion
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	// Answers are read here as plain JSON. Only errors are decoded by the client,
	// and without their type it would make "unknown" of whatever they say.
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	var (
		c   rest.Interface
		err error
	)
	if httpClient != nil {
		c, err = rest.RESTClientForConfigAndClient(config, httpClient)
	} else {
		c, err = rest.RESTClientFor(config)
	}
	if err != nil {
		return nil, fmt.Errorf("making the client of the status writer: %w", err)
	}
	return &client{rest: c}, nil
}

// patchBody is a merge patch. Its fields have no omitempty: a null clears what
// the report before had and this one has not.
type patchBody struct {
	Metadata patchMetadata `json:"metadata"`
	Status   patchStatus   `json:"status"`
}

// patchMetadata makes the patch fail when the object is not the one that was
// read. The version alone does that; the UID says which life of the name is
// meant to whoever reads an audit log.
type patchMetadata struct {
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

type patchStatus struct {
	TrainerStatus    patchTrainerStatus `json:"trainerStatus"`
	LastUpdatedNanos *int32             `json:"lastUpdatedNanos"`
}

type patchTrainerStatus struct {
	ProgressPercentage        *int32           `json:"progressPercentage"`
	EstimatedRemainingSeconds *int32           `json:"estimatedRemainingSeconds"`
	Metrics                   []trainer.Metric `json:"metrics"`
	LastUpdatedTime           metav1.Time      `json:"lastUpdatedTime"`
}

func newPatch(kept report.Kept, rep report.Report) ([]byte, error) {
	var metrics []trainer.Metric
	if len(rep.Metrics) > 0 {
		metrics = make([]trainer.Metric, len(rep.Metrics))
		for i, m := range rep.Metrics {
			metrics[i] = trainer.Metric{Name: m.Name, Value: m.Value}
		}
	}
	return json.Marshal(patchBody{
		Metadata: patchMetadata{UID: kept.JobUID, ResourceVersion: kept.Version},
		Status: patchStatus{
			TrainerStatus: patchTrainerStatus{
				ProgressPercentage:        rep.ProgressPercentage,
				EstimatedRemainingSeconds: rep.EstimatedRemainingSeconds,
				Metrics:                   metrics,
				LastUpdatedTime:           metav1.NewTime(rep.LastUpdatedTime),
			},
			LastUpdatedNanos: nanos(rep),
		},
	})
}

// nanos is the fraction that LastUpdatedTime lacks; nil when it is not known.
func nanos(rep report.Report) *int32 {
	if rep.SentTime.IsZero() {
		return nil
	}
	return new(int32(rep.SentTime.Nanosecond())) //nolint:gosec // below 1e9
}

// patch stores the report and returns the new version of the job.
func (c *client) patch(ctx context.Context, job report.JobKey, kept report.Kept, rep report.Report) (string, error) {
	body, err := newPatch(kept, rep)
	if err != nil {
		return "", fmt.Errorf("encoding the report: %w", err)
	}
	raw, err := answer(c.rest.Patch(types.MergePatchType).
		Namespace(job.Namespace).Resource(resource).Name(job.Name).SubResource(subresource).
		Param("fieldManager", FieldOwner).
		SetHeader("Accept", metadataOnly).
		MaxRetries(0).
		Body(body).Do(ctx))
	if err != nil {
		return "", classify(err, job)
	}
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &meta); err != nil {
		return "", fmt.Errorf("reading the answer of the API server: %w", err)
	}
	return meta.ResourceVersion, nil
}

// get reads what is stored past all caches.
func (c *client) get(ctx context.Context, job report.JobKey) (report.Kept, error) {
	raw, err := answer(c.rest.Get().
		Namespace(job.Namespace).Resource(resource).Name(job.Name).
		MaxRetries(0).Do(ctx))
	if err != nil {
		return report.Kept{}, classify(err, job)
	}
	var obj trainer.TrainJob
	if err := json.Unmarshal(raw, &obj); err != nil {
		return report.Kept{}, fmt.Errorf("reading TrainJob %q: %w", job, err)
	}
	return toKept(&obj), nil
}

// answer returns the bytes of an answer. The error of Raw would not hold what the
// API server says.
func answer(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// classify turns an error of the API into what the Writer understands.
func classify(err error, job report.JobKey) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return fmt.Errorf("calling the API server for %q: %w", job, err)
	}
	details := status.Status().Details
	switch {
	case apierrors.IsNotFound(err) && details != nil && details.Name == job.Name:
		// A 404 without the name means that the API itself is missing, as while
		// CRDs are being replaced.
		return report.Refuse(report.ErrUnknownJob, "gone", "Train job not found")
	case apierrors.IsConflict(err):
		return fmt.Errorf("storing the report of %q: %w: %w", job, report.ErrConflict, err)
	case strings.Contains(status.Status().Message, etcdTooLarge), apierrors.IsRequestEntityTooLargeError(err):
		return fmt.Errorf("%w: %w", report.ErrTooLarge, report.Invalid{{
			Field: "trainerStatus.metrics", Reason: string(metav1.CauseTypeTooLong),
			Message: "the TrainJob with this report would be larger than the API server can store",
		}})
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return invalid(status.Status())
	}
	refusal := &report.Refusal{Err: report.ErrUnavailable, Reason: "apiServer", Message: "the API server does not take reports at present", Cause: err}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		refusal.RetryAfter = time.Duration(seconds) * time.Second
	}
	return refusal
}

func invalid(status metav1.Status) report.Invalid {
	if status.Details == nil || len(status.Details.Causes) == 0 {
		return report.Invalid{{Reason: string(status.Reason), Message: status.Message}}
	}
	list := make(report.Invalid, 0, len(status.Details.Causes))
	for _, cause := range status.Details.Causes {
		list = append(list, report.FieldError{Field: cause.Field, Reason: string(cause.Type), Message: cause.Message})
	}
	return list
}
