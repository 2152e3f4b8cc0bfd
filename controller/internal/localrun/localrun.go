// SPDX-License-Identifier: Apache-2.0

// Package localrun runs a training command on this machine as a TrainJob.
//
// It owns the life of such a run: the endpoint on the loopback interface, the
// credentials the command finds in its environment, the TrainJob in its file,
// and the order in which all of that comes and goes. It does not own the report
// flow itself, which is the one of the cluster with other ends: a key and a CA
// of the run's own (localidentity, authority) and a file in place of the API
// server (jobfile). Nor does it own the process (command), the terminal (screen)
// or the words and bars (progressview).
package localrun

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/localrun/command"
	"github.com/milepost-dev/milepost/controller/internal/localrun/jobfile"
	"github.com/milepost-dev/milepost/controller/internal/localrun/localidentity"
	"github.com/milepost-dev/milepost/controller/internal/progressview"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

// Config of a run.
type Config struct {
	// Job names the TrainJob.
	Job report.JobKey
	// Path is the file of the TrainJob.
	Path string
	// History is a file that every accepted report is appended to; empty for none.
	History string
	// Argv is the command and its arguments; at least one.
	Argv []string
	// Environ is the environment that the command gets, apart from what leads
	// to the endpoint.
	Environ []string
	// Stdin, Stdout and Stderr are the command's as well.
	Stdin, Stdout, Stderr *os.File
	// Plain asks for plain lines where a bar would be possible.
	Plain bool
	// Follow is a command line that shows the TrainJob, for people to copy.
	Follow string
	// Clock is the source of time; default the real one.
	Clock clock.WithTicker
}

// Validate reports every field that makes no sense.
func (c Config) Validate() error {
	var errs []error
	if c.Job.Name == "" || c.Job.Namespace == "" {
		errs = append(errs, errors.New("a job needs a name and a namespace"))
	}
	if c.Path == "" {
		errs = append(errs, errors.New("the path of the TrainJob is required"))
	}
	if len(c.Argv) == 0 {
		errs = append(errs, errors.New("a command is required"))
	}
	if c.Stdin == nil || c.Stdout == nil || c.Stderr == nil {
		errs = append(errs, errors.New("input, output and error output are required"))
	}
	return errors.Join(errs...)
}

// SetupError says that a run ended before there was a command.
type SetupError struct{ Err error }

// Error returns the text of the cause.
func (e *SetupError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SetupError) Unwrap() error { return e.Err }

// Run runs the command to its end and returns the exit code that stands for it.
// The error wraps a *command.StartError when the command could not be started,
// and a *SetupError when it was not even tried; that wraps jobfile.ErrBusy when
// another run has the name. Any other error says what of the run went wrong
// beside the command, whose code is valid.
func Run(cfg Config) (code int, err error) {
	if err := cfg.Validate(); err != nil {
		return 0, &SetupError{err}
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	lock, err := jobfile.Acquire(cfg.Path)
	if err != nil {
		return 0, &SetupError{err}
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	r, err := newRun(cfg)
	if err != nil {
		return 0, &SetupError{err}
	}
	return r.run()
}

// run is one run from the start of its endpoint to the last line.
type run struct {
	cfg         Config
	record      *record
	endpoint    *endpoint
	credentials *credentials
	view        *view
	history     *history
}

func newRun(cfg Config) (*run, error) {
	r := &run{cfg: cfg, view: newView(cfg.Job.Name, cfg.Stderr, cfg.Environ, cfg.Plain, cfg.Clock)}
	job := newTrainJob(cfg)
	r.record = &record{clock: cfg.Clock, path: cfg.Path, say: r.view.say, job: job, kept: report.Kept{JobUID: job.UID}}
	identity, err := localidentity.New(cfg.Job, job.UID, cfg.Clock)
	if err != nil {
		return nil, err
	}
	if r.history, err = openHistory(cfg.History, cfg.Clock, r.view.say); err != nil {
		return nil, err
	}
	if r.endpoint, err = startEndpoint(cfg.Job, identity, r.record, r.accepted, cfg.Clock); err != nil {
		return nil, errors.Join(err, r.history.close())
	}
	r.credentials, err = newCredentials(r.endpoint.ca, identity, cfg.Clock, func(err error) { r.view.say(err.Error()) })
	if err != nil {
		return nil, errors.Join(err, r.endpoint.stop(), r.history.close())
	}
	return r, nil
}

// accepted is told of every report that was accepted.
func (r *run) accepted(rep report.Report) {
	r.history.add(rep)
	r.view.report(rep)
}

func newTrainJob(cfg Config) *trainer.TrainJob {
	job := &trainer.TrainJob{}
	job.APIVersion, job.Kind = trainer.GroupVersion.String(), trainer.TrainJobKind
	job.Namespace, job.Name, job.UID = cfg.Job.Namespace, cfg.Job.Name, uuid.NewUUID()
	job.CreationTimestamp = metav1.NewTime(cfg.Clock.Now().UTC().Truncate(second))
	job.Spec.RuntimeRef = trainer.RuntimeRef{
		APIGroup: new(trainer.GroupVersion.Group), Kind: new(trainer.ClusterTrainingRuntimeKind), Name: RuntimeName,
	}
	job.Spec.Trainer = &trainer.Trainer{Command: slices.Clone(cfg.Argv), NumNodes: new(int32(1))}
	return job
}

func (r *run) run() (int, error) {
	options := command.Options{
		Argv:  r.cfg.Argv,
		Env:   environment(r.cfg.Environ, r.endpoint.url, r.credentials.caFile(), r.credentials.tokenFile()),
		Stdin: r.cfg.Stdin, Stdout: r.cfg.Stdout, Stderr: r.cfg.Stderr,
		Starting: func() { r.view.say("running TrainJob " + r.cfg.Job.String() + "; follow it with: " + r.cfg.Follow) },
	}
	if s := r.view.screen; s != nil {
		options.Output, options.Size = s, s.CommandSize
		options.Paused, options.Resumed = s.Suspend, s.Resume
	}
	running, err := command.Start(options)
	if err != nil {
		closeErr := r.close()
		if failed := (*command.StartError)(nil); errors.As(err, &failed) {
			return failed.Code, errors.Join(err, closeErr)
		}
		return 0, &SetupError{errors.Join(err, closeErr)}
	}
	defer running.Close()
	if err := r.record.begin(); err != nil {
		r.view.say(err.Error())
	}
	r.view.resized = running.Resize
	r.view.start()

	exit, waitErr := running.Wait()
	if waitErr != nil {
		exit.Code = 1
	}
	closeErr := r.close()
	r.view.close()
	job, finishErr := r.record.finish(exit)
	r.summarise(job)
	return exit.Code, errors.Join(waitErr, closeErr, finishErr)
}

// close ends the report flow; what was accepted is in the file afterwards.
func (r *run) close() error {
	return errors.Join(r.endpoint.stop(), r.credentials.close(), r.history.close())
}

// summarise says in a few lines how the run ended and where to find the rest.
func (r *run) summarise(job *trainer.TrainJob) {
	say := func(text string) { _, _ = fmt.Fprintln(r.cfg.Stderr, speaker+text) } // there is nowhere else to say it
	line := fmt.Sprintf("%s %s after %s", job.Name, job.Status.State, progressview.Duration(r.cfg.Clock.Since(r.view.started)))
	if job.Status.State == trainer.TrainJobStateFailed {
		line += ": " + job.Status.Conditions[0].Message
	}
	say(line)
	if state := r.view.state(); state.Report != nil {
		say("last report: " + progressview.Last(*state.Report))
	} else {
		say("no progress was reported; `milepost run --help` shows how a program does that")
	}
	if refused := r.endpoint.observer.refused(); refused != "" {
		say("reports that were refused: " + refused + "; the answers said why")
	}
	say("TrainJob with its status: " + r.cfg.Path)
}

// refused lists the answers that were errors, such as "3 × 422".
func (c *counter) refused() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var codes []int
	for code := range c.answers {
		if code >= 400 {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	parts := make([]string, len(codes))
	for i, code := range codes {
		parts[i] = strconv.Itoa(c.answers[code]) + " × " + strconv.Itoa(code)
	}
	return strings.Join(parts, ", ")
}
