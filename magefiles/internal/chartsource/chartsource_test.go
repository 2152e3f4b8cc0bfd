// SPDX-License-Identifier: Apache-2.0

package chartsource

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations: {made-by: generator}
  name: things.example.org
spec:
  description: kept
  properties:
    replicatedJobs:
      description: kept
      items:
        properties:
          name: {description: kept, type: string}
          template:
            description: kept
            properties:
              spec:
                description: dropped
                properties:
                  description: {description: dropped, type: string}
                  text: {description: "dropped {{ braces }}", type: string}
    braces: {description: "kept {{ braces }}"}
`

func TestACRDBecomesATemplate(t *testing.T) {
	for behaviour, tc := range map[string]struct {
		slim      bool
		want      []string
		wantNever []string
	}{
		"with all descriptions": {
			want: []string{
				"{{- if .Values.crds.enabled }}\napiVersion:", "name: things.example.org\n", "helm.sh/resource-policy: keep",
				`kept {{ "{{" }} braces }}`, "description: dropped", "{{- end }}\n",
			},
			wantNever: []string{"made-by"},
		},
		"without the descriptions of Kubernetes' own fields": {
			slim:      true,
			want:      []string{"description: kept", "description: {type: string}", "text: {type: string}"},
			wantNever: []string{"dropped"},
		},
	} {
		t.Run(behaviour, func(t *testing.T) {
			dir := t.TempDir()
			made := CRD{
				Source: filepath.Join(dir, "in.yaml"), Target: filepath.Join(dir, "templates", "out.yaml"),
				Condition: ".Values.crds.enabled", Slim: tc.slim,
			}
			if err := os.WriteFile(made.Source, []byte(crd), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := made.Write(); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(made.Target)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(string(text), want) {
					t.Errorf("lacks %q:\n%s", want, text)
				}
			}
			for _, never := range tc.wantNever {
				if strings.Contains(string(text), never) {
					t.Errorf("holds %q:\n%s", never, text)
				}
			}
		})
	}
}

func TestAFileThatIsNoCRDIsRefused(t *testing.T) {
	if _, err := (CRD{}).template([]byte("kind: List\n")); err == nil {
		t.Error("no error")
	}
}

func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := write(filepath.Join(dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestJobSetsChartIsCopied(t *testing.T) {
	source := module(t, map[string]string{
		"LICENSE":                                          "licence",
		"charts/jobset/Chart.yaml":                         "name: jobset\n",
		"charts/jobset/README.md.gotmpl":                   "x",
		"charts/jobset/crds/a.yaml":                        "x",
		"charts/jobset/tests/webhook/a.yaml":               "x",
		"charts/jobset/templates/internalcert/secret.yaml": "x",
		"charts/jobset/templates/service.yaml":             "kind: Service\n",
	})
	target := filepath.Join(t.TempDir(), "jobset")
	if err := write(filepath.Join(target, "stale.yaml"), nil); err != nil {
		t.Fatal(err)
	}
	if err := VendorJobSet(source, "v1.2.3", target); err != nil {
		t.Fatal(err)
	}
	var got []string
	_ = fs.WalkDir(os.DirFS(target), ".", func(name string, entry fs.DirEntry, _ error) error {
		if !entry.IsDir() {
			got = append(got, name)
		}
		return nil
	})
	want := []string{"Chart.yaml", "LICENSE", "VENDORED.md", "templates/service.yaml"}
	if !slices.Equal(got, want) {
		t.Errorf("files are %q, want %q", got, want)
	}
}

func TestANewShapeOfJobSetsChartIsNoticed(t *testing.T) {
	source := module(t, map[string]string{"LICENSE": "", "charts/jobset/templates/cert/secret.yaml": "kind: Secret\n"})
	if err := VendorJobSet(source, "v1.2.3", filepath.Join(t.TempDir(), "jobset")); err == nil {
		t.Error("no error")
	}
}
