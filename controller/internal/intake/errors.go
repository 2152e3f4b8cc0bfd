// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportapi"
)

// doorError is a refusal by the door itself.
type doorError struct {
	code       int
	reason     string
	message    string
	retryAfter time.Duration
	allow      string
}

func (e *doorError) Error() string { return e.message }

// The refusals of the door that always say the same.
var (
	errNotFound   = &doorError{code: http.StatusNotFound, reason: "NotFound", message: "Not found"}
	errCompressed = &doorError{code: http.StatusUnsupportedMediaType, reason: "UnsupportedMediaType", message: "Compressed bodies are not accepted"}
)

func errMethod(method string) error {
	if len(method) > maxQuoted || !isPlain(method) {
		method = "This method"
	}
	return &doorError{
		code: http.StatusMethodNotAllowed, reason: "MethodNotAllowed", allow: allowedMethods,
		message: method + " is not supported here; use GET or POST",
	}
}

func errTooLarge(limit int64) error {
	return &doorError{
		code: http.StatusRequestEntityTooLarge, reason: "RequestEntityTooLarge",
		message: fmt.Sprintf("Payload too large: the limit is %d bytes", limit),
	}
}

func errTooMany(message string, wait time.Duration) error {
	return &report.Refusal{Err: report.ErrTooMany, Reason: "limited", Message: message, RetryAfter: max(wait, time.Second)}
}

// answer is an error as it is sent.
type answer struct {
	status       reportapi.Status
	retryAfter   time.Duration
	authenticate string
	allow        string
}

// toAnswer is the one place that turns an error into a status code. An error
// that it does not know is the server's fault, and its text stays in the log.
func toAnswer(err error, job report.JobKey) answer {
	var (
		door    *doorError
		refusal *report.Refusal
		invalid report.Invalid
		tooBig  *http.MaxBytesError
	)
	switch {
	case errors.As(err, &door):
		a := failure(door.code, door.reason, door.message)
		a.retryAfter, a.allow = door.retryAfter, door.allow
		return a
	case errors.As(err, &invalid):
		return toInvalid(invalid, job)
	case errors.As(err, &refusal):
		return toRefusal(refusal, job)
	case errors.As(err, &tooBig):
		return toAnswer(errTooLarge(tooBig.Limit), job)
	}
	return failure(http.StatusInternalServerError, "InternalError", "Internal Server Error")
}

func failure(code int, reason, message string) answer {
	return answer{status: reportapi.Status{
		Metadata: map[string]any{}, Status: reportapi.Failure,
		Message: message, Reason: reason, Code: int32(code), //nolint:gosec // codes of HTTP are small
	}}
}

func toRefusal(r *report.Refusal, job report.JobKey) answer {
	var a answer
	switch {
	case errors.Is(r.Err, report.ErrUnproven):
		a = failure(http.StatusUnauthorized, "Unauthorized", "Unauthorized: "+r.Message)
		a.authenticate = `Bearer realm="trainjobs"`
		if r.Reason != "noToken" {
			a.authenticate += `, error="invalid_token"`
		}
	case errors.Is(r.Err, report.ErrOtherJob):
		a = failure(http.StatusForbidden, "Forbidden", "Forbidden: "+r.Message)
	case errors.Is(r.Err, report.ErrUnknownJob):
		a = failure(http.StatusNotFound, "NotFound", r.Message)
		a.status.Details = jobDetails(job, "trainjobs")
	case errors.Is(r.Err, report.ErrTooMany):
		a = failure(http.StatusTooManyRequests, "TooManyRequests", r.Message)
	case errors.Is(r.Err, report.ErrNotStored), errors.Is(r.Err, report.ErrUnavailable):
		a = failure(http.StatusServiceUnavailable, "ServiceUnavailable", r.Message)
		a.retryAfter = time.Second
	default:
		return failure(http.StatusInternalServerError, "InternalError", "Internal Server Error")
	}
	a.retryAfter = max(a.retryAfter, r.RetryAfter)
	return a
}

// toInvalid words broken rules as the API server does, so that a message reads
// the same whoever found the fault.
func toInvalid(list report.Invalid, job report.JobKey) answer {
	syntax := len(list) == 1 && list[0].Field == ""
	message := fmt.Sprintf("TrainJob.trainer.kubeflow.org %q is invalid: %s", job.Name, list.Error())
	if syntax {
		message = "Invalid payload: " + list[0].Message
	}
	a := failure(http.StatusUnprocessableEntity, "Invalid", message)
	causes := make([]reportapi.StatusCause, 0, len(list))
	for _, f := range list {
		cause := reportapi.StatusCause{Reason: &f.Reason, Message: &f.Message}
		if f.Field != "" {
			cause.Field = &f.Field
		}
		causes = append(causes, cause)
	}
	a.status.Details = jobDetails(job, "TrainJob")
	a.status.Details.Causes = &causes
	return a
}

func jobDetails(job report.JobKey, kind string) *reportapi.StatusDetails {
	return &reportapi.StatusDetails{Name: &job.Name, Group: new("trainer.kubeflow.org"), Kind: &kind}
}

// write sends the error in the form of the Kubernetes API.
func (a answer) write(w http.ResponseWriter) error {
	header := w.Header()
	if a.retryAfter > 0 {
		seconds := int32(math.Ceil(a.retryAfter.Seconds()))
		header.Set("Retry-After", strconv.Itoa(int(seconds)))
		if a.status.Details == nil {
			a.status.Details = &reportapi.StatusDetails{}
		}
		a.status.Details.RetryAfterSeconds = &seconds
	}
	if a.authenticate != "" {
		header.Set("WWW-Authenticate", a.authenticate)
	}
	if a.allow != "" {
		header.Set("Allow", a.allow)
	}
	body, err := json.Marshal(a.status)
	if err != nil {
		return fmt.Errorf("encoding the status: %w", err)
	}
	return writeJSON(w, int(a.status.Code), append(body, '\n'))
}
