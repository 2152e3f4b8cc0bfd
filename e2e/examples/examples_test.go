// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"sigs.k8s.io/yaml"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/e2e/infra/binaries"
	"github.com/milepost-dev/milepost/e2e/pythonenv"
)

const root = "../.."

// Each program is built with the package of its reporter, trains for a few epochs below `milepost
// run`, and has to leave a complete report there with a network that can read.
func TestProgramsTrainAndReport(t *testing.T) {
	cache, err := binaries.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	milepost := filepath.Join(t.TempDir(), "milepost")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", milepost, "github.com/milepost-dev/milepost/controller/cmd/milepost")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building milepost: %v\n%s", err, out)
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	builder := Builder{Root: absolute, Cache: cache, Output: t.Output()}
	for _, language := range Languages() {
		t.Run(language, func(t *testing.T) {
			program, err := builder.Build(t.Context(), language)
			if errors.Is(err, ErrNoTool) {
				skip(t, err)
			}
			if err != nil {
				t.Fatal(err)
			}
			checkProgram(t, milepost, program)
		})
	}
}

func checkProgram(t *testing.T, milepost string, program Program) {
	t.Helper()
	command := program.Command
	if command[0] == "python3" {
		command = append([]string{pythonenv.Interpreter()}, command[1:]...)
		if err := exec.CommandContext(t.Context(), pythonenv.Interpreter(), "-c", "import numpy").Run(); err != nil {
			skip(t, errors.New("the Python package numpy is not installed"))
		}
	}
	jobs := t.TempDir()
	const epochs = 5
	run := exec.CommandContext(t.Context(), milepost,
		append(append([]string{"run", "--plain", "--status-file", filepath.Join(jobs, "perceptron.yaml"), "--"}, command...), strconv.Itoa(epochs))...)
	run.Dir = program.Dir
	run.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if program.Bin != "" {
		run.Env = append(run.Env, "PATH="+program.Bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("the program failed: %v\n%s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(jobs, "perceptron.yaml"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	job := &trainer.TrainJob{}
	if err := yaml.Unmarshal(content, job); err != nil {
		t.Fatal(err)
	}
	status := job.Status.TrainerStatus
	if status == nil || status.ProgressPercentage == nil || *status.ProgressPercentage != 100 ||
		status.EstimatedRemainingSeconds == nil || *status.EstimatedRemainingSeconds != 0 {
		t.Fatalf("last report %+v, want 100 %% and no time left\n%s", status, out)
	}
	metrics := map[string]float64{}
	for _, metric := range status.Metrics {
		if metrics[metric.Name], err = strconv.ParseFloat(metric.Value, 64); err != nil {
			t.Errorf("metric %s: %v", metric.Name, err)
		}
	}
	// Chance reads a tenth and has a loss of 2.3.
	if len(metrics) != 2 || metrics["accuracy"] < 0.9 || metrics["accuracy"] > 1 || metrics["loss"] <= 0 || metrics["loss"] > 0.5 {
		t.Errorf("metrics %v, want an accuracy of 0.9 to 1 and a loss of 0.5 at most\n%s", metrics, out)
	}
}

// skip names what this machine lacks. In CI nothing may be lacking.
func skip(t *testing.T, missing error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%v, and CI=true allows no gaps", missing)
	}
	t.Skip(missing)
}
