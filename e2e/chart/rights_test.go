// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

// Rights that no marker in the code declares, with the reason.
var undeclaredRights = map[string]string{
	"batch/jobs list":                                  "informer of the owners of pods",
	"batch/jobs watch":                                 "informer of the owners of pods",
	"/pods list":                                       "informer of the pods that report",
	"/pods watch":                                      "informer of the pods that report",
	"/.well-known/openid-configuration get":            "issuer of the tokens",
	"/openid/v1/jwks get":                              "keys of the tokens",
	"authentication.k8s.io/tokenreviews create":        "tokens whose keys cannot be had, and callers of the metrics",
	"authorization.k8s.io/subjectaccessreviews create": "callers that are no pod, and callers of the metrics",
	"coordination.k8s.io/leases create":                "leader election",
	"coordination.k8s.io/leases get":                   "leader election",
	"coordination.k8s.io/leases update":                "leader election",
}

var marker = regexp.MustCompile(`(?m)^// \+kubebuilder:rbac:groups=([^,]*),(?:namespace=[^,]*,)?resources=([^,]+),verbs=(\S+)$`)

func TestTheManagerMayDoWhatItsCodeDeclaresAndNoMore(t *testing.T) {
	want := declaredRights(t)
	for right := range undeclaredRights {
		want[right] = true
	}
	made := findHelm(t, "helm4").mustTemplate(t, "--values", chartPath+"/ci/everything-values.yaml")
	got := map[string]bool{}
	add(got, get[rbacv1.ClusterRole](t, made, "ClusterRole", managerName).Rules)
	add(got, get[rbacv1.Role](t, made, "Role", managerName+"-certificate").Rules)
	add(got, get[rbacv1.Role](t, made, "Role", managerName+"-leader-election").Rules)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("rights (-declared +granted):\n%s", diff)
	}
}

// What the manager may change where others keep theirs is cut down to names.
func TestRightsOverSharedObjectsAreCutDownToNames(t *testing.T) {
	made := findHelm(t, "helm4").mustTemplate(t, "--values", chartPath+"/ci/everything-values.yaml")
	named := map[string]bool{
		"secrets": true, "validatingwebhookconfigurations": true, "mutatingwebhookconfigurations": true,
	}
	rules := slices.Concat(get[rbacv1.ClusterRole](t, made, "ClusterRole", managerName).Rules,
		get[rbacv1.Role](t, made, "Role", managerName+"-certificate").Rules)
	seen := 0
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			if named[resource] {
				seen++
				if len(rule.ResourceNames) != 1 {
					t.Errorf("rule %v is not cut down to a name", rule)
				}
			}
		}
		if slices.Contains(rule.Resources, "*") || slices.Contains(rule.Verbs, "*") || slices.Contains(rule.APIGroups, "*") {
			t.Errorf("rule %v holds an asterisk", rule)
		}
	}
	if seen != len(named) {
		t.Errorf("%d rules about %v, want one each", seen, slices.Sorted(maps.Keys(named)))
	}
}

// declaredRights reads the markers in the code of the controller.
func declaredRights(t *testing.T) map[string]bool {
	t.Helper()
	rights := map[string]bool{}
	code := os.DirFS("../../controller/internal")
	err := fs.WalkDir(code, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".go" {
			return err
		}
		text, err := fs.ReadFile(code, name)
		for _, found := range marker.FindAllStringSubmatch(string(text), -1) {
			add(rights, []rbacv1.PolicyRule{{
				APIGroups: strings.Split(strings.Trim(found[1], `"`), ";"),
				Resources: strings.Split(found[2], ";"),
				Verbs:     strings.Split(found[3], ";"),
			}})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rights
}

// add lists what rules allow as "group/resource verb".
func add(rights map[string]bool, rules []rbacv1.PolicyRule) {
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					rights[group+"/"+resource+" "+verb] = true
				}
			}
			for _, url := range rule.NonResourceURLs {
				rights[url+" "+verb] = true
			}
		}
	}
}
