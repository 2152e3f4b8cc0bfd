// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/milepost-dev/milepost/controller/internal/reportapi"
)

// handlers answer requests that passed the door.
type handlers struct {
	rules Rules
	store Store
}

var _ reportapi.StrictServerInterface = (*handlers)(nil)

// ReportTrainJobStatus handles
// POST /apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status.
func (h *handlers) ReportTrainJobStatus(ctx context.Context, req reportapi.ReportTrainJobStatusRequestObject) (reportapi.ReportTrainJobStatusResponseObject, error) {
	draft, err := FromAPIUpdate(req.Body)
	if err != nil || draft == nil {
		return accepted{}, err
	}
	rep, notes, err := h.rules.Check(*draft)
	if err != nil {
		return nil, err
	}
	outcome, err := h.store.Submit(ctx, visitOf(ctx).sender, rep)
	return ToAPIUpdate(rep, notes, outcome), err
}

// ReadTrainJobStatus handles
// GET /apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status.
func (h *handlers) ReadTrainJobStatus(ctx context.Context, _ reportapi.ReadTrainJobStatusRequestObject) (reportapi.ReadTrainJobStatusResponseObject, error) {
	newest, err := h.store.Newest(ctx, visitOf(ctx).sender)
	return accepted{report: newest}, err
}

// readBody reads all of a body, which the door has limited.
func readBody(body io.Reader) (string, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	data := (*buf)[:0]
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == nil {
			continue
		}
		*buf = data
		if errors.Is(err, io.EOF) {
			return string(data), nil
		}
		return "", readFault(err)
	}
}

// readFault cuts the connection of a caller that does not send its body: there
// is nobody to answer, or nobody who would wait for it.
func readFault(err error) error {
	if _, tooBig := errors.AsType[*http.MaxBytesError](err); tooBig {
		return err
	}
	if _, slow := errors.AsType[net.Error](err); slow || errors.Is(err, io.ErrUnexpectedEOF) {
		panic(http.ErrAbortHandler)
	}
	return fmt.Errorf("reading the body: %w", err)
}
