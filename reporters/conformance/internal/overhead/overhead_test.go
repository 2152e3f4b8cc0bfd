// SPDX-License-Identifier: Apache-2.0

package overhead_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/overhead"
)

func TestTableComparesWithTheSameLoopInTheSameRun(t *testing.T) {
	sample := func(loop, way, kind string, seconds float64) overhead.Sample {
		return overhead.Sample{Loop: loop, Way: way, Endpoint: kind, Steps: 500, Seconds: seconds}
	}
	run := overhead.Run{Samples: []overhead.Sample{
		sample("plain", "none", "live", 1), sample("plain", "none", "dead", 2),
		sample("plain", "milepost", "live", 1.01), sample("plain", "milepost", "live", 1.03), sample("plain", "milepost", "live", 1.02),
		sample("plain", "milepost", "dead", 2),
		sample("plain", "kubeflow", "live", 1.1), sample("plain", "kubeflow", "dead", 2500),
	}}
	var out strings.Builder
	if err := run.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| own loop, no reporter | 2.00 | – | 4.00 |",
		"| own loop, `milepost.start().report` | 2.04 (2.02 to 2.06), × 1.02 | – | 4.00, × 1.00 |",
		"| own loop, `update_trainjob_status` of the Kubeflow SDK | 2.20, × 1.10 | – | 5000, × 1250 |",
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("there is no line %s in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "Trainer") {
		t.Error("loops that were not measured are in the table")
	}
}

// fakePython trains nothing. It looks at its environment and says what a loop would.
const fakePython = `#!/bin/sh
[ "$1" = -c ] && { echo 3.99; exit; }
[ -s "$KUBEFLOW_TRAINER_SERVER_CA_CERT" ] && [ -s "$KUBEFLOW_TRAINER_SERVER_TOKEN" ] || exit 3
[ -z "$RANK" ] || exit 4
[ "$3" = "$FAILING" ] && exit 5
echo "training"
echo '{"steps": 10, "seconds": 0.5, "versions": {"torch": "9"}}'
`

func TestMeasureWithFakePython(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(python, []byte(fakePython), 0o700); err != nil { //nolint:gosec // it has to run
		t.Fatal(err)
	}
	t.Setenv("RANK", "3")
	options := overhead.Options{Python: python, Script: "overhead.py", Rounds: 2, Seconds: 1, Loops: []string{"plain"}, Out: io.Discard}
	run, err := overhead.Measure(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(run.Samples), 2*4*3; got != want {
		t.Errorf("%d samples, want %d", got, want)
	}
	if run.Samples[0].PerThousand() != 50 || run.Conditions.Versions["torch"] != "9" || run.Conditions.Python != "3.99" {
		t.Errorf("got %+v and %+v", run.Samples[0], run.Conditions)
	}
	t.Setenv("FAILING", "kubeflow")
	if _, err := overhead.Measure(t.Context(), options); err == nil || !strings.Contains(err.Error(), "Kubeflow SDK") {
		t.Errorf("a failed measurement gives %v", err)
	}
}
