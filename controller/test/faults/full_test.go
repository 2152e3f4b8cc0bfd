// SPDX-License-Identifier: Apache-2.0

//go:build unix

package faults

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/testkit/controlplane"
	"github.com/milepost-dev/milepost/controller/internal/testkit/livemanager"
)

// etcdQuota holds what a site has, and is soon full.
const etcdQuota = 64 << 20

// TestEtcdFull fills etcd until it takes nothing more, and makes room again.
func TestEtcdFull(t *testing.T) {
	s := require(t)
	site := s.aside(t, controlplane.Options{EtcdQuota: etcdQuota})
	m := site.manager(t, site.plane.Config, livemanager.Options{})
	f := launch(t, plan{jobs: site.jobs, client: newClients(t, m), address: m.Address()})
	rate := f.flow(t)
	fillers := site.fill(t)
	during(t, time.Second) // a write under way may still have ended well
	mark := f.mark()
	most := watchWaiting(t, m, scale(5*time.Second, time.Minute))
	gone := f.since(mark)
	if full, err := site.plane.Full(t.Context()); err != nil || !full {
		t.Fatalf("void: etcd is not full (%v)", err)
	}
	site.makeRoom(t, fillers)
	stopWatch := site.watchFinals(t, site.jobs)
	took := site.wantStored(t, scale[time.Duration](3, 1)*storedWithin, ackedReports(site.jobs))
	checkOutage(t, gone)
	if most.jobs > jobCount || most.memory > memoryLimit {
		t.Errorf("%d jobs were waiting, of %d, and the manager took %d MiB", most.jobs, jobCount, most.memory>>20)
	}
	healed := f.mark()
	eventually(t, patience, "finals acknowledged again", func() error {
		if len(finals(accepted(f.since(healed)))) == 0 {
			return errNone
		}
		return nil
	})
	f.stop()
	stopWatch()
	site.wantStored(t, patience, ackedReports(site.jobs))
	s.note(t, "under %.0f reports/s; etcd full at %d MiB; %d reports taken meanwhile, %d finals answered 503, none acknowledged; at most %d jobs waiting, %d MiB; newest of %d jobs stored %s after there was room",
		rate, etcdQuota>>20, len(accepted(gone)), len(finals(gone)), most.jobs, most.memory>>20, jobCount, took.Round(time.Millisecond))
}

// fill creates objects until etcd raises its alarm, and returns them.
func (s *site) fill(t *testing.T) []*corev1.ConfigMap {
	t.Helper()
	const size, enough = 900 << 10, 4 * etcdQuota
	var made []*corev1.ConfigMap
	for sum := 0; sum < enough; sum += size {
		filler := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("filler-%d", len(made))},
			Data:       map[string]string{"x": strings.Repeat("x", size)},
		}
		err := s.api.Create(t.Context(), filler)
		if err == nil {
			made = append(made, filler)
			continue
		}
		if full, alarmErr := s.plane.Full(t.Context()); alarmErr != nil || !full {
			t.Fatalf("filling etcd: %v", errors.Join(err, alarmErr))
		}
		return made
	}
	t.Fatalf("void: etcd takes more than %d MiB", enough>>20)
	return nil
}

// makeRoom deletes objects and has etcd give their space back.
func (s *site) makeRoom(t *testing.T, fillers []*corev1.ConfigMap) {
	t.Helper()
	for _, filler := range fillers {
		if err := s.api.Delete(t.Context(), filler); client.IgnoreNotFound(err) != nil {
			t.Fatalf("deleting: %v", err)
		}
	}
	if err := s.plane.FreeSpace(t.Context()); err != nil {
		t.Fatal(err)
	}
}
