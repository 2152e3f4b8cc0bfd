// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetv1alpha2ac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/mlpolicy"
	"github.com/milepost-dev/milepost/controller/internal/runtimeref"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestDeadline(t *testing.T) {
	tests := map[string]struct {
		job  *builders.TrainJob
		want time.Time
	}{
		"no limit":                         {job: builders.MakeTrainJob("ns", "job").Created(noon)},
		"from the creation":                {job: builders.MakeTrainJob("ns", "job").Created(noon).Deadline(60), want: noon.Add(time.Minute)},
		"not while suspended":              {job: builders.MakeTrainJob("ns", "job").Created(noon).Deadline(60).Suspend(true)},
		"from the last resume":             {job: builders.MakeTrainJob("ns", "job").Created(noon).Deadline(60).Condition("Suspended", "False", "Resumed", noon.Add(time.Hour)), want: noon.Add(time.Hour + time.Minute)},
		"not after the end":                {job: builders.MakeTrainJob("ns", "job").Created(noon).Deadline(60).Condition("Complete", "True", "X", noon)},
		"a condition that is still True":   {job: builders.MakeTrainJob("ns", "job").Created(noon).Deadline(60).Condition("Suspended", "True", "Suspended", noon.Add(time.Hour)), want: noon.Add(time.Minute)},
		"a very long limit does not wrap":  {job: builders.MakeTrainJob("ns", "job").Created(noon).Deadline(1 << 40), want: noon.Add(maxDeadline)},
		"the longest limit does not wrap":  {job: builders.MakeTrainJob("ns", "job").Created(noon).Deadline(1<<63 - 1), want: noon.Add(maxDeadline)},
		"a limit just below the cap holds": {job: builders.MakeTrainJob("ns", "job").Created(noon).Deadline(86400 * 365 * 9), want: noon.Add(86400 * 365 * 9 * time.Second)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := deadline(tc.job.Obj()); !got.Equal(tc.want) {
				t.Errorf("deadline() = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestEnforceDeadline(t *testing.T) {
	tests := map[string]struct {
		now        time.Time
		wantLeft   time.Duration
		wantFailed bool
	}{
		"time left":             {now: noon.Add(59 * time.Second), wantLeft: time.Second},
		"exactly at the moment": {now: noon.Add(60 * time.Second), wantFailed: true},
		"long after":            {now: noon.Add(time.Hour), wantFailed: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a := &attempt{job: builders.MakeTrainJob("ns", "job").Created(noon).Deadline(60).Generation(4).Obj()}
			if left := enforceDeadline(a, metav1.NewTime(tc.now)); left != tc.wantLeft {
				t.Errorf("left = %v, want %v", left, tc.wantLeft)
			}
			var want []metav1.Condition
			if tc.wantFailed {
				want = []metav1.Condition{{
					Type: "Failed", Status: "True", Reason: "DeadlineExceeded", Message: "TrainJob exceeded its active deadline",
					ObservedGeneration: 4, LastTransitionTime: metav1.NewTime(tc.now),
				}}
			}
			if diff := cmp.Diff(want, a.job.Status.Conditions); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if got := len(a.warnings) == 1; got != tc.wantFailed {
				t.Errorf("warnings = %v", a.warnings)
			}
		})
	}
}

func TestSetSuspended(t *testing.T) {
	later := metav1.NewTime(noon.Add(time.Hour))
	tests := map[string]struct {
		job  *builders.TrainJob
		want []metav1.Condition
	}{
		"never suspended: no condition": {job: builders.MakeTrainJob("ns", "job").Generation(2)},
		"suspended": {
			job:  builders.MakeTrainJob("ns", "job").Generation(2).Suspend(true),
			want: []metav1.Condition{{Type: "Suspended", Status: "True", Reason: "Suspended", Message: "TrainJob is suspended", ObservedGeneration: 2, LastTransitionTime: later}},
		},
		"still suspended: the moment stays": {
			job:  builders.MakeTrainJob("ns", "job").Generation(2).Suspend(true).Condition("Suspended", "True", "Suspended", noon),
			want: []metav1.Condition{{Type: "Suspended", Status: "True", Reason: "Suspended", Message: "TrainJob is suspended", ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(noon)}},
		},
		"resumed": {
			job:  builders.MakeTrainJob("ns", "job").Generation(2).Condition("Suspended", "True", "Suspended", noon),
			want: []metav1.Condition{{Type: "Suspended", Status: "False", Reason: "Resumed", Message: "TrainJob is resumed", ObservedGeneration: 2, LastTransitionTime: later}},
		},
		"still resumed: the deadline counts from the same moment": {
			job:  builders.MakeTrainJob("ns", "job").Generation(3).Condition("Suspended", "False", "Resumed", noon),
			want: []metav1.Condition{{Type: "Suspended", Status: "False", Reason: "Resumed", Message: "TrainJob is resumed", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(noon)}},
		},
		"suspended after the end: nothing left to suspend": {
			job:  builders.MakeTrainJob("ns", "job").Suspend(true).Condition("Complete", "True", "X", noon),
			want: []metav1.Condition{{Type: "Complete", Status: "True", Reason: "X", LastTransitionTime: metav1.NewTime(noon)}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := tc.job.Obj()
			setSuspended(job, later)
			if diff := cmp.Diff(tc.want, job.Status.Conditions); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConclude(t *testing.T) {
	unusable := &runtimeref.UnusableError{Kind: "TrainingRuntime", Name: "r", Reason: "because"}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "jobsets"}, "job", errors.New("changed"))
	wrap := func(err error) error { return errors.Join(errors.New("outer"), err) }
	tests := map[string]struct {
		job         *builders.TrainJob
		jobSet      *builders.JobSet
		outdated    bool
		err         error
		left        time.Duration
		wantState   trainer.TrainJobState
		wantRequeue time.Duration
		wantErr     bool
		wantWarning string
	}{
		"all went well":                         {job: builders.MakeTrainJob("ns", "job"), left: time.Minute, wantState: "Created", wantRequeue: time.Minute},
		"the cache is behind":                   {job: builders.MakeTrainJob("ns", "job"), outdated: true, wantState: "Created", wantRequeue: soon},
		"the namesake is not gone yet":          {job: builders.MakeTrainJob("ns", "job"), err: wrap(runtimeref.ErrPredecessor), wantState: "Created", wantRequeue: soon},
		"somebody wrote in between":             {job: builders.MakeTrainJob("ns", "job"), err: wrap(conflict), wantState: "Created", wantRequeue: soon},
		"a kind that is no runtime":             {job: builders.MakeTrainJob("ns", "job"), err: wrap(&runtimeref.UnsupportedKindError{}), wantState: "Failed", wantWarning: reasonNotSupported},
		"a runtime that cannot be used":         {job: builders.MakeTrainJob("ns", "job"), err: wrap(unusable), wantState: "Failed", wantWarning: reasonNotSupported},
		"an unusable runtime of a running job":  {job: builders.MakeTrainJob("ns", "job").Suspend(true), jobSet: builders.MakeJobSet("ns", "job"), err: unusable, wantState: "Suspended", wantErr: true, wantWarning: reasonCreationFailed},
		"a policy that is not there":            {job: builders.MakeTrainJob("ns", "job"), err: &mlpolicy.UnsupportedError{Feature: "x"}, wantState: "Blocked", wantErr: true, wantWarning: reasonCreationFailed},
		"any other error":                       {job: builders.MakeTrainJob("ns", "job"), err: errors.New("down"), wantState: "Blocked", wantErr: true, wantWarning: reasonCreationFailed},
		"an error beside a running JobSet":      {job: builders.MakeTrainJob("ns", "job").State("Running"), jobSet: builders.MakeJobSet("ns", "job").Counts(jobsetv1alpha2.ReplicatedJobStatus{Name: "node", Ready: 1}), err: errors.New("down"), wantState: "Running", wantErr: true, wantWarning: reasonCreationFailed},
		"an error that keeps it from resuming":  {job: builders.MakeTrainJob("ns", "job"), jobSet: builders.MakeJobSet("ns", "job").Suspend(true), err: errors.New("down"), wantState: "Blocked", wantErr: true, wantWarning: reasonCreationFailed},
		"an error while it stays suspended":     {job: builders.MakeTrainJob("ns", "job").Suspend(true), jobSet: builders.MakeJobSet("ns", "job").Suspend(true), err: errors.New("down"), wantState: "Suspended", wantErr: true, wantWarning: reasonCreationFailed},
		"an error while deleting after the end": {job: builders.MakeTrainJob("ns", "job").Condition("Failed", "True", "DeadlineExceeded", noon), err: errors.New("down"), wantState: "Failed", wantErr: true, wantWarning: reasonCreationFailed},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a := &attempt{job: tc.job.Obj(), outdated: tc.outdated}
			if tc.jobSet != nil {
				a.jobSet = tc.jobSet.Obj()
			}
			result, err := conclude(a, tc.err, tc.left, metav1.NewTime(noon))
			if got := a.job.Status.State; got != tc.wantState {
				t.Errorf("state = %s, want %s", got, tc.wantState)
			}
			if result.RequeueAfter != tc.wantRequeue || (err != nil) != tc.wantErr {
				t.Errorf("conclude() = %v, %v", result, err)
			}
			warned := ""
			if len(a.warnings) == 1 {
				warned = a.warnings[0].reason
			}
			if warned != tc.wantWarning {
				t.Errorf("warning = %q, want %q", warned, tc.wantWarning)
			}
		})
	}
}

func TestStatusPatch(t *testing.T) {
	running := func() *builders.TrainJob {
		return builders.MakeTrainJob("ns", "job").ResourceVersion("7").State("Running").Progress(40, noon).
			Condition("Suspended", "True", "Suspended", noon)
	}
	ended := func() *builders.TrainJob {
		return running().State("Complete").Condition("Complete", "True", "X", noon)
	}
	const conditions = `"conditions":[` +
		`{"lastTransitionTime":"2026-12-01T12:00:00Z","message":"","reason":"Suspended","status":"True","type":"Suspended"},` +
		`{"lastTransitionTime":"2026-12-01T12:00:00Z","message":"","reason":"X","status":"True","type":"Complete"}]`
	tests := map[string]struct {
		stored, wanted *builders.TrainJob
		want           string
	}{
		"nothing changed":          {stored: running(), wanted: running()},
		"a report alone":           {stored: running(), wanted: running().Progress(99, noon)},
		"a report that is missing": {stored: running(), wanted: builders.MakeTrainJob("ns", "job").State("Running").Condition("Suspended", "True", "Suspended", noon)},
		"the state": {
			stored: running(), wanted: running().State("Created").Progress(99, noon),
			want: `{"status":{"state":"Created"}}`,
		},
		"conditions that are gone": {
			stored: running(), wanted: builders.MakeTrainJob("ns", "job").State("Running"),
			want: `{"status":{"conditions":null}}`,
		},
		"an end goes to the version that was read": {
			stored: running(), wanted: ended(),
			want: `{"metadata":{"resourceVersion":"7"},"status":{` + conditions + `,"state":"Complete"}}`,
		},
		"after the end the version does not matter": {
			stored: ended(), wanted: ended().State("Failed"),
			want: `{"status":{"state":"Failed"}}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := statusPatch(tc.stored.Obj(), tc.wanted.Obj())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("statusPatch() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTrainJobChanged(t *testing.T) {
	before := builders.MakeTrainJob("ns", "job").Generation(1).State("Running").Progress(1, noon).Label("a", "1")
	tests := map[string]struct {
		edit func(*trainer.TrainJob)
		want bool
	}{
		"a report":                    {func(j *trainer.TrainJob) { *j.Status.TrainerStatus.ProgressPercentage = 2 }, false},
		"a report of that second":     {func(j *trainer.TrainJob) { j.Status.LastUpdatedNanos = new(int32(1)) }, false},
		"the first report":            {func(j *trainer.TrainJob) { j.Status.TrainerStatus = nil }, false},
		"bookkeeping of the server":   {func(j *trainer.TrainJob) { j.ResourceVersion = "9"; j.ManagedFields = []metav1.ManagedFieldsEntry{{}} }, false},
		"nothing":                     {func(*trainer.TrainJob) {}, false},
		"the spec":                    {func(j *trainer.TrainJob) { j.Generation = 2 }, true},
		"a label":                     {func(j *trainer.TrainJob) { j.Labels["a"] = "2" }, true},
		"an annotation":               {func(j *trainer.TrainJob) { j.Annotations = map[string]string{"a": "1"} }, true},
		"a finalizer":                 {func(j *trainer.TrainJob) { j.Finalizers = []string{"a"} }, true},
		"the deletion":                {func(j *trainer.TrainJob) { j.DeletionTimestamp = new(metav1.NewTime(noon)) }, true},
		"another of the same name":    {func(j *trainer.TrainJob) { j.UID = "other" }, true},
		"the state":                   {func(j *trainer.TrainJob) { j.Status.State = "Failed" }, true},
		"a report with another state": {func(j *trainer.TrainJob) { j.Status.TrainerStatus = nil; j.Status.State = "Failed" }, true},
		"the counts":                  {func(j *trainer.TrainJob) { j.Status.JobsStatus = []trainer.JobStatus{{Name: "x"}} }, true},
	}
	predicate := trainJobChanged()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			after := before.Obj()
			tc.edit(after)
			got := predicate.Update(event.TypedUpdateEvent[*trainer.TrainJob]{ObjectOld: before.Obj(), ObjectNew: after})
			if got != tc.want {
				t.Errorf("Update() = %t, want %t", got, tc.want)
			}
		})
	}
	if !predicate.Create(event.TypedCreateEvent[*trainer.TrainJob]{}) || !predicate.Delete(event.TypedDeleteEvent[*trainer.TrainJob]{}) {
		t.Error("creation and deletion have to wake the reconciler")
	}
}

func TestAuthorityChanged(t *testing.T) {
	secret := func(ca, leaf string) *corev1.Secret {
		return &corev1.Secret{Data: map[string][]byte{"ca.crt": []byte(ca), "tls.crt": []byte(leaf)}}
	}
	changed := authorityChanged()
	update := func(before, after *corev1.Secret) bool {
		return changed.Update(event.TypedUpdateEvent[*corev1.Secret]{ObjectOld: before, ObjectNew: after})
	}
	if update(secret("a", "1"), secret("a", "2")) {
		t.Error("a new leaf is no concern of the pods")
	}
	if !update(secret("a", "1"), secret("a\nb", "1")) || !changed.Create(event.TypedCreateEvent[*corev1.Secret]{}) {
		t.Error("a new CA has to reach the pods")
	}
}

func TestShorten(t *testing.T) {
	tests := map[string]struct {
		text, want string
	}{
		"short stays":           {"short", "short"},
		"the limit stays":       {strings.Repeat("x", 950), strings.Repeat("x", 950)},
		"one more is cut":       {strings.Repeat("x", 951), strings.Repeat("x", 950) + " ..."},
		"a rune is not divided": {strings.Repeat("x", 949) + "é" + "x", strings.Repeat("x", 949) + " ..."},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := shorten(tc.text)
			if got != tc.want || !utf8.ValidString(got) {
				t.Errorf("shorten() = %d bytes ending in %q, want %d bytes", len(got), got[max(0, len(got)-9):], len(tc.want))
			}
		})
	}
	if message := creationFailed(errors.New(strings.Repeat("x", 5000))).message; len(message) > 1024 {
		t.Errorf("an event of %d bytes is refused by the API server", len(message))
	}
}

func TestCarryOver(t *testing.T) {
	stored := builders.MakeJobSet("ns", "job").Job("other", "").Suspend(true).Obj()
	stored.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].Image = "old"
	wanted := stored.DeepCopy()
	wanted.Spec.Suspend = new(false)
	wanted.Annotations = map[string]string{annotationGeneration: "4"}
	pod := &wanted.Spec.ReplicatedJobs[0].Template.Spec.Template
	pod.Labels, pod.Annotations = map[string]string{"a": "1"}, map[string]string{"b": "2"}
	pod.Spec.NodeSelector = map[string]string{"pool": "x"}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "gpu"}}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}}
	want := wanted.DeepCopy()
	pod.Spec.Containers[0].Image = "new"

	text, err := json.Marshal(wanted)
	if err != nil {
		t.Fatal(err)
	}
	var applied jobsetv1alpha2ac.JobSetApplyConfiguration
	if err := json.Unmarshal(text, &applied); err != nil {
		t.Fatal(err)
	}
	if err := carryOver(stored, &applied); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("JobSet (-want +got):\n%s", diff)
	}
}

func TestCheckOwner(t *testing.T) {
	owned := func(kind, name string, uid types.UID) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
			{Kind: kind, Name: name, UID: uid, Controller: new(true)},
		}}}
	}
	job := builders.MakeTrainJob("ns", "job").UID("u1").Obj()
	if err := checkOwner(owned("TrainJob", "job", "u1"), job); err != nil {
		t.Errorf("own: %v", err)
	}
	if err := checkOwner(owned("TrainJob", "job", "u0"), job); !errors.Is(err, runtimeref.ErrPredecessor) {
		t.Errorf("of the namesake: %v", err)
	}
	for name, object := range map[string]*corev1.ConfigMap{
		"of nobody": {}, "of another TrainJob": owned("TrainJob", "other", "u2"), "of another kind": owned("CronJob", "job", "u3"),
	} {
		if err := checkOwner(object, job); err == nil || errors.Is(err, runtimeref.ErrPredecessor) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	good := Config{
		ReportLink: true, ServiceHost: "h", StatusPort: 10443, CertSecret: types.NamespacedName{Namespace: "n", Name: "s"},
		MaxConcurrentReconciles: 1, Clock: clock.RealClock{},
	}
	tests := map[string]struct {
		edit func(*Config)
		want string
	}{
		"complete":               {func(*Config) {}, ""},
		"off needs no link":      {func(c *Config) { *c = Config{MaxConcurrentReconciles: 1, Clock: clock.RealClock{}} }, ""},
		"no host":                {func(c *Config) { c.ServiceHost = "" }, "the host of the status server is empty"},
		"no port":                {func(c *Config) { c.StatusPort = 0 }, "the port of the status server is 0, it must be between 1 and 65535"},
		"no secret":              {func(c *Config) { c.CertSecret.Namespace = "" }, "the Secret with the CA certificates has no name or no namespace"},
		"no clock and no worker": {func(c *Config) { c.Clock = nil; c.MaxConcurrentReconciles = 0 }, "the number of concurrent reconciles is 0, it must be at least 1\nthe clock is missing"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			config := good
			tc.edit(&config)
			got := ""
			if err := config.Validate(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("Validate() = %q, want %q", got, tc.want)
			}
		})
	}
}

// apis answers discovery from a fixed list: a fake for an API server without CRDs.
type apis map[string]string

func (a apis) ServerResourcesForGroupVersionWithContext(_ context.Context, groupVersion string) (*metav1.APIResourceList, error) {
	resource, ok := a[groupVersion]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, groupVersion)
	}
	if resource == "down" {
		return nil, errors.New("connection refused")
	}
	return &metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: resource}}}, nil
}

func TestCheckAPIsWithFakeDiscovery(t *testing.T) {
	ours, jobSet := "trainer.kubeflow.org/v1alpha1", "jobset.x-k8s.io/v1alpha2"
	tests := map[string]struct {
		apis apis
		want string
	}{
		"both there":             {apis{ours: "trainjobs", jobSet: "jobsets"}, ""},
		"no JobSet":              {apis{ours: "trainjobs"}, "the API server has no jobsets in jobset.x-k8s.io/v1alpha2: JobSet is not installed; install the chart with jobset.install=true, or JobSet v0.12 or later by itself (https://jobset.sigs.k8s.io/docs/installation/)"},
		"neither":                {apis{}, "the API server has no trainjobs in trainer.kubeflow.org/v1alpha1: the CRDs of trainer.kubeflow.org are not installed; install the chart with crds.enabled=true"},
		"a group without it":     {apis{ours: "others", jobSet: "jobsets"}, "the API server has no trainjobs in trainer.kubeflow.org/v1alpha1: the CRDs of trainer.kubeflow.org are not installed; install the chart with crds.enabled=true"},
		"a server that is away":  {apis{ours: "down"}, "asking the API server for trainer.kubeflow.org/v1alpha1: connection refused"},
		"JobSet cannot be asked": {apis{ours: "trainjobs", jobSet: "down"}, "asking the API server for jobset.x-k8s.io/v1alpha2: connection refused"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := CheckAPIs(t.Context(), tc.apis); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("CheckAPIs() = %q\nwant %q", got, tc.want)
			}
		})
	}
}
