// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const (
	vectorsDir = "../../../../openapi/vectors"
	behaviour  = "../../../BEHAVIOUR.md"
)

func TestEveryFileFitsTheSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(vectorsDir, "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	paths, err := Files(vectorsDir)
	if err != nil || len(paths) == 0 {
		t.Fatalf("found %d files: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			if err := schema.Validate(plain(t, filepath.Join(vectorsDir, path))); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
}

// plain reads a file as the schema sees it: short forms are not written out.
func plain(t *testing.T, path string) any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestSchemaRefusesMistakes(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(vectorsDir, "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a table of an unknown kind":        `{"table":"x","duties":["D1"],"about":"x","rows":[{"name":"x"}]}`,
		"a row of another table":            `{"table":"tokens","duties":["D1"],"about":"x","rows":[{"name":"x","status":200,"want":"retry"}]}`,
		"a case without steps":              `{"cases":[{"id":"x","title":"x","duties":["D1"],"steps":[]}]}`,
		"a step with two actions":           `{"cases":[{"id":"x","title":"x","duties":["D1"],"steps":[{"pause":1,"close":{}}]}]}`,
		"a step with a misspelt field":      `{"cases":[{"id":"x","title":"x","duties":["D1"],"steps":[{"next":{"progres":1}}]}]}`,
		"an answer with a misspelt field":   `{"cases":[{"id":"x","title":"x","duties":["D1"],"server":{"answers":[{"code":1}]},"steps":[{"pause":1}]}]}`,
		"a capability that nobody has":      `{"cases":[{"id":"x","title":"x","duties":["D1"],"needs":["wings"],"steps":[{"pause":1}]}]}`,
		"a duty without number":             `{"cases":[{"id":"x","title":"x","duties":["all"],"steps":[{"pause":1}]}]}`,
		"a file that is neither of the two": `{"rows":[]}`,
		"a file that is both of the two":    `{"table":"tokens","duties":["D1"],"about":"x","rows":[{"name":"x","file":"","want":null}],"cases":[]}`,
		"an expectation of 101 percent":     `{"cases":[{"id":"x","title":"x","duties":["D1"],"steps":[{"next":{"progress":101}}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
			if err != nil {
				t.Fatal(err)
			}
			if schema.Validate(value) == nil {
				t.Error("the schema takes it")
			}
		})
	}
}

func TestEveryDutyHasACaseAndEveryCaseADuty(t *testing.T) {
	text, err := os.ReadFile(behaviour)
	if err != nil {
		t.Fatal(err)
	}
	var duties []string
	for _, found := range regexp.MustCompile(`(?m)^### (D\d+)$`).FindAllSubmatch(text, -1) {
		duties = append(duties, string(found[1]))
	}
	if len(duties) == 0 {
		t.Fatal("BEHAVIOUR.md has no duties")
	}
	cases, err := Cases(vectorsDir)
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, c := range cases {
		for _, duty := range c.Duties {
			tested[duty] = true
			if !slices.Contains(duties, duty) {
				t.Errorf("%s is about %s, which BEHAVIOUR.md does not have", c.ID, duty)
			}
		}
	}
	for _, duty := range duties {
		if !tested[duty] {
			t.Errorf("no case is about %s", duty)
		}
	}
}

func TestIdentitiesAreUnique(t *testing.T) {
	cases, err := Cases(vectorsDir)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.ID] {
			t.Errorf("there are two cases %s", c.ID)
		}
		seen[c.ID] = true
	}
	tables, err := Tables(vectorsDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		rows, err := Rows[head](table)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, row := range rows {
			if names[row.Name] {
				t.Errorf("%s has two rows %q", table.ID, row.Name)
			}
			names[row.Name] = true
		}
	}
}

func TestExpand(t *testing.T) {
	for name, tc := range map[string]struct{ document, want string }{
		"keys keep their order":              {`{z: 1, a: 2, m: {y: 1, b: 2}}`, `{"z":1,"a":2,"m":{"y":1,"b":2}}`},
		"numbers keep their digits":          {`[1.50, 1e5, 12345678901234567890]`, `[1.50,1e5,12345678901234567890]`},
		"text that looks like a number":      {`["1", 'true', ~]`, `["1","true",null]`},
		"signs of HTML stay":                 {`"<a&b>"`, `"<a&b>"`},
		"a repetition":                       {`{$repeat: [ab, 3]}`, `"ababab"`},
		"a repetition with ends":             {`{$repeat: ['"', x, 2, '"']}`, `"\"xx\""`},
		"a series as metrics":                {`{metrics: {$series: [m, 0, 2]}}`, `{"metrics":{"m000":0,"m001":1}}`},
		"a series as pairs":                  {`{want: {$series: [m, 9, 11]}}`, `{"want":[["m009","9"],["m010","10"]]}`},
		"a series among pairs":               {`[[a, b], {$series: [m, 0, 1]}, [c, d]]`, `[["a","b"],["m000","0"],["c","d"]]`},
		"a series among metrics":             {`{metrics: [{$series: [m, 0, 1]}, {z: {y: 1}}]}`, `{"metrics":{"m000":0,"z":{"y":1}}}`},
		"names":                              {`{$names: [m, 1, 3]}`, `["m001","m002"]`},
		"values for executors stay":          {`{$float: NaN}`, `{"$float":"NaN"}`},
		"a list of metrics without a series": {`{metrics: [{name: a}]}`, `{"metrics":[{"name":"a"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Expand([]byte(tc.document))
			if err != nil || string(got) != tc.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tc.want)
			}
		})
	}
}

func TestExpandRefuses(t *testing.T) {
	for name, document := range map[string]string{
		"an empty document":            ``,
		"a number that JSON lacks":     `{a: .nan}`,
		"a series of two":              `{$series: [a, 1]}`,
		"a repetition without a count": `{$repeat: [a, b]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Expand([]byte(document)); err == nil {
				t.Errorf("got %s", got)
			}
		})
	}
}
