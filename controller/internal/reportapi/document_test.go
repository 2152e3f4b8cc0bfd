// SPDX-License-Identifier: Apache-2.0

package reportapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
)

// documentFolder is where the source of this package lies.
const documentFolder = "../../../openapi/report/v1alpha1"

func loadDocument(t *testing.T) *openapi3.T {
	t.Helper()
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromFile(filepath.Join(documentFolder, "openapi.yaml"))
	if err != nil {
		t.Fatalf("loading the document: %v", err)
	}
	if err := doc.Validate(t.Context(), openapi3.DisableExamplesValidation()); err != nil {
		t.Fatalf("validating the document: %v", err)
	}
	return doc
}

func TestDocumentFollowsTheStyle(t *testing.T) {
	if faults := styleFaults(loadDocument(t)); len(faults) > 0 {
		t.Errorf("style faults:\n%s", strings.Join(faults, "\n"))
	}
}

func TestStyleCheckFindsFaults(t *testing.T) {
	cases := map[string]struct {
		spoil func(*openapi3.T)
		want  string
	}{
		"an operation without description": {
			spoil: func(d *openapi3.T) { statusPath(d).Get.Description = "" },
			want:  "readTrainJobStatus: no description",
		},
		"an operation id that is not camel case": {
			spoil: func(d *openapi3.T) { statusPath(d).Post.OperationID = "Report_Status" },
			want:  "Report_Status: operation id is not camel case",
		},
		"a field without description": {
			spoil: func(d *openapi3.T) {
				d.Components.Schemas["Metric"].Value.Properties["name"].Value.Description = ""
			},
			want: "Metric.name: no description",
		},
		"a field that is not camel case": {
			spoil: func(d *openapi3.T) {
				p := d.Components.Schemas["Metric"].Value.Properties
				p["metric_unit"] = p["name"]
			},
			want: "Metric.metric_unit: name is not camel case",
		},
		"an error of another shape": {
			spoil: func(d *openapi3.T) {
				d.Components.Responses["Forbidden"].Value.Content["application/json"].Schema = d.Components.Schemas["Metric"]
			},
			want: "readTrainJobStatus 403: error is not a Status",
		},
		"a limit status without Retry-After": {
			spoil: func(d *openapi3.T) { d.Components.Responses["TooManyRequests"].Value.Headers = nil },
			want:  "readTrainJobStatus 429: no Retry-After",
		},
		"settings of a generator": {
			spoil: func(d *openapi3.T) {
				d.Components.Schemas["Metric"].Value.Extensions = map[string]any{"x-go-type": "string"}
			},
			want: "Metric: extension x-go-type",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			doc := loadDocument(t)
			tc.spoil(doc)
			if faults := styleFaults(doc); !slices.Contains(faults, tc.want) {
				t.Errorf("faults %q do not hold %q", faults, tc.want)
			}
		})
	}
}

var camelCase = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)

// styleFaults holds the rules that plain validation does not know.
func styleFaults(doc *openapi3.T) []string {
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			faults = append(faults, operationFaults(op)...)
		}
	}
	for name, schema := range doc.Components.Schemas {
		if schema.Value.Description == "" {
			add("%s: no description", name)
		}
		for key := range schema.Value.Extensions {
			add("%s: extension %s", name, key)
		}
		for field, prop := range schema.Value.Properties {
			if prop.Ref == "" && prop.Value.Description == "" {
				add("%s.%s: no description", name, field)
			}
			if !camelCase.MatchString(field) {
				add("%s.%s: name is not camel case", name, field)
			}
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

func operationFaults(op *openapi3.Operation) []string {
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if op.Description == "" || op.Summary == "" {
		add("%s: no description", op.OperationID)
	}
	if !camelCase.MatchString(op.OperationID) {
		add("%s: operation id is not camel case", op.OperationID)
	}
	for code, response := range op.Responses.Map() {
		status, err := strconv.Atoi(code)
		if err != nil {
			add("%s %s: not a status code", op.OperationID, code)
		}
		content := response.Value.Content["application/json"]
		if status >= http.StatusBadRequest && (content == nil || content.Schema.Ref != "#/components/schemas/Status") {
			add("%s %s: error is not a Status", op.OperationID, code)
		}
		if (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) && response.Value.Headers["Retry-After"] == nil {
			add("%s %s: no Retry-After", op.OperationID, code)
		}
	}
	return faults
}

func statusPath(doc *openapi3.T) *openapi3.PathItem {
	return doc.Paths.Value("/apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status")
}

func TestEveryExampleFileIsNamedAndFitsItsSchema(t *testing.T) {
	doc := loadDocument(t)
	named := map[string]bool{}
	check := func(content openapi3.Content) {
		for _, media := range content {
			for name, example := range media.Examples {
				file := example.Value.ExternalValue
				named[filepath.Base(file)] = true
				data, err := os.ReadFile(filepath.Join(documentFolder, file))
				if err != nil {
					t.Errorf("example %s: %v", name, err)
					continue
				}
				var value any
				if err := json.Unmarshal(data, &value); err != nil {
					t.Errorf("example %s: %v", file, err)
				} else if err := media.Schema.Value.VisitJSON(value); err != nil {
					t.Errorf("example %s does not fit: %v", file, err)
				}
			}
		}
	}
	for _, op := range statusPath(doc).Operations() {
		if op.RequestBody != nil {
			check(op.RequestBody.Value.Content)
		}
		for _, response := range op.Responses.Map() {
			check(response.Value.Content)
		}
	}
	files, err := filepath.Glob(filepath.Join(documentFolder, "examples", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("listing examples: %v (%d found)", err, len(files))
	}
	for _, file := range files {
		if !named[filepath.Base(file)] {
			t.Errorf("example %s is not named by the document", filepath.Base(file))
		}
	}
}

func TestErrorExamplesCarryTheirOwnCode(t *testing.T) {
	doc := loadDocument(t)
	for _, op := range statusPath(doc).Operations() {
		for code, response := range op.Responses.Map() {
			for _, example := range response.Value.Content["application/json"].Examples {
				data, err := os.ReadFile(filepath.Join(documentFolder, example.Value.ExternalValue))
				if err != nil {
					t.Fatal(err)
				}
				var status Status
				if err := json.Unmarshal(data, &status); err != nil {
					t.Fatal(err)
				}
				if code != "200" && strconv.Itoa(int(status.Code)) != code {
					t.Errorf("%s has code %d under response %s", example.Value.ExternalValue, status.Code, code)
				}
			}
		}
	}
}

func TestEmbeddedDocumentIsTheSource(t *testing.T) {
	embedded, err := GetSpec()
	if err != nil {
		t.Fatalf("reading the embedded document: %v", err)
	}
	got, err := embedded.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want, err := loadDocument(t).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asValue(t, want), asValue(t, got)); diff != "" {
		t.Errorf("document and embedded copy differ; run go tool mage generate (-want +got):\n%s", diff)
	}
}

func asValue(t *testing.T, data []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
