// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// TestOnAPIServers needs a server with their CRDs and one with ours. The last part turns the
// former into one with ours.
func TestOnAPIServers(t *testing.T) {
	theirs, ours := startServer(t, upstreamPath(t, theirCRDs)), startServer(t, ourCRDs)
	t.Run("answers", func(t *testing.T) { testAnswers(t, theirs, ours) })
	t.Run("state", func(t *testing.T) { testState(t, ours) })
	t.Run("table", func(t *testing.T) { testTable(t, ours) })
	t.Run("upgrade", func(t *testing.T) { testUpgrade(t, theirs) })
}

// testAnswers sends the same requests to both: what is accepted, what is stored and the words of
// a refusal are the same.
func testAnswers(t *testing.T, theirs, ours server) {
	for name, tc := range apiCases() {
		t.Run(name, func(t *testing.T) { compareAnswers(t, theirs, ours, tc) })
	}
	for _, m := range upstreamManifests(t) {
		t.Run("manifest "+m.Source, func(t *testing.T) {
			compareAnswers(t, theirs, ours, apiCase{create: string(m.JSON)})
		})
	}
}

func compareAnswers(t *testing.T, theirs, ours server, tc apiCase) {
	t.Helper()
	want, got := theirs.run(t, tc), ours.run(t, tc)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-theirs +ours):\n%s", diff)
	}
	if tc.want == "" && got.Error != "" {
		t.Errorf("refused: %s", got.Error)
	}
	if !strings.Contains(got.Error, tc.want) {
		t.Errorf("error = %q, want one that contains %q", got.Error, tc.want)
	}
}

// testState covers the fields that their CRD does not have.
func testState(t *testing.T, ours server) {
	for _, state := range []trainer.TrainJobState{
		trainer.TrainJobStateCreated, trainer.TrainJobStateRunning, trainer.TrainJobStateSuspended,
		trainer.TrainJobStateBlocked, trainer.TrainJobStateComplete, trainer.TrainJobStateFailed,
	} {
		t.Run("the state "+string(state)+" is stored", func(t *testing.T) {
			got := ours.run(t, apiCase{create: job(""), status: "status: {state: " + string(state) + "}"})
			if stored, _, _ := unstructured.NestedString(got.Object, "status", "state"); stored != string(state) {
				t.Errorf("stored state = %q, want %q (%s)", stored, state, got.Error)
			}
		})
	}
	t.Run("a fraction of a second is stored", func(t *testing.T) {
		got := ours.run(t, apiCase{create: job(""), status: "status: {lastUpdatedNanos: 999999999}"})
		if stored, _, _ := unstructured.NestedInt64(got.Object, "status", "lastUpdatedNanos"); stored != 999999999 {
			t.Errorf("stored fraction = %d (%s)", stored, got.Error)
		}
	})
	t.Run("a whole second is no fraction", func(t *testing.T) {
		got := ours.run(t, apiCase{create: job(""), status: "status: {lastUpdatedNanos: 1000000000}"})
		if want := `status.lastUpdatedNanos: Invalid value`; !strings.Contains(got.Error, want) {
			t.Errorf("error = %q, want one that contains %q", got.Error, want)
		}
	})
	t.Run("another word is refused", func(t *testing.T) {
		got := ours.run(t, apiCase{create: job(""), status: "status: {state: Restarting}"})
		if want := `status.state: Unsupported value: "Restarting"`; !strings.Contains(got.Error, want) {
			t.Errorf("error = %q, want one that contains %q", got.Error, want)
		}
	})
}

// testTable lists a job the way kubectl does, before and after its first report.
func testTable(t *testing.T, s server) {
	object := parseObject(t, job(""))
	mustSucceed(t, "creating", s.client.Create(t.Context(), object))
	defer s.remove(t, object)
	want := []any{"sample", nil, nil, nil}
	if diff := cmp.Diff(want, tableRow(t, s)); diff != "" {
		t.Errorf("row of a new job (-want +got):\n%s", diff)
	}
	status := "status: {state: Running, trainerStatus: {progressPercentage: 42, " +
		"estimatedRemainingSeconds: 120, lastUpdatedTime: '2026-01-02T03:04:05Z'}}"
	mustSucceed(t, "setting the status", s.client.Status().Patch(t.Context(), object, mergePatch(t, status)))
	want = []any{"sample", "Running", 42.0, 120.0}
	if diff := cmp.Diff(want, tableRow(t, s)); diff != "" {
		t.Errorf("row of a running job (-want +got):\n%s", diff)
	}
}

// tableRow asks the way kubectl does and returns the cells of the only job, except its age.
func tableRow(t *testing.T, s server) []any {
	t.Helper()
	columns, rows := table(t, s)
	if diff := cmp.Diff([]string{"Name", "State", "Progress", "ETA", "Age"}, columns); diff != "" {
		t.Fatalf("columns (-want +got):\n%s", diff)
	}
	if len(rows) != 1 {
		t.Fatalf("the list has %d rows, want 1", len(rows))
	}
	return rows[0].Cells[:4]
}

func table(t *testing.T, s server) (columns []string, rows []metav1.TableRow) {
	t.Helper()
	discovery, err := discovery.NewDiscoveryClientForConfig(s.config)
	mustSucceed(t, "making a REST client", err)
	data, err := discovery.RESTClient().Get().
		AbsPath("/apis", trainer.GroupVersion.Group, trainer.GroupVersion.Version,
			"namespaces", metav1.NamespaceDefault, "trainjobs").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	mustSucceed(t, "asking for a table", err)
	var got metav1.Table
	mustSucceed(t, "reading the table", json.Unmarshal(data, &got))
	for _, column := range got.ColumnDefinitions {
		columns = append(columns, column.Name)
	}
	return columns, got.Rows
}

// testUpgrade replaces CRDs in place: objects stored under theirs are kept as they are and can
// be changed.
func testUpgrade(t *testing.T, s server) {
	var stored []*unstructured.Unstructured
	for _, m := range upstreamManifests(t) {
		object := parseObject(t, string(m.JSON))
		if err := s.client.Create(t.Context(), object); !apierrors.IsAlreadyExists(err) {
			mustSucceed(t, "creating "+m.Source, err)
			stored = append(stored, object)
		}
	}
	for _, plural := range plurals {
		replaceCRD(t, s, loadCRD(t, ourCRDs, plural))
	}
	eventually(t, "the new columns are served", func() bool {
		columns, _ := table(t, s)
		return len(columns) == 5
	})
	for _, before := range stored {
		after := before.DeepCopy()
		mustSucceed(t, "reading", s.client.Get(t.Context(), client.ObjectKeyFromObject(before), after))
		if diff := cmp.Diff(before.Object, after.Object); diff != "" {
			t.Errorf("%s %s (-before +after):\n%s", before.GetKind(), before.GetName(), diff)
		}
		label := mergePatch(t, "metadata: {labels: {touched: 'yes'}}")
		mustSucceed(t, "changing", s.client.Patch(t.Context(), after, label))
	}
}

func replaceCRD(t *testing.T, s server, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	current := &apiextensionsv1.CustomResourceDefinition{}
	mustSucceed(t, "reading the CRD", s.client.Get(t.Context(), client.ObjectKeyFromObject(crd), current))
	crd.ResourceVersion = current.ResourceVersion
	mustSucceed(t, "replacing the CRD", s.client.Update(t.Context(), crd))
}

// eventually waits for a condition that the server reaches by itself.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waiting until %s: %v", what, ctx.Err())
		}
	}
}
