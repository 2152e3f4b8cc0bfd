// SPDX-License-Identifier: Apache-2.0

package jobfile

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

func makeJob(namespace, name string) *trainer.TrainJob {
	job := &trainer.TrainJob{}
	job.APIVersion, job.Kind = trainer.GroupVersion.String(), trainer.TrainJobKind
	job.Namespace, job.Name, job.UID = namespace, name, "4f6a"
	job.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	job.Spec.RuntimeRef.Name = "local"
	job.Status.State = trainer.TrainJobStateRunning
	job.Status.TrainerStatus = &trainer.TrainerStatus{
		ProgressPercentage: new(int32(45)),
		Metrics:            []trainer.Metric{{Name: "loss", Value: "\x1b[31m\u009b\u202e\U000e0041\r\nperte é"}},
		LastUpdatedTime:    metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 7, 0, time.UTC)),
	}
	return job
}

func TestWriteThenRead(t *testing.T) {
	path := Dir(t.TempDir()).Path("default", "digits")
	want := makeJob("default", "digits")
	if err := Write(path, want, true); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &trainer.TrainJob{}); err != nil {
		t.Errorf("the file holds fields that a TrainJob does not have: %v", err)
	}
	if i := strings.IndexFunc(string(text), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("the file holds characters that are not printable: %q", text[i:])
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != fileMode {
		t.Errorf("mode = %o, want %o", got, fileMode)
	}
}

func TestReadRefusesWhatIsNoTrainJob(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading a missing file gave %v", err)
	}
	for _, text := range []string{"", "kind: Pod\napiVersion: v1\n", "\tx", "kind: TrainJob\napiVersion: trainer.kubeflow.org/v1\n"} {
		if err := os.WriteFile(path, []byte(text), fileMode); err != nil {
			t.Fatal(err)
		}
		if job, err := Read(path); err == nil {
			t.Errorf("reading %q gave %v", text, job)
		}
	}
}

func TestListReturnsWhatItCanRead(t *testing.T) {
	dir := Dir(filepath.Join(t.TempDir(), "odd [name]*"))
	for _, key := range [][2]string{{"default", "b"}, {"default", "a"}, {"other", "c"}} {
		if err := Write(dir.Path(key[0], key[1]), makeJob(key[0], key[1]), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir.Path("default", "broken"), []byte("{"), fileMode); err != nil {
		t.Fatal(err)
	}
	lock, err := Acquire(dir.Path("default", "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Release() }()

	names := func(jobs []*trainer.TrainJob) (all []string) {
		for _, job := range jobs {
			all = append(all, job.Namespace+"/"+job.Name)
		}
		return all
	}
	jobs, err := dir.List("default", Read)
	if diff := cmp.Diff([]string{"default/a", "default/b"}, names(jobs)); diff != "" {
		t.Errorf("jobs of one namespace (-want +got):\n%s", diff)
	}
	if err == nil || !strings.Contains(err.Error(), "broken.yaml") {
		t.Errorf("error = %v, want the broken file by its name", err)
	}
	jobs, _ = dir.List("", Read)
	if diff := cmp.Diff([]string{"default/a", "default/b", "other/c"}, names(jobs)); diff != "" {
		t.Errorf("all jobs (-want +got):\n%s", diff)
	}
	if jobs, err := Dir(t.TempDir()).List("", Read); len(jobs) != 0 || err != nil {
		t.Errorf("an empty folder gave %v, %v", jobs, err)
	}
}

func TestAReaderNeverSeesHalfAFile(t *testing.T) {
	path := Dir(t.TempDir()).Path("default", "digits")
	job := makeJob("default", "digits")
	if err := Write(path, job, false); err != nil {
		t.Fatal(err)
	}
	var writer sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := Write(path, job, false); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 300 {
		if _, err := Read(path); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	writer.Wait()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left, want the one (%v)", len(left), err)
	}
}

func TestOneRunForEachFile(t *testing.T) {
	path := Dir(t.TempDir()).Path("default", "digits")
	if Held(path) {
		t.Error("the lock is held before anyone took it")
	}
	lock, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(path); !errors.Is(err, ErrBusy) {
		t.Errorf("second lock gave %v, want ErrBusy", err)
	}
	for range 2 { // looking must not take it
		if !Held(path) {
			t.Error("the lock is not seen")
		}
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if Held(path) {
		t.Error("the lock is held after its release")
	}
	again, err := Acquire(path)
	if err != nil {
		t.Fatalf("locking again: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultDirFollowsTheEnvironment(t *testing.T) {
	home := t.TempDir()
	cases := map[string]struct{ state, home, want string }{
		"the state folder of the user":   {state: "/var/state", home: home, want: "/var/state/milepost"},
		"a relative folder is not taken": {state: "state", home: home, want: home + "/.local/state/milepost"},
		"the home folder":                {home: home, want: home + "/.local/state/milepost"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", tc.state)
			t.Setenv("HOME", tc.home)
			if got := DefaultDir(); string(got) != tc.want {
				t.Errorf("DefaultDir = %s, want %s", got, tc.want)
			}
		})
	}
	t.Run("no home folder", func(t *testing.T) {
		t.Setenv("XDG_STATE_HOME", "")
		t.Setenv("HOME", filepath.Join(home, "absent"))
		if got := DefaultDir(); !strings.HasPrefix(string(got), os.TempDir()) {
			t.Errorf("DefaultDir = %s, want a temporary folder", got)
		}
	})
}

func TestEveryTextSurvivesEncoding(t *testing.T) {
	texts := []string{
		"\u202e", "\x01", "\x01\u202e", "\x01é", "\x01x\u200b", "\x01\x01\u202e\u202e", `\x01` + "\u202e", "\u009b\x7f\x00", "\U000e0041\ufeff",
		"perte é 損失 😀", "\u2028\u2029\u0085\u00a0", " leading", "- x: #y", "'\"", "null", "0x1f", strings.Repeat("long text ", 30) + "\u202e",
	}
	for _, want := range texts {
		for form, encode := range map[string]func(any) ([]byte, error){"YAML": YAML, "JSON": JSON} {
			text, err := encode(map[string]string{"value": want})
			if err != nil {
				t.Fatalf("%s of %q: %v", form, want, err)
			}
			got := map[string]string{}
			if err := yaml.Unmarshal(text, &got); err != nil && form == "YAML" {
				t.Fatalf("reading %s of %q: %v\n%s", form, want, err, text)
			}
			if form == "JSON" {
				if err := json.Unmarshal(text, &got); err != nil {
					t.Fatal(err)
				}
			}
			if got["value"] != want {
				t.Errorf("%s of %q reads as %q:\n%s", form, want, got["value"], text)
			}
			if i := strings.IndexFunc(string(text), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("%s of %q holds %q", form, want, text[i:])
			}
		}
	}
}
