// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type props = apiextensionsv1.JSONSchemaProps

// sample has one of everything that the comparison looks at.
func sample() *props {
	return &props{
		Type:          "object",
		MinProperties: new(int64(1)),
		Required:      []string{"name"},
		XValidations:  apiextensionsv1.ValidationRules{{Rule: "self.name != ''", Message: "name it"}},
		Properties: map[string]props{
			"name": {Type: "string", MinLength: new(int64(1)), MaxLength: new(int64(63)), Pattern: "^[a-z]+$"},
			"mode": {
				Type:    "string",
				Default: &apiextensionsv1.JSON{Raw: []byte(`"hard"`)},
				Enum:    []apiextensionsv1.JSON{{Raw: []byte(`"hard"`)}, {Raw: []byte(`"soft"`)}},
			},
			"count": {Type: "integer", Format: "int32", Minimum: new(0.0), Maximum: new(100.0)},
			"env": {
				Type: "array", MaxItems: new(int64(128)),
				XListType: new("map"), XListMapKeys: []string{"name"},
				Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &props{
					Type:       "object",
					Properties: map[string]props{"name": {Type: "string"}},
				}},
			},
			"labels": {
				Type:                 "object",
				AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &props{Type: "string"}},
			},
			"amount": {XIntOrString: true, AnyOf: []props{{Type: "integer"}, {Type: "string"}}},
		},
	}
}

// change edits one property of the sample.
func change(name string, edit func(p *props)) func(root *props) {
	return func(root *props) {
		p := root.Properties[name]
		edit(&p)
		root.Properties[name] = p
	}
}

func TestCompareNamesEveryChange(t *testing.T) {
	cases := map[string]struct {
		change func(root *props)
		want   []string
	}{
		"nothing changed": {change: func(*props) {}},
		"a description does not count": {
			change: func(root *props) { root.Description = "new words" },
		},
		"a property is gone": {
			change: func(root *props) { delete(root.Properties, "mode") },
			want:   []string{".mode: missing: property"},
		},
		"a property is new": {
			change: func(root *props) { root.Properties["state"] = props{Type: "string"} },
			want:   []string{".state: added: property"},
		},
		"a new property is required": {
			change: func(root *props) {
				root.Properties["state"] = props{Type: "string"}
				root.Required = append(root.Required, "state")
			},
			want: []string{".: narrower: required: state is newly", ".state: added: property"},
		},
		"a property is required no longer": {
			change: func(root *props) { root.Required = nil },
			want:   []string{".: wider: required: name is no longer"},
		},
		"a type changed deep inside a list": {
			change: change("env", func(p *props) { p.Items.Schema.Properties["name"] = props{Type: "integer"} }),
			want:   []string{".env[].name: different: type: string, then integer"},
		},
		"the type of the values of a map changed": {
			change: change("labels", func(p *props) { p.AdditionalProperties.Schema.Type = "integer" }),
			want:   []string{".labels{}: different: type: string, then integer"},
		},
		"a format changed": {
			change: change("count", func(p *props) { p.Format = "int64" }),
			want:   []string{".count: different: format: int32, then int64"},
		},
		"null is taken": {
			change: change("count", func(p *props) { p.Nullable = true }),
			want:   []string{".count: different: nullable: false, then true"},
		},
		"unknown fields are kept": {
			change: change("labels", func(p *props) { p.XPreserveUnknownFields = new(true) }),
			want:   []string{".labels: different: x-kubernetes-preserve-unknown-fields: none, then true"},
		},
		"numbers are no longer taken beside text": {
			change: change("amount", func(p *props) { p.XIntOrString = false }),
			want:   []string{".amount: different: x-kubernetes-int-or-string: true, then false"},
		},
		"a list is merged in another way": {
			change: change("env", func(p *props) { p.XListType, p.XListMapKeys = new("atomic"), nil }),
			want: []string{
				".env: different: x-kubernetes-list-map-keys: [name], then []",
				".env: different: x-kubernetes-list-type: map, then atomic",
			},
		},
		"an upper bound fell": {
			change: change("name", func(p *props) { p.MaxLength = new(int64(62)) }),
			want:   []string{".name: narrower: maxLength: 63, then 62"},
		},
		"an upper bound rose": {
			change: change("env", func(p *props) { p.MaxItems = new(int64(129)) }),
			want:   []string{".env: wider: maxItems: 128, then 129"},
		},
		"an upper bound is new": {
			change: change("mode", func(p *props) { p.MaxLength = new(int64(4)) }),
			want:   []string{".mode: narrower: maxLength: none, then 4"},
		},
		"an upper bound is gone": {
			change: change("count", func(p *props) { p.Maximum = nil }),
			want:   []string{".count: wider: maximum: 100, then none"},
		},
		"a lower bound rose": {
			change: change("count", func(p *props) { p.Minimum = new(1.0) }),
			want:   []string{".count: narrower: minimum: 0, then 1"},
		},
		"a lower bound fell": {
			change: func(root *props) { root.MinProperties = new(int64(0)) },
			want:   []string{".: wider: minProperties: 1, then 0"},
		},
		"a bound itself is no longer allowed": {
			change: change("count", func(p *props) { p.ExclusiveMaximum = true }),
			want:   []string{".count: narrower: exclusiveMaximum: false, then true"},
		},
		"a pattern changed": {
			change: change("name", func(p *props) { p.Pattern = "^[a-z0-9]+$" }),
			want:   []string{".name: narrower: pattern: ^[a-z]+$, then ^[a-z0-9]+$"},
		},
		"an enum lost a value and gained another": {
			change: change("mode", func(p *props) { p.Enum[1].Raw = []byte(`"firm"`) }),
			want:   []string{`.mode: narrower: enum: "soft" is gone`, `.mode: wider: enum: "firm" is new`},
		},
		"an enum is gone": {
			change: change("mode", func(p *props) { p.Enum = nil }),
			want:   []string{".mode: wider: enum: 2 values, then none"},
		},
		"an enum is new": {
			change: change("name", func(p *props) { p.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}} }),
			want:   []string{".name: narrower: enum: none, then 1 values"},
		},
		"a default changed": {
			change: change("mode", func(p *props) { p.Default.Raw = []byte(`"soft"`) }),
			want:   []string{`.mode: different: default: "hard", then "soft"`},
		},
		"a default is gone": {
			change: change("mode", func(p *props) { p.Default = nil }),
			want:   []string{`.mode: missing: default: "hard", then none`},
		},
		"a default is new": {
			change: change("count", func(p *props) { p.Default = &apiextensionsv1.JSON{Raw: []byte(`1`)} }),
			want:   []string{".count: different: default: none, then 1"},
		},
		"a rule is gone": {
			change: func(root *props) { root.XValidations = nil },
			want: []string{`.: missing: x-kubernetes-validations: rule "self.name != ''" message "name it" ` +
				`expression "" reason none field "" optionalOldSelf none`},
		},
		"a rule is new": {
			change: change("count", func(p *props) {
				p.XValidations = apiextensionsv1.ValidationRules{{Rule: "self == oldSelf", Message: "field is immutable"}}
			}),
			want: []string{`.count: narrower: x-kubernetes-validations: rule "self == oldSelf" message "field is immutable" ` +
				`expression "" reason none field "" optionalOldSelf none`},
		},
		"a rule says something else": {
			change: func(root *props) { root.XValidations[0].Message = "give it a name" },
			want: []string{
				`.: missing: x-kubernetes-validations: rule "self.name != ''" message "name it" ` +
					`expression "" reason none field "" optionalOldSelf none`,
				`.: narrower: x-kubernetes-validations: rule "self.name != ''" message "give it a name" ` +
					`expression "" reason none field "" optionalOldSelf none`,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			second := sample()
			tc.change(second)
			var got []string
			for _, difference := range Compare(sample(), second) {
				got = append(got, difference.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
