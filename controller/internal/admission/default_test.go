// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestStamp(t *testing.T) {
	earlier, now := metav1.NewTime(noon.Add(-time.Hour)), metav1.NewTime(noon)
	patch := func(manager, pool string, at *metav1.Time) trainer.RuntimePatch {
		p := builders.MakeTrainJob("", "").PodPatch(manager, "node",
			trainer.PodSpecPatch{NodeSelector: map[string]string{"pool": pool}}).Obj().Spec.RuntimePatches[0]
		p.Time = at
		return p
	}
	tests := map[string]struct {
		before, patches []trainer.RuntimePatch
		want            []*metav1.Time
	}{
		"a new patch gets the time": {
			patches: []trainer.RuntimePatch{patch("a/b", "x", nil)}, want: []*metav1.Time{&now},
		},
		"a new patch keeps the time it brings": {
			patches: []trainer.RuntimePatch{patch("a/b", "x", &earlier)}, want: []*metav1.Time{&earlier},
		},
		"a changed patch gets the time, whatever it brings": {
			before:  []trainer.RuntimePatch{patch("a/b", "x", &earlier), patch("c/d", "x", &earlier)},
			patches: []trainer.RuntimePatch{patch("a/b", "y", &earlier), patch("c/d", "y", nil)},
			want:    []*metav1.Time{&now, &now},
		},
		"an equal patch keeps the time it had, whatever it brings": {
			before:  []trainer.RuntimePatch{patch("a/b", "x", &earlier), patch("c/d", "x", &earlier)},
			patches: []trainer.RuntimePatch{patch("c/d", "x", &now), patch("a/b", "x", nil)},
			want:    []*metav1.Time{&earlier, &earlier},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			stamp(tc.patches, tc.before, now)
			var got []*metav1.Time
			for _, p := range tc.patches {
				got = append(got, p.Time)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("times (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultReadsTheObjectBeforeTheUpdate(t *testing.T) {
	defaulter := &trainJobDefaulter{clock: testingclock.NewFakePassiveClock(noon)}
	job := builders.MakeTrainJob("ns", "job").Patch("a/b", trainer.JobSetTemplatePatch{}).Obj()
	ctx := ctrladmission.NewContextWithRequest(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Update,
		OldObject: runtime.RawExtension{Raw: []byte(`{"spec":{"runtimePatches":[{"manager":"a/b","time":"2020-01-01T00:00:00Z",
			"trainingRuntimeSpec":{"template":{}}}]}}`)},
	}})
	if err := defaulter.Default(ctx, job); err != nil {
		t.Fatal(err)
	}
	if got := job.Spec.RuntimePatches[0].Time; got == nil || got.Year() != 2020 {
		t.Errorf("time = %v, want that of the object before", got)
	}

	broken := ctrladmission.NewContextWithRequest(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Update, OldObject: runtime.RawExtension{Raw: []byte(`{`)},
	}})
	if err := defaulter.Default(broken, job); err == nil {
		t.Error("an object that cannot be read was passed over")
	}
	if err := defaulter.Default(t.Context(), job); err == nil {
		t.Error("a context without a request was passed over")
	}
	if err := defaulter.Default(t.Context(), builders.MakeTrainJob("ns", "job").Obj()); err != nil {
		t.Errorf("without patches there is nothing to look at: %v", err)
	}
}
