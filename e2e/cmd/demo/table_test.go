// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"unicode"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

func TestRowsDoNotActOnATerminal(t *testing.T) {
	job := &trainer.TrainJob{Status: trainer.TrainJobStatus{State: trainer.TrainJobStateRunning, TrainerStatus: &trainer.TrainerStatus{
		Metrics: []trainer.Metric{{Name: "\x1b[2J", Value: "a\r\nb"}, {Name: "\u202e", Value: "\u009b"}, {Name: "損失", Value: "0.5"}},
	}}}
	row := strings.TrimSuffix(rowOf(job), "\n")
	if bad := strings.IndexFunc(row, func(r rune) bool { return !unicode.IsPrint(r) }); bad >= 0 {
		t.Errorf("the row %q has %q", row, row[bad:])
	}
	if !strings.Contains(row, "損失=0.5") {
		t.Errorf("the row %q lacks what is harmless", row)
	}
}
