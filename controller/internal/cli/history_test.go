// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// historyOf reads a history strictly.
func historyOf(t *testing.T, path string) (progress []int32) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var entry struct {
			AcceptedTime  time.Time             `json:"acceptedTime"`
			TrainerStatus trainer.TrainerStatus `json:"trainerStatus"`
		}
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&entry); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("line %q: %v", line, err)
		}
		if age := time.Since(entry.AcceptedTime); age < 0 || age > time.Minute {
			t.Errorf("accepted %v ago", age)
		}
		if m := entry.TrainerStatus.Metrics; len(m) != 1 || m[0].Name != "loss" || entry.TrainerStatus.LastUpdatedTime.IsZero() {
			t.Errorf("line %q lacks the metric or the time", line)
		}
		progress = append(progress, *entry.TrainerStatus.ProgressPercentage)
	}
	return progress
}

func TestTheHistoryHoldsEveryAcceptedReport(t *testing.T) {
	b := newBench(t)
	path := b.file("history.jsonl")
	const refused = `post:{"trainerStatus":{"progressPercentage":107}}`
	b.run(append([]string{"run", "--history", path, "--"}, training(t, atHalf, refused, "post:{}", atEnd)...)...)
	if got := historyOf(t, path); len(got) != 2 || got[0] != 45 || got[1] != 100 {
		t.Errorf("progress of the reports: %v, want 45 and 100", got)
	}
	b.run(append([]string{"run", "--history", path, "--"}, training(t, atHalf)...)...)
	if got := historyOf(t, path); len(got) != 3 || got[2] != 45 {
		t.Errorf("progress after another run: %v, want 45 behind the others", got)
	}
}

func TestAHistoryThatCannotBeOpenedStopsTheRunBeforeTheCommand(t *testing.T) {
	b := newBench(t)
	got := b.run("run", "--history", b.file("no/such/folder"), "--", "sh", "-c", "echo trained")
	if got.code != 125 || got.stdout != "" || !strings.Contains(got.stderr, "opening the history: ") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("exit code %d, stdout %q, stderr %q; want 125 and one line", got.code, got.stdout, got.stderr)
	}
}
