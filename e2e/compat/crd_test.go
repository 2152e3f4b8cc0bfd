// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/milepost-dev/milepost/e2e/compat/schemadiff"
)

// Folders of the CRD manifests; ours lies in this repository, theirs in their module.
var (
	ourCRDs   = filepath.Join("..", "..", "controller", "config", "crd")
	theirCRDs = filepath.Join("manifests", "base", "crds")
)

// plurals are the resources that both sides define.
var plurals = []string{"trainjobs", "trainingruntimes", "clustertrainingruntimes"}

func loadCRD(t *testing.T, folder, plural string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "trainer.kubeflow.org_"+plural+".yaml"))
	if err != nil {
		t.Fatalf("reading the CRD: %v", err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		t.Fatalf("decoding the CRD of %s in %s: %v", plural, folder, err)
	}
	return crd
}

// eachCRD hands both sides' definition of every resource to a test.
func eachCRD(t *testing.T, test func(t *testing.T, theirs, ours *apiextensionsv1.CustomResourceDefinition)) {
	for _, plural := range plurals {
		t.Run(plural, func(t *testing.T) {
			test(t, loadCRD(t, upstreamPath(t, theirCRDs), plural), loadCRD(t, ourCRDs, plural))
		})
	}
}

// TestOurCRDsAreNowhereNarrower lists every place where an object of theirs would be refused,
// defaulted in another way or pruned by our CRD. Nowhere wider holds as well and is tested too:
// what we would accept beyond them, clients of theirs could not read back.
func TestOurCRDsAreNowhereNarrower(t *testing.T) {
	used := map[string]bool{}
	eachCRD(t, func(t *testing.T, theirs, ours *apiextensionsv1.CustomResourceDefinition) {
		for _, d := range schemadiff.Compare(schemaOf(t, theirs), schemaOf(t, ours)) {
			allowed := d.Kind == schemadiff.Added &&
				(slices.Contains(ourAdditions[ours.Spec.Names.Kind], d.Path) || isNewerKubernetes(d.Path))
			if !allowed {
				t.Error(d)
			}
			for _, suffix := range newerKubernetes {
				used[suffix] = used[suffix] || strings.HasSuffix(d.Path, suffix)
			}
		}
	})
	for _, suffix := range newerKubernetes {
		if !used[suffix] {
			t.Errorf("no schema has the field %s that is said to be new in Kubernetes", suffix)
		}
	}
}

// TestTheSchemaComparisonCanFail breaks our real schema in places of each kind and expects to be
// told where.
func TestTheSchemaComparisonCanFail(t *testing.T) {
	type props = apiextensionsv1.JSONSchemaProps
	cases := map[string]struct {
		path   []string
		damage func(p *props)
		want   string
	}{
		"a property is lost": {
			path:   []string{"spec", "trainer"},
			damage: func(p *props) { delete(p.Properties, "numNodes") },
			want:   ".spec.trainer.numNodes: missing: property",
		},
		"nodes get a lower bound": {
			path:   []string{"spec", "trainer", "numNodes"},
			damage: func(p *props) { p.Minimum = new(1.0) },
			want:   ".spec.trainer.numNodes: narrower: minimum: none, then 1",
		},
		"commands get shorter": {
			path:   []string{"spec", "trainer", "command", "[]"},
			damage: func(p *props) { p.MaxLength = new(int64(65536)) },
			want:   ".spec.trainer.command[]: narrower: maxLength: 1048576, then 65536",
		},
		"the default manager is another": {
			path:   []string{"spec", "managedBy"},
			damage: func(p *props) { p.Default.Raw = []byte(`"milepost"`) },
			want:   `.spec.managedBy: different: default: "trainer.kubeflow.org/trainjob-controller", then "milepost"`,
		},
		"metrics are merged by name": {
			path:   []string{"status", "trainerStatus", "metrics"},
			damage: func(p *props) { p.XListType = new("map") },
			want:   ".status.trainerStatus.metrics: different: x-kubernetes-list-type: atomic, then map",
		},
		"the name is no longer checked": {
			damage: func(p *props) { p.XValidations = p.XValidations[1:] },
			want: `.: missing: x-kubernetes-validations: rule "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')" ` +
				`message "metadata.name must match RFC 1035 DNS label format" expression "" reason none field "" optionalOldSelf none`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			theirs := schemaOf(t, loadCRD(t, upstreamPath(t, theirCRDs), "trainjobs"))
			ours := schemaOf(t, loadCRD(t, ourCRDs, "trainjobs"))
			edit(t, ours, tc.path, tc.damage)
			var got []string
			for _, d := range schemadiff.Compare(theirs, ours) {
				if d.Kind != schemadiff.Added {
					got = append(got, d.String())
				}
			}
			if diff := cmp.Diff([]string{tc.want}, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

// edit changes the schema at a path; "[]" stands for the items of a list.
func edit(t *testing.T, schema *apiextensionsv1.JSONSchemaProps, path []string, change func(*apiextensionsv1.JSONSchemaProps)) {
	t.Helper()
	if len(path) == 0 {
		change(schema)
		return
	}
	if path[0] == "[]" {
		edit(t, schema.Items.Schema, path[1:], change)
		return
	}
	property, ok := schema.Properties[path[0]]
	if !ok {
		t.Fatalf("no property %q to change", path[0])
	}
	edit(t, &property, path[1:], change)
	schema.Properties[path[0]] = property
}

func schemaOf(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	if len(crd.Spec.Versions) != 1 || crd.Spec.Versions[0].Schema == nil {
		t.Fatalf("the CRD %s has %d versions, want one with a schema", crd.Name, len(crd.Spec.Versions))
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// TestOurCRDsDefineTheSameResources compares everything but schema and printer columns.
func TestOurCRDsDefineTheSameResources(t *testing.T) {
	eachCRD(t, func(t *testing.T, theirs, ours *apiextensionsv1.CustomResourceDefinition) {
		strip := func(crd *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.CustomResourceDefinitionSpec {
			spec := *crd.Spec.DeepCopy()
			for i := range spec.Versions {
				spec.Versions[i].Schema = nil
				spec.Versions[i].AdditionalPrinterColumns = nil
			}
			return spec
		}
		if theirs.Name != ours.Name {
			t.Errorf("the CRD is named %q, want %q", ours.Name, theirs.Name)
		}
		if diff := cmp.Diff(strip(theirs), strip(ours)); diff != "" {
			t.Errorf("CRD without schema (-theirs +ours):\n%s", diff)
		}
	})
}

func TestPrinterColumns(t *testing.T) {
	want := map[string][]string{
		"trainjobs": {
			"State string .status.state",
			"Progress integer .status.trainerStatus.progressPercentage",
			"ETA integer .status.trainerStatus.estimatedRemainingSeconds",
			"Age date .metadata.creationTimestamp",
		},
		// Without columns of their own they show their name and age.
		"trainingruntimes":        nil,
		"clustertrainingruntimes": nil,
	}
	for plural, want := range want {
		t.Run(plural, func(t *testing.T) {
			var got []string
			for _, column := range loadCRD(t, ourCRDs, plural).Spec.Versions[0].AdditionalPrinterColumns {
				got = append(got, strings.Join([]string{column.Name, column.Type, column.JSONPath}, " "))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
		})
	}
}
