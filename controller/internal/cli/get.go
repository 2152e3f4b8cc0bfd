// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/localrun"
)

const watchEvery = 500 * time.Millisecond

// getOptions are the flags of `milepost get`.
type getOptions struct {
	place
	name          string
	output        string
	watch         bool
	allNamespaces bool
}

func (p *Program) getCommand() *cobra.Command {
	var o getOptions
	c := &cobra.Command{
		Use:     "get [NAME]",
		Aliases: []string{"list", "ls"},
		Short:   "Show the TrainJobs of local runs",
		Long: `Show the TrainJobs of local runs, those that are under way and those that ended.

PROGRESS and ETA are as last reported. ETA is the time left and is shown while the
run is under way. A run that was killed, or whose machine went down, is Failed.`,
		Example: p.examples("get", "get digits -o yaml", "get digits -o wide --watch"),
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.name = args[0]
			}
			return o.run(c.Context(), c.OutOrStdout(), time.Now)
		},
	}
	o.addFlags(c)
	c.Flags().StringVarP(&o.output, "output", "o", "", "yaml, json, name or wide, which adds the metrics")
	c.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on and print what changes")
	c.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "TrainJobs of all namespaces")
	return c
}

func (o *getOptions) run(ctx context.Context, out io.Writer, now func() time.Time) error {
	printer, err := o.printer()
	if err != nil {
		return err
	}
	jobs, err := o.load()
	if len(jobs) == 0 && err != nil {
		return err
	}
	if printErr := printer.print(out, jobs, now()); printErr != nil {
		return printErr
	}
	if err != nil || !o.watch {
		return err
	}
	return o.follow(ctx, out, printer, jobs, now)
}

// load reads what was asked for. Files that cannot be read are in the error,
// beside those that can.
func (o *getOptions) load() ([]*trainer.TrainJob, error) {
	if o.file != "" || o.name != "" {
		job, err := localrun.Load(o.path(o.name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, o.notFound()
		}
		if err != nil {
			return nil, err
		}
		return []*trainer.TrainJob{job}, nil
	}
	namespace := o.namespace
	if o.allNamespaces {
		namespace = ""
	}
	return localrun.LoadAll(o.folder(), namespace)
}

func (o *getOptions) notFound() error {
	if o.file != "" {
		return fmt.Errorf("there is no file %s", o.file)
	}
	message := fmt.Sprintf("there is no local run %q in namespace %q", o.name, o.namespace)
	var names []string
	jobs, _ := localrun.LoadAll(o.folder(), o.namespace) // only a hint
	for _, job := range jobs {
		names = append(names, job.Name)
	}
	if len(names) > 0 {
		message += "; there are: " + strings.Join(names, ", ")
	}
	return errors.New(message)
}

// follow prints every job again that has changed, until the context ends.
func (o *getOptions) follow(ctx context.Context, out io.Writer, printer *printer, jobs []*trainer.TrainJob, now func() time.Time) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		next, err := o.load()
		if len(next) == 0 && err != nil {
			return err
		}
		if err := printer.print(out, changed(jobs, next), now()); err != nil {
			return err
		}
		jobs = next
	}
}

// changed returns the jobs that are new or not as they were.
func changed(before, after []*trainer.TrainJob) []*trainer.TrainJob {
	return slices.DeleteFunc(slices.Clone(after), func(job *trainer.TrainJob) bool {
		return slices.ContainsFunc(before, func(old *trainer.TrainJob) bool {
			return old.UID == job.UID && same(old, job)
		})
	})
}
