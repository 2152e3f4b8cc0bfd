// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/milepost-dev/milepost/controller/internal/logkeys"
	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
)

const (
	allowedMethods = "GET, POST"
	// crowdWait is what callers are told when the server itself is full.
	crowdWait = time.Second
	// busyFraction of the limit on open requests is where namespaces are held to
	// their share.
	busyFraction = 8
)

// door decides who gets to a handler.
type door struct {
	limits   Limits
	identity Identity
	shares   *shares
	conns    *connections
	next     http.Handler
	observer Observer
	log      logr.Logger
	clock    clock.PassiveClock

	inFlight atomic.Int64
	// leaving tells clients to connect anew.
	leaving atomic.Bool
}

// visit is what the door learns of a request.
type visit struct {
	job    report.JobKey
	bearer string
	sender report.Sender
}

type visitKey struct{}

// visitOf returns the visit of a request that passed the door.
func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// steps are the order of the door: what costs least comes first, and nothing of
// the body is read before the last of them.
var steps = []func(*door, *http.Request, *visit) error{
	(*door).route,
	(*door).size,
	(*door).crowd,
	(*door).credential,
	(*door).stranger,
	(*door).identify,
	(*door).seat,
	(*door).share,
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := d.clock.Now()
	rec := &recorder{ResponseWriter: w}
	v := &visit{}
	d.inFlight.Add(1)
	defer func() {
		d.inFlight.Add(-1)
		d.observer.Answered(methodLabel(r.Method), rec.code, d.clock.Since(begun).Seconds())
	}()
	defer func() {
		if fault := recover(); fault != nil {
			d.recovered(r.Context(), rec, v, fault)
		}
	}()
	if d.leaving.Load() {
		w.Header().Set("Connection", "close")
	}
	for _, step := range steps {
		if err := step(d, r, v); err != nil {
			d.refuse(r.Context(), rec, v, err)
			return
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, d.limits.BodyBytes)
	d.next.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
}

// route knows one path. It does not redirect to a cleaner one: clients of this
// API take a redirect for a failure.
func (d *door) route(r *http.Request, v *visit) error {
	job, ok := jobOf(r.URL.Path)
	if !ok || r.URL.RawPath != "" {
		return errNotFound
	}
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		return errMethod(r.Method)
	}
	v.job = job
	return nil
}

// jobOf reads the job out of a path. Names that no object can have are not
// found, which keeps them out of logs and messages.
func jobOf(path string) (report.JobKey, bool) {
	parts := strings.Split(path, "/")
	if len(parts) != pathParts {
		return report.JobKey{}, false
	}
	job := report.JobKey{Namespace: parts[namespacePart], Name: parts[namePart]}
	if reportlink.Path(job.Namespace, job.Name) != path {
		return report.JobKey{}, false
	}
	return job, isName(job.Namespace) && isName(job.Name)
}

// isName tells whether an object may have the name, as far as its characters
// go.
func isName(name string) bool {
	if name == "" || len(name) > maxName || name[0] == '.' || name[0] == '-' {
		return false
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// Parts of /apis/GROUP/VERSION/namespaces/NAMESPACE/trainjobs/NAME/status.
const (
	pathParts     = 9
	namespacePart = 5
	namePart      = 7
	// maxName is the longest name an object can have.
	maxName = 253
)

// size refuses what is too large by its own word, and what would have to be
// inflated to know its size.
func (d *door) size(r *http.Request, _ *visit) error {
	if r.ContentLength > d.limits.BodyBytes {
		return errTooLarge(d.limits.BodyBytes)
	}
	for _, coding := range r.Header["Content-Encoding"] {
		if c := strings.TrimSpace(coding); c != "" && !strings.EqualFold(c, "identity") {
			return errCompressed
		}
	}
	return nil
}

// crowd refuses when the server is full.
func (d *door) crowd(*http.Request, *visit) error {
	if d.inFlight.Load() <= int64(d.limits.InFlight) {
		return nil
	}
	d.observer.Limited("server")
	return errTooMany("the server has too many requests at present", crowdWait)
}

func (d *door) credential(r *http.Request, v *visit) (err error) {
	v.bearer, err = credential(r.Header)
	return err
}

// stranger turns callers away that are not proven and whose address had too many
// proofs fail of late: a proof may cost a question to the API server, of which
// there are not many.
func (d *door) stranger(r *http.Request, _ *visit) error {
	g := guestOf(r.Context())
	if g == nil || g.reporter.Load() != nil {
		return nil
	}
	wait := d.shares.strangers.wait(g.address)
	if wait == 0 {
		return nil
	}
	d.observer.Limited("address")
	return errTooMany("too many callers from this address could not be proven", wait)
}

func (d *door) identify(r *http.Request, v *visit) (err error) {
	v.sender, err = d.identity.Identify(r.Context(), v.bearer, v.job)
	if g := guestOf(r.Context()); g != nil && errors.Is(err, report.ErrUnproven) {
		d.shares.strangers.take(g.address)
	}
	return err
}

// seat counts the connection to its pod.
func (d *door) seat(r *http.Request, v *visit) error {
	g := guestOf(r.Context())
	if g == nil || d.conns.proven(g, v.sender.Reporter()) {
		return nil
	}
	d.observer.Limited(limitPod)
	return errTooMany("this pod has too many requests open", crowdWait)
}

// share refuses a caller that takes more than its part.
func (d *door) share(_ *http.Request, v *visit) error {
	busy := d.inFlight.Load() > int64(d.limits.InFlight/busyFraction)
	limit, err := d.shares.allow(v.sender, busy)
	if err != nil {
		d.observer.Limited(limit)
	}
	return err
}

// refuse answers with an error and counts why.
func (d *door) refuse(ctx context.Context, w http.ResponseWriter, v *visit, err error) {
	var refusal *report.Refusal
	if errors.As(err, &refusal) && !errors.Is(err, report.ErrTooMany) {
		d.observer.Refused(refusal.Reason)
	}
	a := toAnswer(err, v.job)
	log := d.log.WithValues(logkeys.TrainJob, klog.KRef(v.job.Namespace, v.job.Name), "code", a.status.Code)
	switch {
	case ctx.Err() != nil:
		log.V(4).Info("caller left before the answer")
	case a.status.Code == http.StatusInternalServerError:
		log.Error(err, "answering a report fails")
	default:
		log.V(1).Info("report refused", "reason", err.Error())
	}
	if err := a.write(w); err != nil {
		log.V(4).Info("answer cannot be sent", "error", err.Error())
	}
}

// recovered turns a panic into an answer. A connection that is half answered is
// cut, so that nobody takes the half for the whole.
func (d *door) recovered(ctx context.Context, w *recorder, v *visit, fault any) {
	if fault == http.ErrAbortHandler { //nolint:errorlint // recover gives the very value
		panic(fault)
	}
	err := fmt.Errorf("handler panics: %v", fault)
	d.log.Error(err, "answering a report panics", "stack", string(debug.Stack()))
	if w.code != 0 {
		panic(http.ErrAbortHandler)
	}
	d.refuse(ctx, w, v, err)
}

// recorder remembers the status code.
type recorder struct {
	http.ResponseWriter
	code int
}

// WriteHeader passes the code on.
func (r *recorder) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

// Unwrap gives http.ResponseController the writer below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// methodLabel keeps the set of labels small whatever callers send.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost:
		return method
	}
	return "other"
}
