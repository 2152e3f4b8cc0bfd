// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
)

// seedVariable repeats a run: set it to the seed that a failed run printed.
const seedVariable = "MILEPOST_COMPAT_SEED"

// Objects per kind and direction. Sparse ones leave out about half of all fields and so cover
// combinations; in a full one nothing is absent, so no field escapes.
const (
	sparseObjects = 25
	fullObjects   = 3
)

// eachObject runs a test for every kind with several seeds.
func eachObject(t *testing.T, test func(t *testing.T, kind string, seed int64, full bool)) {
	seed := firstSeed(t)
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			for i := range int64(sparseObjects + fullObjects) {
				if test(t, kind, seed+i, i >= sparseObjects); t.Failed() {
					t.Fatalf("the object filled from seed %d differs; %d objects before it did not", seed+i, i)
				}
			}
		})
	}
}

func firstSeed(t *testing.T) int64 {
	t.Helper()
	seed := time.Now().UnixNano()
	if value := os.Getenv(seedVariable); value != "" {
		var err error
		if seed, err = strconv.ParseInt(value, 10, 64); err != nil {
			t.Fatalf("%s is no whole number: %v", seedVariable, err)
		}
	}
	t.Logf("the first seed is %d; run again with %s=%[1]d", seed, seedVariable)
	return seed
}

// An object passes once through the types it comes from before it is compared: a list that is
// empty, not absent, is a difference that even these do not keep.

func TestTheirObjectsSurviveOurTypes(t *testing.T) {
	eachObject(t, func(t *testing.T, kind string, seed int64, full bool) {
		filled := theirs.ask(t, peerRequest{Kind: kind, Seed: seed, Full: full}).Object
		before := theirs.ask(t, peerRequest{Kind: kind, Object: filled}).Object
		for _, difference := range diffJSON(t, before, throughOurs(t, kind, before)) {
			t.Errorf("%s: %s", difference.Path, difference.What)
		}
	})
}

func TestOurObjectsSurviveTheirTypes(t *testing.T) {
	eachObject(t, func(t *testing.T, kind string, seed int64, full bool) {
		object := kinds[kind]()
		fill(object, seed, full)
		filled, err := json.Marshal(object)
		if err != nil {
			t.Fatalf("encoding: %v", err)
		}
		before := throughOurs(t, kind, filled)
		after := theirs.ask(t, peerRequest{Kind: kind, Object: before}).Object
		for _, difference := range diffJSON(t, before, after) {
			if difference.What == "gone" && isNewerKubernetes(difference.Path) {
				continue
			}
			t.Errorf("%s: %s", difference.Path, difference.What)
		}
	})
}

func TestOurAdditionsAreAllThatTheirTypesDoNotKnow(t *testing.T) {
	cases := map[string]struct{ kind, object string }{
		"the state of a TrainJob and the fraction of its report": {
			kind:   "TrainJob",
			object: `{"status":{"jobsStatus":[],"lastUpdatedNanos":1,"state":"Running"}}`,
		},
		"who may read the metrics": {
			kind:   "Configuration",
			object: `{"metrics":{"bindAddress":":1","auth":{"enabled":true}}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			throughOurs(t, tc.kind, []byte(tc.object))
			got := theirs.ask(t, peerRequest{Kind: tc.kind, Object: []byte(tc.object)}).Problems
			var want []string
			for _, path := range ourAdditions[tc.kind] {
				want = append(want, fmt.Sprintf("unknown field %q", strings.TrimPrefix(path, ".")))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what strict decoding by their types says (-want +got):\n%s", diff)
			}
		})
	}
}

// throughOurs decodes an object strictly into our types and encodes it again.
func throughOurs(t *testing.T, kind string, object []byte) []byte {
	t.Helper()
	into := kinds[kind]()
	problems, err := kjson.UnmarshalStrict(object, into)
	if err != nil {
		t.Fatalf("decoding a %s into our type: %v", kind, err)
	}
	for _, problem := range problems {
		t.Errorf("decoding a %s into our type: %v", kind, problem)
	}
	after, err := json.Marshal(into)
	if err != nil {
		t.Fatalf("encoding a %s of ours: %v", kind, err)
	}
	return after
}
