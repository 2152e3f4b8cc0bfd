// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// TestPodThatTerminates reports with the last token of a pod while the pod ends.
// Kubelet renews no token then, so the last one must do: the API server itself
// would refuse it a minute after the deletion began.
func TestPodThatTerminates(t *testing.T) {
	s := require(t)
	m := s.manager(t, s.plane.Config, livemanager.Options{})
	f := launch(t, plan{jobs: s.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	victim := s.victim(t, "terminating")
	target := forgeTarget{client: newClients(t, m)(), url: m.URL(namespace, victim.name)}
	target.awaitKnown(t, victim)
	victim.pod.Finalizers = []string{"faults.milepost.dev/hold"}
	if err := s.api.Update(t.Context(), victim.pod); err != nil {
		t.Fatal(err)
	}
	if err := s.api.Delete(t.Context(), victim.pod); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	second := scale(100*time.Millisecond, time.Second)
	var passed []string
	for _, seconds := range []time.Duration{0, 30, 59, 75} {
		during(t, time.Until(begun.Add(seconds*second)))
		if code := target.send(t, victim.token); code != http.StatusOK {
			t.Errorf("%s after the deletion began the report is answered %d", seconds*second, code)
		}
		passed = append(passed, (seconds * second).String())
	}
	if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(victim.pod), victim.pod); err != nil || victim.pod.DeletionTimestamp == nil {
		t.Fatalf("void: the pod does not terminate: %v", err)
	}
	victim.pod.Finalizers = slices.Delete(victim.pod.Finalizers, 0, 1)
	if err := s.api.Update(t.Context(), victim.pod); err != nil {
		t.Fatal(err)
	}
	took := eventually(t, 3*storedWithin, "report refused once the pod is gone", func() error {
		if code := target.send(t, victim.token); code != http.StatusForbidden {
			return fmt.Errorf("answer %d", code)
		}
		return nil
	})
	f.stop()
	s.note(t, "under %.0f reports/s; reports taken %s after the deletion began, and refused %s after the end",
		rate, strings.Join(passed, ", "), took.Round(time.Millisecond))
}
