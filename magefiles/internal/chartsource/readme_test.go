// SPDX-License-Identifier: Apache-2.0

package chartsource

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheReadmeHoldsARowForEachValue(t *testing.T) {
	dir := module(t, map[string]string{
		"values.yaml": `# A licence line.

# -- Number of managers.
replicas: 1
manager:
  # -- Labels, a map
  # in two lines with a | in them.
  labels: {a: b}
  # -- Resources of the container.
  resources:
    limits:
      memory: 1Gi # much
  config:
    # -- The gate.
    gate: true
`,
		"source.md": "# Chart\n\n{{ values }}\n\nMore.\n",
	})
	target := filepath.Join(dir, "README.md")
	if err := WriteReadme(filepath.Join(dir, "values.yaml"), filepath.Join(dir, "source.md"), target); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	want := readmeHead + `# Chart

| Value | Default | What it does |
| --- | --- | --- |
| ` + "`replicas` | `1`" + ` | Number of managers. |
| ` + "`manager.labels` | `{a: b}`" + ` | Labels, a map in two lines with a \| in them. |
| ` + "`manager.resources` | `{limits: {memory: 1Gi}}`" + ` | Resources of the container. |
| ` + "`manager.config.gate` | `true`" + ` | The gate. |

More.
`
	if string(got) != want {
		t.Errorf("README is\n%s\nwant\n%s", got, want)
	}
}

func TestAValueWithoutACommentIsRefused(t *testing.T) {
	for situation, text := range map[string]string{
		"a plain value":                   "replicas: 1\n",
		"a comment without dashes":        "# Replicas.\nreplicas: 1\n",
		"a value below one that has none": "manager:\n  labels: {}\n",
	} {
		t.Run(situation, func(t *testing.T) {
			if _, err := valuesTable([]byte(text)); err == nil || !strings.Contains(err.Error(), "two dashes") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestASourceWithoutAPlaceForTheValuesIsRefused(t *testing.T) {
	dir := module(t, map[string]string{"values.yaml": "# -- A.\na: 1\n", "source.md": "# Chart\n"})
	if err := WriteReadme(filepath.Join(dir, "values.yaml"), filepath.Join(dir, "source.md"), filepath.Join(dir, "out")); err == nil {
		t.Error("no error")
	}
}
