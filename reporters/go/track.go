// SPDX-License-Identifier: Apache-2.0

package milepost

import "iter"

// Track passes items through and reports how many of a total the loop is done with, 0 before the
// first. At the normal end of the loop the training is complete; after a break, a return or a panic
// it is not, and the last report stays. With a total of 0 or less progress is unknown until the
// end. More adds parts, such as metrics, to each report. D28.
//
//	for batch := range milepost.Track(m, slices.Values(batches), int64(len(batches)), nil) {
//		train(batch)
//	}
func Track[T any](m *Reporter, items iter.Seq[T], total int64, more func() []Part) iter.Seq[T] {
	report := func(done int64, more func() []Part) {
		parts := []Part{Step(done, total)}
		if more != nil {
			parts = append(parts, more()...)
		}
		m.Report(parts...)
	}
	return func(yield func(T) bool) {
		report(0, nil)
		done := int64(0)
		for item := range items {
			if !yield(item) {
				return
			}
			done++
			report(done, more)
		}
		m.Complete()
	}
}
