// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

const layout = "%-8s %-9s %-9s %-6s %s\n"

// table prints a row for each change of a TrainJob, and none that repeats the one before.
type table struct {
	out  io.Writer
	last string
}

func newTable(out io.Writer) *table {
	fmt.Fprintf(out, layout, "NAME", "STATE", "PROGRESS", "ETA", "METRICS")
	return &table{out: out}
}

func (t *table) add(job *trainer.TrainJob) {
	if job.Status.State == "" {
		return // the controller has not seen it yet
	}
	if row := rowOf(job); row != t.last {
		t.last = row
		fmt.Fprint(t.out, row)
	}
}

func rowOf(job *trainer.TrainJob) string {
	progress, eta := "", ""
	var metrics []string
	if s := job.Status.TrainerStatus; s != nil {
		if s.ProgressPercentage != nil {
			progress = fmt.Sprintf("%d %%", *s.ProgressPercentage)
		}
		if s.EstimatedRemainingSeconds != nil {
			eta = (time.Duration(*s.EstimatedRemainingSeconds) * time.Second).String()
		}
		for _, m := range s.Metrics {
			metrics = append(metrics, printable(m.Name)+"="+printable(m.Value))
		}
	}
	return fmt.Sprintf(layout, job.Name, job.Status.State, progress, eta, strings.Join(metrics, " "))
}

// printable writes out what could act on the terminal: training code chooses names and values.
func printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return text
	}
	return strconv.Quote(text)
}
