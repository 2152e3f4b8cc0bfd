// SPDX-License-Identifier: Apache-2.0

package latest

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

// register is the simple model of one job: what a reader must find in the end.
type register struct {
	newest  *report.Report
	seen    map[string]time.Time
	stored  *report.Report
	changed bool
	// accepted counts reports, taken is the count at the last hand-out.
	accepted, taken int
}

// machine drives a Store and the model side by side. The store is slow, so that
// no submission waits, and reports are not final, so that none must.
type machine struct {
	store  *Store
	jobs   map[string]*register
	writes map[string]report.Pending
}

func (m *machine) submit(t *rapid.T) {
	job := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "job")
	pod := rapid.SampledFrom([]string{"p", "q"}).Draw(t, "pod")
	ms := rapid.IntRange(0, 5000).Draw(t, "ms")
	progress := rapid.Int32Range(0, 99).Draw(t, "progress")
	rep, from := at(ms, progress), sender(job, pod)
	reg := m.job(job)
	want := report.Accepted
	if last, ok := reg.seen[pod]; ok && rep.OrderTime().Before(last) {
		want = report.Superseded
	} else if !reg.changed && reg.stored != nil && reg.stored.Equal(rep) {
		want = report.Stored
	}
	got, err := m.store.Submit(t.Context(), from, rep)
	if err != nil || got != want {
		t.Fatalf("submitting gives %v, %v; want %v", got, err, want)
	}
	if want == report.Accepted {
		reg.newest, reg.changed = &rep, true
		reg.accepted++
		reg.seen[pod] = rep.OrderTime()
	}
}

func (m *machine) take(t *rapid.T) {
	p, ok := m.store.Take()
	if !ok {
		return
	}
	reg := m.job(p.Job.Name)
	if _, twice := m.writes[p.Job.Name]; twice {
		t.Fatalf("job %s is written twice at a time", p.Job.Name)
	}
	if !reg.changed || !reg.newest.Equal(p.Report) {
		t.Fatalf("job %s hands out %+v; the newest is %+v (changed %v)", p.Job.Name, p.Report, reg.newest, reg.changed)
	}
	reg.taken = reg.accepted
	m.writes[p.Job.Name] = p
}

func (m *machine) settle(t *rapid.T) {
	p, ok := m.draw(t)
	if !ok {
		return
	}
	m.store.Settle(p, report.Stored)
	reg := m.job(p.Job.Name)
	reg.stored = &p.Report
	reg.changed = reg.accepted > reg.taken
}

func (m *machine) retry(t *rapid.T) {
	if p, ok := m.draw(t); ok {
		m.store.Retry(p, 0)
	}
}

func (m *machine) forget(t *rapid.T) {
	job := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "job")
	m.store.Forget(types.UID("uid-" + job))
	delete(m.jobs, job)
	delete(m.writes, job)
}

func (m *machine) draw(t *rapid.T) (report.Pending, bool) {
	names := make([]string, 0, len(m.writes))
	for name := range m.writes {
		names = append(names, name)
	}
	if len(names) == 0 {
		return report.Pending{}, false
	}
	slices.Sort(names)
	name := rapid.SampledFrom(names).Draw(t, "write")
	p := m.writes[name]
	delete(m.writes, name)
	return p, true
}

func (m *machine) job(name string) *register {
	if m.jobs[name] == nil {
		m.jobs[name] = &register{seen: map[string]time.Time{}}
	}
	return m.jobs[name]
}

// check holds what must be true at every moment.
func (m *machine) check(t *rapid.T) {
	unsettled := 0
	for name, reg := range m.jobs {
		if reg.changed {
			unsettled++
		}
		got, err := m.store.Newest(t.Context(), sender(name, "p"))
		if err != nil {
			t.Fatal(err)
		}
		if (got == nil) != (reg.newest == nil) || got != nil && !got.Equal(*reg.newest) {
			t.Fatalf("newest of %s is %+v, want %+v", name, got, reg.newest)
		}
	}
	if got := m.store.Len(); got != unsettled {
		t.Fatalf("%d jobs unsettled, want %d", got, unsettled)
	}
}

// drain writes everything and compares what is stored with the model.
func (m *machine) drain(t *rapid.T) {
	for name, p := range m.writes {
		m.store.Retry(p, 0)
		delete(m.writes, name)
	}
	m.store.Hasten() // what only keeps its distance
	for {
		p, ok := m.store.Take()
		if !ok {
			break
		}
		m.store.Settle(p, report.Stored)
		reg := m.job(p.Job.Name)
		reg.stored, reg.changed = &p.Report, false
	}
	for name, reg := range m.jobs {
		if reg.newest != nil && (reg.stored == nil || !reg.stored.Equal(*reg.newest)) {
			t.Fatalf("%s ends with %+v stored, want %+v", name, reg.stored, reg.newest)
		}
	}
}

func TestStoreBehavesLikeARegisterPerJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := New(Config{}, slow, nothingKept{})
		if err != nil {
			t.Fatal(err)
		}
		m := &machine{store: s, jobs: map[string]*register{}, writes: map[string]report.Pending{}}
		t.Repeat(map[string]func(*rapid.T){
			"submit": m.submit, "take": m.take, "settle": m.settle,
			"retry": m.retry, "forget": m.forget, "": m.check,
		})
		m.drain(t)
	})
}
