// SPDX-License-Identifier: Apache-2.0

package localrun

import (
	"path/filepath"
	"strings"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

func TestAHistoryThatTakesNothingMoreIsSaidOnce(t *testing.T) {
	var said []string
	h, err := openHistory(filepath.Join(t.TempDir(), "history"), clocktesting.NewFakeClock(begin), func(text string) { said = append(said, text) })
	if err != nil {
		t.Fatal(err)
	}
	if err := h.close(); err != nil { // as good as a full disk
		t.Fatal(err)
	}
	for range 3 {
		h.add(report.Report{LastUpdatedTime: begin})
	}
	if len(said) != 1 || !strings.Contains(said[0], "the history is not complete: ") {
		t.Errorf("said %q, want one line", said)
	}
}
