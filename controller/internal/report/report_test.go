// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"testing"
	"time"
)

var start = time.Date(2026, 6, 12, 3, 0, 0, 0, time.UTC)

func at(seconds int, progress int32) Report {
	return Report{ProgressPercentage: &progress, LastUpdatedTime: start.Add(time.Duration(seconds) * time.Second)}
}

// sent is a report of the first second, so many milliseconds into it.
func sent(ms int, progress int32) Report {
	r := at(0, progress)
	r.SentTime = start.Add(time.Duration(ms) * time.Millisecond)
	return r
}

func TestEqualIsWhatWouldBeStored(t *testing.T) {
	base := at(0, 1)
	base.Metrics = []Metric{{Name: "a", Value: "1"}}
	change := func(f func(*Report)) Report {
		r := base
		f(&r)
		return r
	}
	cases := map[string]struct {
		other Report
		want  bool
	}{
		"the same":                          {other: change(func(r *Report) { r.ProgressPercentage = new(int32(1)) }), want: true},
		"another fraction of the second":    {other: change(func(r *Report) { r.SentTime = start.Add(time.Millisecond) })},
		"another zone":                      {other: change(func(r *Report) { r.LastUpdatedTime = r.LastUpdatedTime.In(time.FixedZone("", 3600)) }), want: true},
		"no metrics and an empty list":      {other: change(func(r *Report) { r.Metrics = nil })},
		"another progress":                  {other: change(func(r *Report) { r.ProgressPercentage = new(int32(2)) })},
		"progress unknown":                  {other: change(func(r *Report) { r.ProgressPercentage = nil })},
		"time left known":                   {other: change(func(r *Report) { r.EstimatedRemainingSeconds = new(int32(0)) })},
		"another time":                      {other: change(func(r *Report) { r.LastUpdatedTime = start.Add(time.Second) })},
		"another value of a metric":         {other: change(func(r *Report) { r.Metrics = []Metric{{Name: "a", Value: "1.0"}} })},
		"one more metric of the same value": {other: change(func(r *Report) { r.Metrics = append(r.Metrics, r.Metrics...) })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := base.Equal(tc.other); got != tc.want {
				t.Errorf("equal %v, want %v", got, tc.want)
			}
		})
	}
}

func TestWhatIsKeptMayBeNewer(t *testing.T) {
	kept := func(r Report) Kept { return Kept{Report: &r, WrittenTime: start.Add(time.Minute)} }
	cases := map[string]struct {
		kept Kept
		from Sender
		rep  Report
		want bool
	}{
		"nothing is kept":                          {rep: at(0, 1)},
		"an older one is kept":                     {kept: kept(at(1, 1)), rep: at(2, 2)},
		"one of the same second is kept":           {kept: kept(at(1, 1)), rep: at(1, 2)},
		"a newer one is kept":                      {kept: kept(at(2, 1)), rep: at(1, 2), want: true},
		"a final one of the same second is kept":   {kept: kept(at(1, 100)), rep: at(1, 99), want: true},
		"an older one of the same second is kept":  {kept: kept(sent(100, 1)), rep: sent(200, 2)},
		"a newer one of the same second is kept":   {kept: kept(sent(200, 1)), rep: sent(100, 2), want: true},
		"a newer final one of the same second":     {kept: kept(sent(200, 100)), rep: sent(100, 100), want: true},
		"training went on within the second":       {kept: kept(sent(100, 100)), rep: sent(200, 5)},
		"a final one of the same time is kept":     {kept: kept(sent(100, 100)), rep: sent(100, 5), want: true},
		"the fraction of a final one is not known": {kept: kept(at(0, 100)), rep: sent(200, 5), want: true},
		"the fraction of one is not known":         {kept: kept(at(0, 1)), rep: sent(200, 5)},
		"a time that no clock like ours has taken": {kept: kept(at(301, 1)), rep: at(1, 2)},
		"a time that may just have been taken":     {kept: kept(at(300, 1)), rep: at(1, 2), want: true},
		"both are final":                           {kept: kept(at(1, 100)), rep: at(1, 100)},
		"training went on after the final one":     {kept: kept(at(1, 100)), rep: at(2, 5)},
		"the pod is older than what is kept":       {kept: kept(at(2, 1)), from: Sender{PodCreated: start}, rep: at(1, 2), want: true},
		"the pod was made after that was written":  {kept: kept(at(2, 1)), from: Sender{PodCreated: start.Add(time.Hour)}, rep: at(1, 2)},
		"it is not known when that was written":    {kept: Kept{Report: new(at(2, 1))}, from: Sender{PodCreated: start}, rep: at(1, 2), want: true},
		"the caller is no pod and what is kept is": {kept: kept(at(2, 1)), from: Sender{User: "launcher"}, rep: at(1, 2), want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.kept.Newer(tc.from, tc.rep, start); got != tc.want {
				t.Errorf("newer %v, want %v", got, tc.want)
			}
		})
	}
}

func TestRefusalKeepsItsKindAndItsCause(t *testing.T) {
	cause := errors.New("connection refused")
	err := error(&Refusal{Err: ErrUnavailable, Reason: "x", Message: "not now", Cause: cause})
	if !errors.Is(err, ErrUnavailable) || !errors.Is(err, cause) || errors.Is(err, ErrUnproven) {
		t.Errorf("%v has lost its kind or its cause", err)
	}
	if errors.Is(Refuse(ErrUnproven, "x", "no"), cause) {
		t.Error("a refusal without cause has one")
	}
}
