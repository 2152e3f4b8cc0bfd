// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/milepost-dev/milepost/controller/internal/localrun"
	"github.com/milepost-dev/milepost/controller/internal/localrun/jobfile"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

const runHelp = `Run a command on this machine as a TrainJob.

The command runs in the foreground, with your terminal, and finds in its environment
what it would find in a cluster:

  KUBEFLOW_TRAINER_SERVER_URL      where to POST reports
  KUBEFLOW_TRAINER_SERVER_CA_CERT  file with the CA of that endpoint
  KUBEFLOW_TRAINER_SERVER_TOKEN    file with a bearer token, replaced before it expires

Hugging Face Transformers and the Kubeflow SDK report by themselves. Any other program
sends JSON; every field but the first level is optional:

  {"trainerStatus": {"progressPercentage": 45, "estimatedRemainingSeconds": 120,
                     "metrics": [{"name": "loss", "value": "0.15"}]}}

On a terminal a live bar stands below the output of the command. Elsewhere, and with
--plain, there is one line for each change, at most one a second. NO_COLOR is respected.
A program that takes over the whole terminal, such as a pager, needs --plain.
The TrainJob with its status is kept in a YAML file while the command runs and after.
It holds the newest report; --history keeps all of them.

Ctrl-C and every other signal go to the command alone, as often as you send them: the
run ends when the command ends. The exit code is that of the command, 128 plus the
signal's number when a signal ended it, 127 when it was not found, 126 when it could
not be executed, and 125 when the run itself failed.`

func (p *Program) runCommand() *cobra.Command {
	var (
		where   place
		name    string
		history string
		plain   bool
	)
	c := &cobra.Command{
		Use:     "run [flags] -- COMMAND [ARGUMENTS...]",
		Short:   "Run a command on this machine as a TrainJob",
		Long:    runHelp,
		Example: p.examples("run -- python train.py --epochs 3", "run --name mnist-large -- torchrun train.py", "run --plain -- ./train.sh 2>progress.log"),
		RunE: func(_ *cobra.Command, argv []string) error {
			if len(argv) == 0 {
				return &codedError{code: exitRunFailure, err: fmt.Errorf("no command given: %s run -- COMMAND", p.name())}
			}
			code, err := p.run(&where, name, history, plain, argv)
			if code == 0 && err == nil {
				return nil
			}
			return &codedError{code: code, err: err}
		},
	}
	// Flags behind the command's name are the command's.
	c.Flags().SetInterspersed(false)
	where.addFlags(c)
	c.Flags().StringVar(&name, "name", "", "name of the TrainJob (default made from the command)")
	c.Flags().StringVar(&history, "history", "", "file to append every accepted report to, one line of JSON each")
	c.Flags().BoolVar(&plain, "plain", false, "plain lines in place of the live bar")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &codedError{code: exitRunFailure, err: fmt.Errorf("%w; see '%s run --help'", err, p.name())}
	})
	return c
}

// run runs the command under the name given, or under the first free one made
// from the command.
func (p *Program) run(where *place, name, history string, plain bool, argv []string) (code int, err error) {
	chosen := name != ""
	if !chosen {
		name = nameFor(argv)
	}
	if err := checkNames(where.namespace, name); err != nil {
		return exitRunFailure, err
	}
	for try := 1; ; try++ {
		current := name
		if try > 1 {
			current = withSuffix(name, strconv.Itoa(try))
		}
		code, err := localrun.Run(localrun.Config{
			Job: report.JobKey{Namespace: where.namespace, Name: current}, Path: where.path(current), History: history,
			Argv: argv, Environ: p.Environ, Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Plain: plain,
			Follow: p.invocation() + " get " + current + where.flagsFor() + " --watch",
		})
		switch {
		case !errors.Is(err, jobfile.ErrBusy):
			return exitCode(code, err), err
		case where.file != "":
			return exitRunFailure, fmt.Errorf("another run is writing %s now", where.file)
		case chosen:
			return exitRunFailure, fmt.Errorf("a run named %q is under way; give this one another --name", name)
		}
	}
}

// exitCode keeps the codes of a command apart from the failure of the run.
func exitCode(code int, err error) int {
	if failed := (*localrun.SetupError)(nil); errors.As(err, &failed) {
		return exitRunFailure
	}
	return code
}

func checkNames(namespace, name string) error {
	if problems := validation.IsDNS1035Label(name); len(problems) > 0 {
		return fmt.Errorf("%q cannot be the name of a TrainJob: %s", name, problems[0])
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return fmt.Errorf("%q cannot be a namespace: %s", namespace, problems[0])
	}
	return nil
}
