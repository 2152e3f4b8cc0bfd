// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/duration"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/localrun/jobfile"
	"github.com/milepost-dev/milepost/controller/internal/progressview"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

const (
	unknown   = "-"
	columnGap = 3
)

// printer writes TrainJobs in one form.
type printer struct {
	print func(out io.Writer, jobs []*trainer.TrainJob, now time.Time) error
}

// printer returns the printer for the flag --output.
func (o *getOptions) printer() (*printer, error) {
	single := o.name != "" || o.file != ""
	switch o.output {
	case "", "wide":
		t := &table{wide: o.output == "wide", namespaces: o.allNamespaces, empty: o.nothing()}
		return &printer{print: t.print}, nil
	case "yaml":
		return &printer{print: documents(single, o.watch, "---\n", jobfile.YAML)}, nil
	case "json":
		return &printer{print: documents(single, o.watch, "", jobfile.JSON)}, nil
	case "name":
		return &printer{print: printNames}, nil
	}
	return nil, fmt.Errorf("unknown output %q: choose yaml, json, name or wide", o.output)
}

func (o *getOptions) nothing() string {
	if o.allNamespaces {
		return "no local runs yet"
	}
	return fmt.Sprintf("no local runs in namespace %q yet", o.namespace)
}

// table prints rows as kubectl does: a heading once, then a row for each job.
type table struct {
	wide, namespaces bool
	empty            string
	started          bool
	widths           []int
}

func (t *table) print(out io.Writer, jobs []*trainer.TrainJob, now time.Time) error {
	var rows [][]string
	if !t.started && len(jobs) == 0 {
		t.started = true
		_, err := fmt.Fprintln(out, t.empty)
		return err
	}
	if len(t.widths) == 0 && len(jobs) > 0 {
		rows = append(rows, t.heading())
	}
	t.started = true
	for _, job := range jobs {
		rows = append(rows, t.row(job, now))
	}
	return writeLines(out, t.align(rows))
}

func (t *table) heading() []string {
	cells := []string{"NAME", "STATE", "PROGRESS", "ETA", "AGE"}
	if t.namespaces {
		cells = append([]string{"NAMESPACE"}, cells...)
	}
	if t.wide {
		cells = append(cells, "METRICS")
	}
	return cells
}

func (t *table) row(job *trainer.TrainJob, now time.Time) []string {
	status := job.Status.TrainerStatus
	if status == nil {
		status = &trainer.TrainerStatus{}
	}
	progress, eta := unknown, unknown
	if status.ProgressPercentage != nil {
		progress = progressview.Percent(status.ProgressPercentage)
	}
	if status.EstimatedRemainingSeconds != nil && job.Status.State == trainer.TrainJobStateRunning {
		eta = progressview.Duration(time.Duration(*status.EstimatedRemainingSeconds) * time.Second)
	}
	age := unknown
	if !job.CreationTimestamp.IsZero() {
		age = duration.HumanDuration(now.Sub(job.CreationTimestamp.Time))
	}
	cells := []string{progressview.Text(job.Name), progressview.Text(string(job.Status.State)), progress, eta, age}
	if t.namespaces {
		cells = append([]string{progressview.Text(job.Namespace)}, cells...)
	}
	if t.wide {
		metrics := make([]report.Metric, len(status.Metrics))
		for i, m := range status.Metrics {
			metrics[i] = report.Metric{Name: m.Name, Value: m.Value}
		}
		cells = append(cells, progressview.Metrics(metrics))
	}
	return cells
}

// align pads cells to columns that only ever become wider, so that the rows of a
// watch stay below each other.
func (t *table) align(rows [][]string) []string {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], progressview.Columns(cell))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", t.widths[i]-progressview.Columns(cell)+columnGap))
			}
		}
		lines[n] = strings.TrimRight(line.String(), " ") + "\n"
	}
	return lines
}

// documents prints one object for one job and a list for several. A watch prints
// every job by itself.
func documents(single, watch bool, separator string, encode func(any) ([]byte, error)) func(io.Writer, []*trainer.TrainJob, time.Time) error {
	printed := 0
	return func(out io.Writer, jobs []*trainer.TrainJob, _ time.Time) error {
		var objects []any
		if single || watch {
			for _, job := range jobs {
				objects = append(objects, job)
			}
		} else {
			objects = append(objects, listOf(jobs))
		}
		for _, object := range objects {
			text, err := encode(object)
			if err != nil {
				return err
			}
			if printed > 0 {
				text = append([]byte(separator), text...)
			}
			printed++
			if _, err := out.Write(text); err != nil {
				return err
			}
		}
		return nil
	}
}

func listOf(jobs []*trainer.TrainJob) *trainer.TrainJobList {
	list := &trainer.TrainJobList{Items: []trainer.TrainJob{}}
	list.APIVersion, list.Kind = trainer.GroupVersion.String(), trainer.TrainJobKind+"List"
	for _, job := range jobs {
		list.Items = append(list.Items, *job)
	}
	return list
}

func printNames(out io.Writer, jobs []*trainer.TrainJob, _ time.Time) error {
	lines := make([]string, len(jobs))
	for i, job := range jobs {
		lines[i] = "trainjob.trainer.kubeflow.org/" + progressview.Text(job.Name) + "\n"
	}
	return writeLines(out, lines)
}

// same tells whether two states of a job look the same in every form.
func same(a, b *trainer.TrainJob) bool { return equality.Semantic.DeepEqual(a, b) }
