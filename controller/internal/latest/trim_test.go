// SPDX-License-Identifier: Apache-2.0

package latest

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

func TestReportWithoutItsMetricsIsTriedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		large := at(0, 1)
		large.Metrics = []report.Metric{{Name: "loss", Value: "1"}}
		submit(t, s, sender("a", "p"), large)
		first := take(t, s)
		s.Trim(first)
		again := take(t, s)
		if diff := cmp.Diff(at(0, 1), again.Report); diff != "" || !again.Trimmed {
			t.Errorf("tried again, trimmed %t (-want +got):\n%s", again.Trimmed, diff)
		}
		if len(first.Report.Metrics) != 1 {
			t.Error("a report that was handed out has changed")
		}
	})
}

func TestNewerReportTakesThePlaceOfOneThatIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow, nothingKept{})
		large, newer := at(0, 1), at(1000, 2)
		large.Metrics = []report.Metric{{Name: "loss", Value: "1"}}
		newer.Metrics = []report.Metric{{Name: "loss", Value: "2"}}
		submit(t, s, sender("a", "p"), large)
		p := take(t, s)
		submit(t, s, sender("a", "p"), newer)
		s.Trim(p)
		again := take(t, s)
		if diff := cmp.Diff(newer, again.Report); diff != "" || again.Trimmed {
			t.Errorf("tried next, trimmed %t (-want +got):\n%s", again.Trimmed, diff)
		}
	})
}
