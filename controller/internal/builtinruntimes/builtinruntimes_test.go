// SPDX-License-Identifier: Apache-2.0

package builtinruntimes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

const torch = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: torch-distributed
  labels: {trainer.kubeflow.org/framework: torch}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template: {spec: {replicatedJobs: []}}
`

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fakeAPI stands for the API server; that a real one takes the runtimes of the chart is shown by the chart's tests.
func fakeAPI(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := trainer.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func runtimeNamed(name string, labels map[string]string) *trainer.ClusterTrainingRuntime {
	return &trainer.ClusterTrainingRuntime{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func start(t *testing.T, api client.Client, files map[string]string) *Installer {
	t.Helper()
	installer, err := New(folder(t, files), api, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	if installer.Ready(nil) == nil {
		t.Error("ready before the start")
	}
	if err := installer.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := installer.Ready(nil); err != nil {
		t.Errorf("not ready after the start: %v", err)
	}
	return installer
}

// frameworks maps the names of the stored runtimes to their framework label.
func frameworks(t *testing.T, api client.Client) map[string]string {
	t.Helper()
	var list trainer.ClusterTrainingRuntimeList
	if err := api.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, item := range list.Items {
		found[item.Name] = item.Labels["trainer.kubeflow.org/framework"]
	}
	return found
}

func TestStartBringsTheRuntimesOfTheFolder(t *testing.T) {
	mine := map[string]string{LabelManagedBy: ManagedBy}
	for situation, tc := range map[string]struct {
		stored []client.Object
		files  map[string]string
		want   map[string]string
	}{
		"a new runtime is made":               {files: map[string]string{"torch.yaml": torch}, want: map[string]string{"torch-distributed": "torch"}},
		"an older form of it is replaced":     {stored: []client.Object{runtimeNamed("torch-distributed", mine)}, files: map[string]string{"torch.yaml": torch}, want: map[string]string{"torch-distributed": "torch"}},
		"one that is built in no more goes":   {stored: []client.Object{runtimeNamed("old", mine)}, files: map[string]string{"torch.yaml": torch}, want: map[string]string{"torch-distributed": "torch"}},
		"an empty folder removes all of ours": {stored: []client.Object{runtimeNamed("old", mine), runtimeNamed("other", nil)}, want: map[string]string{"other": ""}},
		"somebody else's of that name stays":  {stored: []client.Object{runtimeNamed("torch-distributed", map[string]string{"trainer.kubeflow.org/framework": "mine"})}, files: map[string]string{"torch.yaml": torch}, want: map[string]string{"torch-distributed": "mine"}},
		"what is no YAML file is passed over": {files: map[string]string{"torch.yaml": torch, "README": "x"}, want: map[string]string{"torch-distributed": "torch"}},
	} {
		t.Run(situation, func(t *testing.T) {
			api := fakeAPI(t, tc.stored...)
			start(t, api, tc.files)
			if diff := cmp.Diff(tc.want, frameworks(t, api)); diff != "" {
				t.Errorf("runtimes and their frameworks (-want +got):\n%s", diff)
			}
			start(t, api, tc.files) // a second replica changes nothing
			if diff := cmp.Diff(tc.want, frameworks(t, api)); diff != "" {
				t.Errorf("after a second start (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARuntimeIsAppliedAsItStandsInTheFile(t *testing.T) {
	api := fakeAPI(t)
	start(t, api, map[string]string{"torch.yaml": torch})
	stored := &trainer.ClusterTrainingRuntime{}
	if err := api.Get(t.Context(), client.ObjectKey{Name: "torch-distributed"}, stored); err != nil {
		t.Fatal(err)
	}
	if stored.Spec.MLPolicy == nil || stored.Spec.MLPolicy.Torch == nil {
		t.Error("the empty torch policy is lost")
	}
	if stored.Labels[labelValidation] != "disabled" {
		t.Error("the webhook would have to answer before the manager is ready")
	}
}

func TestInjectedFailuresAreTriedAgain(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	failing := true
	api := interceptor.NewClient(fakeAPI(t), interceptor.Funcs{
		List: func(ctx context.Context, api client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if failing {
				return errors.New("injected")
			}
			return api.List(ctx, list, options...)
		},
	})
	installer, err := New(folder(t, map[string]string{"torch.yaml": torch}), api, clock)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- installer.Start(t.Context()) }()
	for !clock.HasWaiters() { // the first attempt has failed when the installer waits
		select {
		case err := <-done:
			t.Fatalf("Start gave up: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	if err := installer.Ready(nil); err == nil || !strings.Contains(err.Error(), "injected") {
		t.Errorf("readiness says %v, want the failure", err)
	}
	failing = false
	clock.Step(retryPeriod)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := installer.Ready(nil); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

func TestABadFolderIsRefusedWithTheFile(t *testing.T) {
	for situation, tc := range map[string]struct {
		text, want string
	}{
		"an unknown field": {text: torch + "status: {}\n", want: "status"},
		"another kind":     {text: strings.Replace(torch, "ClusterTrainingRuntime", "TrainingRuntime", 1), want: "no ClusterTrainingRuntime"},
		"no name":          {text: strings.Replace(torch, "name: torch-distributed", "", 1), want: "with a name"},
		"no YAML":          {text: "{", want: "bad.yaml"},
	} {
		t.Run(situation, func(t *testing.T) {
			_, err := New(folder(t, map[string]string{"bad.yaml": tc.text}), fakeAPI(t), clock.RealClock{})
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "bad.yaml") {
				t.Errorf("error is %v, want one that names the file and contains %q", err, tc.want)
			}
		})
	}
	if _, err := New("no-such-folder", fakeAPI(t), clock.RealClock{}); err == nil {
		t.Error("a folder that is not there is accepted")
	}
}
