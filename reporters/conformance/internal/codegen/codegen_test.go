// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../../../.."

func TestReadKeepsTheOrderOfTheDocument(t *testing.T) {
	document, err := Read(filepath.Join(root, source))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(document.Types, func(t Type) bool { return t.Name == "TrainerStatus" })
	if at < 0 {
		t.Fatal("there is no TrainerStatus")
	}
	var names []string
	for _, f := range document.Types[at].Fields {
		names = append(names, f.Name)
	}
	// Reporters send their fields in this order (D19).
	if got := strings.Join(names, " "); got != "progressPercentage estimatedRemainingSeconds metrics lastUpdatedTime" {
		t.Errorf("the fields are %s", got)
	}
}

func TestReadTellsWhatIsSentFromWhatIsOnlyRead(t *testing.T) {
	document, err := Read(filepath.Join(root, source))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range document.Types {
		sent := slices.Contains([]string{"TrainJobStatusUpdate", "TrainerStatus", "Metric"}, one.Name)
		if one.Sent != sent {
			t.Errorf("%s is sent: %v, want %v", one.Name, one.Sent, sent)
		}
		for _, f := range one.Fields {
			if f.Required && !sent {
				t.Errorf("%s.%s is required, but reporters read what any server sends", one.Name, f.Name)
			}
			if f.About == "" {
				t.Errorf("%s.%s has no description", one.Name, f.Name)
			}
		}
	}
}

func TestReadFindsLimits(t *testing.T) {
	document, err := Read(filepath.Join(root, source))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []NamedLimit{
		{"TrainerStatus", "progressPercentage", "maximum", "100"},
		{"TrainerStatus", "metrics", "maxItems", "256"},
		{"Metric", "value", "maxLength", "64"},
	} {
		if !slices.Contains(document.Limits(), want) {
			t.Errorf("%v is missing", want)
		}
	}
}

func TestReadRefusesWhatNoTemplateKnows(t *testing.T) {
	const head = "info: {version: 1.0.0}\npaths: {/a: {}}\ncomponents: {schemas: {TrainJobStatusUpdate: "
	for name, tc := range map[string]struct{ text, want string }{
		"a number with fraction": {head + "{type: object, properties: {a: {type: number}}}}}", `no template knows the type "number"`},
		"a list of plain values": {head + "{type: object, properties: {a: {type: array, items: {type: string}}}}}}", "no template knows"},
		"a schema of text":       {head + "{type: string}}}", "only objects"},
		"two paths":              {"paths: {/a: {}, /b: {}}", "one path, not 2"},
		"no body to send":        {"paths: {/a: {}}\ncomponents: {schemas: {Other: {type: object}}}", "no schema TrainJobStatusUpdate"},
		"a reference to nowhere": {head + `{type: object, properties: {a: {$ref: "#/components/schemas/Lost"}}}}}`, "no schema Lost"},
		"no YAML":                {"paths: [", "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "openapi.yaml")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(path); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// tree copies what the generator reads to a folder of its own.
func tree(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	for _, part := range []string{"openapi", folder} {
		if err := os.CopyFS(filepath.Join(top, part), os.DirFS(filepath.Join(root, part))); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func TestGenerateMakesWhatIsCommitted(t *testing.T) {
	top := tree(t)
	if err := os.Remove(filepath.Join(top, tables)); err != nil {
		t.Fatal(err)
	}
	if err := Generate(top); err != nil {
		t.Fatal(err)
	}
	list, err := Tasks(top)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{tables}
	for _, task := range list {
		paths = append(paths, strings.ReplaceAll(task.Output, "{Type}", "Metric"))
	}
	for _, path := range paths {
		got, err := os.ReadFile(filepath.Join(top, path))
		if err != nil {
			t.Error(err)
			continue
		}
		want, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is out of date: go tool mage generate (%v)", path, err)
		}
		if !strings.Contains(string(got[:min(len(got), 1024)]), "Code generated") {
			t.Errorf("%s does not say that it is generated", path)
		}
	}
}

func TestGenerateMakesTheNamedLanguageAlone(t *testing.T) {
	top := tree(t)
	if err := Generate(top, "rust"); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadDir(filepath.Join(top, "reporters"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range made {
		names = append(names, entry.Name())
	}
	if !slices.Equal(names, []string{"codegen", "rust"}) {
		t.Errorf("made %v", names)
	}
}

func TestNames(t *testing.T) {
	for name, tc := range map[string]struct{ got, want string }{
		"pascal":               {pascal("progressPercentage"), "ProgressPercentage"},
		"snake":                {snake("progressPercentage"), "progress_percentage"},
		"a type in snake":      {snake("TrainerStatus"), "trainer_status"},
		"the first sentence":   {sentence("One\n  two. Three."), "One two."},
		"a single sentence":    {sentence("One two."), "One two."},
		"a point in a number":  {sentence("At most 1.5 of it."), "At most 1.5 of it."},
		"the name in a target": {target("#/components/schemas/Metric"), "Metric"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %q, want %q", name, tc.got, tc.want)
		}
	}
}
