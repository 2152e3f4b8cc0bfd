// SPDX-License-Identifier: Apache-2.0

package statuswriter

import (
	"errors"
	"math"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/milepost-dev/milepost/controller/internal/logkeys"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

// conclude acts on the result of a call.
func (w *Writer) conclude(p report.Pending, err error) {
	log := w.cfg.Logger.WithValues(logkeys.TrainJob, klog.KRef(p.Job.Namespace, p.Job.Name))
	invalid, isInvalid := errors.AsType[report.Invalid](err)
	switch {
	case err == nil:
		w.source.Settle(p, report.Stored)
		w.recovered()
	case errors.Is(err, report.ErrUnknownJob):
		w.cfg.Observer.Failed(verdictGone.String())
		w.source.Forget(p.JobUID)
		w.recovered()
	case errors.Is(err, report.ErrConflict):
		w.cfg.Observer.Failed("conflict")
		w.source.Retry(p, backoff(0, maxRetry, p.Attempts-easyConflicts))
		w.recovered()
	case errors.Is(err, report.ErrTooLarge) && len(p.Report.Metrics) > 0:
		w.cfg.Observer.Failed("invalid")
		log.Info("report is stored without its metrics, with which the TrainJob would be too large", "metrics", len(p.Report.Metrics))
		w.source.Trim(p)
		w.recovered()
	case isInvalid:
		w.cfg.Observer.Failed("invalid")
		log.Error(err, "report was refused by the API server")
		w.source.Reject(p, invalid)
		w.recovered()
	default:
		w.cfg.Observer.Failed("fault")
		w.source.Retry(p, backoff(firstRetry, maxRetry, p.Attempts))
		w.failed(log, err)
	}
}

// failed holds all calls back for a while, the longer the more of them fail.
func (w *Writer) failed(log logr.Logger, err error) {
	w.mu.Lock()
	hold := backoff(firstHold, w.cfg.MaxHold, w.faults)
	w.faults++
	first := w.faults == 1
	w.mu.Unlock()
	if refusal, ok := errors.AsType[*report.Refusal](err); ok {
		hold = min(max(hold, refusal.RetryAfter), w.cfg.MaxHold)
	}
	w.budget.Hold(hold)
	if first {
		log.Error(err, "storing reports fails; trying again until it works")
	} else {
		log.V(1).Info("storing a report failed again", "error", err.Error())
	}
}

func (w *Writer) recovered() {
	w.mu.Lock()
	faults := w.faults
	w.faults = 0
	w.mu.Unlock()
	if faults == 0 {
		return
	}
	w.cfg.Logger.Info("storing reports works again", "failedCalls", faults)
	w.budget.Release()
	w.source.Hasten()
}

// backoff doubles a time with each attempt. A start of 0 waits only once the
// attempts are above 0.
func backoff(start, most time.Duration, attempts int) time.Duration {
	if start == 0 {
		if attempts <= 0 {
			return 0
		}
		start = firstRetry
	}
	return time.Duration(min(float64(start)*math.Pow(2, float64(max(attempts, 0))), float64(most)))
}
