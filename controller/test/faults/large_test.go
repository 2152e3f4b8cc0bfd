// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// TestTrainJobNearTheSizeLimit reports for a TrainJob that leaves no room for
// metrics: etcd takes no object above 1.5 MiB.
func TestTrainJobNearTheSizeLimit(t *testing.T) {
	s := require(t)
	m := s.manager(t, s.plane.Config, livemanager.Options{})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	s.kit.Change = func(job *trainer.TrainJob) {
		job.Spec.Trainer = &trainer.Trainer{Command: []string{strings.Repeat("x", 1<<20)}, Args: []string{strings.Repeat("y", 500_000)}}
	}
	victim := s.victim(t, "large")
	s.kit.Change = nil
	target := forgeTarget{client: newClients(t, m)(), url: m.URL(namespace, victim.name)}
	target.awaitKnown(t, victim)
	metrics := make([]string, 200)
	for i := range metrics {
		metrics[i] = fmt.Sprintf(`{"name":"%d%s","value":%q}`, i, strings.Repeat("n", 60), strings.Repeat("v", 64))
	}
	body := `{"trainerStatus":{"progressPercentage":100,"metrics":[` + strings.Join(metrics, ",") + `]}}`
	code, header, err := post(t.Context(), target.client, target.url, victim.token, body)
	if code != http.StatusOK || !strings.Contains(header.Get("Warning"), "larger than the API server can store") {
		t.Errorf("answer %d (%v) with Warning %q, want 200 and why there are no metrics", code, err, header.Get("Warning"))
	}
	status, err := s.kit.Status(t.Context(), victim.name)
	if err != nil {
		t.Fatal(err)
	}
	if status == nil || status.ProgressPercentage == nil || *status.ProgressPercentage != 100 || len(status.Metrics) > 0 {
		t.Errorf("stored is %v, want 100 %% without metrics", status)
	}
	f.stop()
	if lost := failed(f.since(0)); len(lost) > 0 {
		t.Errorf("reports of others failed: %s", describe(lost))
	}
	s.note(t, "under %.0f reports/s; the final report is stored without its %d metrics and says so", rate, len(metrics))
}
