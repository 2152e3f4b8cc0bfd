// SPDX-License-Identifier: Apache-2.0

package latest

import (
	"container/heap"
	"time"
)

// place says where an entry is.
type place int

const (
	// placeNone: nothing to write, or the writer works on it.
	placeNone place = iota
	// placeReady: waits for its turn.
	placeReady
	// placeDelayed: not to be written before a given time, because a write failed
	// or the last one is too recent.
	placeDelayed
)

// queue orders the entries that wait for the writer.
type queue struct {
	ready   readyHeap
	delayed delayedHeap
	counts  [ranks]int
	seq     uint64
}

// push puts an entry behind those of its rank that wait longer.
func (q *queue) push(e *entry, r rank) {
	q.remove(e)
	q.seq++
	e.seq, e.rank, e.place = q.seq, r, placeReady
	q.counts[r]++
	heap.Push(&q.ready, e)
}

// delay keeps an entry back until a given time.
func (q *queue) delay(e *entry, until time.Time) {
	q.remove(e)
	q.seq++
	e.seq, e.notBefore, e.place = q.seq, until, placeDelayed
	heap.Push(&q.delayed, e)
}

// remove takes an entry out, wherever it is.
func (q *queue) remove(e *entry) {
	switch e.place {
	case placeReady:
		heap.Remove(&q.ready, e.index)
		q.counts[e.rank]--
	case placeDelayed:
		heap.Remove(&q.delayed, e.index)
	case placeNone:
	}
	e.place = placeNone
}

// first returns who is next without taking it out; nil when nobody is ready.
func (q *queue) first() *entry {
	if len(q.ready) == 0 {
		return nil
	}
	return q.ready[0]
}

// ahead counts the entries that go before a new one of the rank.
func (q *queue) ahead(r rank) int {
	n := 0
	for i := range r + 1 {
		n += q.counts[i]
	}
	return n
}

type readyHeap []*entry

func (h readyHeap) Len() int { return len(h) }
func (h readyHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	if !a.since.Equal(b.since) {
		return a.since.Before(b.since)
	}
	return a.seq < b.seq
}
func (h readyHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i]; h[i].index, h[j].index = i, j }
func (h *readyHeap) Push(x any)   { e := x.(*entry); e.index = len(*h); *h = append(*h, e) }
func (h *readyHeap) Pop() any     { return popLast((*[]*entry)(h)) }

type delayedHeap []*entry

func (h delayedHeap) Len() int           { return len(h) }
func (h delayedHeap) Less(i, j int) bool { return h[i].notBefore.Before(h[j].notBefore) }
func (h delayedHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].index, h[j].index = i, j }
func (h *delayedHeap) Push(x any)        { e := x.(*entry); e.index = len(*h); *h = append(*h, e) }
func (h *delayedHeap) Pop() any          { return popLast((*[]*entry)(h)) }

func popLast(h *[]*entry) *entry {
	old := *h
	last := len(old) - 1
	e := old[last]
	old[last] = nil
	*h = old[:last]
	return e
}
