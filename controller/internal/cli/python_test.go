// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// The examples in Python run with the real numpy and requests.
var pythonExamples = filepath.Join("..", "..", "..", "docs", "examples", "python")

// pythonOf returns a Python that has both, $MILEPOST_PYTHON or the one on the path. Without one the test is skipped, in
// CI it fails.
func pythonOf(t *testing.T) string {
	t.Helper()
	python := os.Getenv("MILEPOST_PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import numpy, requests").CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s has no numpy and requests: %v\n%s", python, err, out)
		}
		t.Skipf("%s has no numpy and requests", python)
	}
	return python
}

func TestTheExampleInPythonReportsWithTheCodeOfTheGuide(t *testing.T) {
	python, b := pythonOf(t), newBench(t)
	script := filepath.Join(pythonExamples, "digits", "train.py")
	got := b.run("run", "--", python, script, "--epochs", "8", "--hidden", "64", "--report-interval", "0.05")
	if got.code != 0 || regexp.MustCompile("Failed to update").MatchString(got.stdout) {
		t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	status := b.job("train").Status
	if status.State != trainer.TrainJobStateComplete || *status.TrainerStatus.ProgressPercentage != 100 || *status.TrainerStatus.EstimatedRemainingSeconds != 0 {
		t.Errorf("status = %+v", status)
	}
	if m := status.TrainerStatus.Metrics; len(m) != 2 || m[0].Name != "loss" || !regexp.MustCompile(`^0\.\d{4}$`).MatchString(m[1].Value) {
		t.Errorf("metrics = %+v", m)
	}
}

func TestTheCodeOfTheGuideWorksAsItIs(t *testing.T) {
	python, b := pythonOf(t), newBench(t)
	got := b.run("run", "--", python, filepath.Join(pythonExamples, "raw_http", "guide.py"))
	if got.code != 0 || got.stdout != "" {
		t.Fatalf("exit code %d, stdout %q\n%s", got.code, got.stdout, got.stderr)
	}
	want := &trainer.TrainerStatus{
		ProgressPercentage: new(int32(45)), EstimatedRemainingSeconds: new(int32(120)),
		Metrics: []trainer.Metric{{Name: "loss", Value: "0.15"}, {Name: "accuracy", Value: "0.92"}},
	}
	status := b.job("guide").Status.TrainerStatus
	if diff := cmp.Diff(want, status, cmpopts.IgnoreTypes(metav1.Time{})); diff != "" {
		t.Errorf("trainerStatus (-want +got):\n%s", diff)
	}
	if age := time.Since(status.LastUpdatedTime.Time); age < -time.Second || age > time.Minute {
		t.Errorf("lastUpdatedTime is %v old", age)
	}
}
