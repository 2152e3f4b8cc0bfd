// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// manifest is one document of a YAML file of theirs.
type manifest struct {
	Source string // file and number of the document in it
	Kind   string
	JSON   []byte
}

// upstreamManifestCount is how many there are in v2.3.0, so that a search that misses some fails.
const upstreamManifestCount = 20

// upstreamManifests are all TrainJobs and runtimes that their module ships as plain YAML.
func upstreamManifests(t *testing.T) []manifest {
	t.Helper()
	root := upstreamPath(t)
	var found []manifest
	for _, folder := range []string{"manifests", "examples", "docs"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || (filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml") {
				return err
			}
			documents, err := readManifests(path)
			found = append(found, documents...)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("reading manifests: %v", err)
		}
	}
	if len(found) != upstreamManifestCount {
		t.Fatalf("found %d manifests, want %d", len(found), upstreamManifestCount)
	}
	return found
}

func readManifests(path string) ([]manifest, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var found []manifest
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for i := 1; ; i++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(document, &meta); err != nil || meta.GroupVersionKind().Group != trainer.GroupName {
			continue // not an object, or not one of these
		}
		object, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		source := fmt.Sprintf("%s document %d", filepath.Base(path), i)
		found = append(found, manifest{Source: source, Kind: meta.Kind, JSON: object})
	}
}

func TestTheirManifestsDecodeIntoOurTypes(t *testing.T) {
	for _, m := range upstreamManifests(t) {
		t.Run(strings.ReplaceAll(m.Source, " ", "_"), func(t *testing.T) {
			if _, ok := kinds[m.Kind]; !ok {
				t.Fatalf("we have no kind %s", m.Kind)
			}
			// What their types make of the text is the measure: they write numbers of resources
			// as text and add what Kubernetes never leaves out.
			want := theirs.ask(t, peerRequest{Kind: m.Kind, Object: m.JSON}).Object
			for _, difference := range diffJSON(t, want, throughOurs(t, m.Kind, m.JSON)) {
				t.Errorf("%s: %s", difference.Path, difference.What)
			}
		})
	}
}
