// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// jsonDifference is a place where two JSON documents differ; "[]" stands for any item.
type jsonDifference struct {
	Path string
	What string // "gone", "new" or both values
}

// diffJSON compares two documents as values: key order and white space do not count, the digits
// of a number do.
func diffJSON(t *testing.T, before, after []byte) []jsonDifference {
	t.Helper()
	var found []jsonDifference
	walkJSON("", parseJSON(t, before), parseJSON(t, after), func(path, what string) {
		found = append(found, jsonDifference{path, what})
	})
	return found
}

func parseJSON(t *testing.T, data []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("reading JSON %.100s: %v", data, err)
	}
	return v
}

func walkJSON(path string, before, after any, add func(path, what string)) {
	switch before := before.(type) {
	case map[string]any:
		if after, ok := after.(map[string]any); ok {
			walkObjects(path, before, after, add)
			return
		}
	case []any:
		if after, ok := after.([]any); ok && len(before) == len(after) {
			for i := range before {
				walkJSON(path+"[]", before[i], after[i], add)
			}
			return
		}
	}
	if !cmp.Equal(before, after) {
		add(path, fmt.Sprintf("%v, then %v", before, after))
	}
}

func walkObjects(path string, before, after map[string]any, add func(path, what string)) {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if v, ok := after[key]; ok {
			walkJSON(path+"."+key, before[key], v, add)
			continue
		}
		add(path+"."+key, "gone")
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[key]; !ok {
			add(path+"."+key, "new")
		}
	}
}

func TestDiffJSON(t *testing.T) {
	cases := map[string]struct {
		before, after string
		want          []jsonDifference
	}{
		"key order and spaces do not count": {
			before: `{"a":1,"b":[true]}`,
			after:  `{ "b": [true], "a": 1 }`,
		},
		"a field that is lost is named": {
			before: `{"a":{"b":[{"c":1},{"c":1,"d":2}]}}`,
			after:  `{"a":{"b":[{"c":1},{"c":1}]}}`,
			want:   []jsonDifference{{".a.b[].d", "gone"}},
		},
		"a field that appears is named": {
			before: `{"a":{}}`,
			after:  `{"a":{"b":null}}`,
			want:   []jsonDifference{{".a.b", "new"}},
		},
		"an empty object is not the same as no object": {
			before: `{"torch":{}}`,
			after:  `{}`,
			want:   []jsonDifference{{".torch", "gone"}},
		},
		"a number keeps its digits": {
			before: `{"a":9007199254740993}`,
			after:  `{"a":9007199254740992}`,
			want:   []jsonDifference{{".a", "9007199254740993, then 9007199254740992"}},
		},
		"a shorter list differs as a whole": {
			before: `[1,2]`,
			after:  `[1]`,
			want:   []jsonDifference{{"", "[1 2], then [1]"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, diffJSON(t, []byte(tc.before), []byte(tc.after))); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
