// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/milepost-dev/milepost/reporters/go/internal/wire"
)

// Stored is a report as the server holds it.
type Stored struct {
	Percent   *int           // 0 to 100, nil when unknown
	Remaining *time.Duration // nil when unknown
	Metrics   []StoredMetric
	Updated   time.Time // whole seconds, UTC; zero when unknown
}

// StoredMetric is a metric as the server holds it.
type StoredMetric struct{ Name, Value string }

// Stored asks the server for the report that is stored, so that a restarted training can go on from
// it. It waits at most 5 seconds, or until ctx ends, and is false when nothing is stored, nothing
// could be learned, or this reporter does nothing. D27.
func (r *Reporter) Stored(ctx context.Context) (stored Stored, ok bool) {
	if !r.Active() {
		return Stored{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, r.hooks.Limit(attemptLimit))
	defer cancel()
	defer func() {
		if recover() != nil {
			stored, ok = Stored{}, false
		}
	}()
	own := newTransport(r.sender.transport.env) // the worker's is in use
	defer own.close()
	got, err := own.do(ctx, http.MethodGet, nil)
	if err != nil {
		return Stored{}, false
	}
	return storedReport(got)
}

// storedReport reads an answer to GET.
func storedReport(got answer) (Stored, bool) {
	var update wire.TrainJobStatusUpdate
	if outcomeOf(got.status) != taken {
		return Stored{}, false
	}
	if err := json.Unmarshal(got.body, &update); err != nil || update.TrainerStatus == nil {
		return Stored{}, false
	}
	status := *update.TrainerStatus
	var stored Stored
	if status.ProgressPercentage != nil {
		percent := int(*status.ProgressPercentage)
		stored.Percent = &percent
	}
	if status.EstimatedRemainingSeconds != nil {
		remaining := time.Duration(*status.EstimatedRemainingSeconds) * time.Second
		stored.Remaining = &remaining
	}
	for _, m := range status.Metrics {
		stored.Metrics = append(stored.Metrics, StoredMetric(m))
	}
	if status.LastUpdatedTime != nil {
		stored.Updated, _ = time.Parse(time.RFC3339, *status.LastUpdatedTime)
	}
	return stored, true
}
