// SPDX-License-Identifier: Apache-2.0

// Package schemadiff compares two structural schemas of CRDs and says where an object that fits
// the first could be refused, changed or pruned by the second.
//
// It owns the comparison of everything the API server acts on; descriptions do not count. It
// does not own which differences are acceptable: callers choose by kind and path.
package schemadiff

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Kind says what a difference means for an object that fits the first schema.
type Kind string

const (
	// Missing is a property, default or rule that only the first schema has.
	Missing Kind = "missing"

	// Added is a property that only the second schema has, and does not require.
	Added Kind = "added"

	// Different is a value that cannot be ordered, such as a type, default or map key.
	Different Kind = "different"

	// Narrower is a limit, enum, requirement or rule that makes the second schema refuse more.
	Narrower Kind = "narrower"

	// Wider is a limit, enum or requirement that makes the second schema accept more.
	Wider Kind = "wider"
)

// Difference is one place where the schemas differ.
type Difference struct {
	Path   string // ".spec.env[].name"; "[]" is any item, "{}" any value of a map
	Kind   Kind
	Detail string // keyword and both values
}

func (d Difference) String() string { return fmt.Sprintf("%s: %s: %s", d.Path, d.Kind, d.Detail) }

// Compare walks both schemas from their roots. The result is sorted by path, kind and detail.
func Compare(first, second *apiextensionsv1.JSONSchemaProps) []Difference {
	var c comparison
	c.schema("", first, second)
	slices.SortFunc(c.found, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Detail, b.Detail))
	})
	return c.found
}

type comparison struct{ found []Difference }

func (c *comparison) add(path string, kind Kind, format string, args ...any) {
	c.found = append(c.found, Difference{Path: cmp.Or(path, "."), Kind: kind, Detail: fmt.Sprintf(format, args...)})
}

func (c *comparison) schema(path string, first, second *apiextensionsv1.JSONSchemaProps) {
	c.form(path, first, second)
	c.limits(path, first, second)
	c.enum(path, first, second)
	c.required(path, first, second)
	c.rules(path, first, second)
	c.defaultValue(path, first, second)
	c.properties(path, first, second)
	c.items(path, first, second)
	c.additionalProperties(path, first, second)
}

// form compares what decides how a value is read, merged and kept.
func (c *comparison) form(path string, first, second *apiextensionsv1.JSONSchemaProps) {
	type field struct {
		keyword       string
		first, second any
	}
	for _, f := range []field{
		{"type", first.Type, second.Type},
		{"format", first.Format, second.Format},
		{"nullable", first.Nullable, second.Nullable},
		{"x-kubernetes-int-or-string", first.XIntOrString, second.XIntOrString},
		{"x-kubernetes-embedded-resource", first.XEmbeddedResource, second.XEmbeddedResource},
		{"x-kubernetes-preserve-unknown-fields", value(first.XPreserveUnknownFields), value(second.XPreserveUnknownFields)},
		{"x-kubernetes-list-type", value(first.XListType), value(second.XListType)},
		{"x-kubernetes-list-map-keys", first.XListMapKeys, second.XListMapKeys},
		{"x-kubernetes-map-type", value(first.XMapType), value(second.XMapType)},
		{"allOf", first.AllOf, second.AllOf},
		{"anyOf", first.AnyOf, second.AnyOf},
		{"oneOf", first.OneOf, second.OneOf},
		{"not", first.Not, second.Not},
	} {
		if !reflect.DeepEqual(f.first, f.second) {
			c.add(path, Different, "%s: %v, then %v", f.keyword, f.first, f.second)
		}
	}
}

// limits compares bounds. A pattern and a divisor have no order, so only their absence is wider.
func (c *comparison) limits(path string, first, second *apiextensionsv1.JSONSchemaProps) {
	for _, upper := range []struct {
		keyword       string
		first, second *int64
	}{
		{"maxLength", first.MaxLength, second.MaxLength},
		{"maxItems", first.MaxItems, second.MaxItems},
		{"maxProperties", first.MaxProperties, second.MaxProperties},
	} {
		limit(c, path, upper.keyword, upper.first, upper.second, +1)
	}
	for _, lower := range []struct {
		keyword       string
		first, second *int64
	}{
		{"minLength", first.MinLength, second.MinLength},
		{"minItems", first.MinItems, second.MinItems},
		{"minProperties", first.MinProperties, second.MinProperties},
	} {
		limit(c, path, lower.keyword, lower.first, lower.second, -1)
	}
	limit(c, path, "maximum", first.Maximum, second.Maximum, +1)
	limit(c, path, "minimum", first.Minimum, second.Minimum, -1)
	limit(c, path, "multipleOf", first.MultipleOf, second.MultipleOf, 0)
	limit(c, path, "pattern", text(first.Pattern), text(second.Pattern), 0)
	flag(c, path, "exclusiveMaximum", first.ExclusiveMaximum, second.ExclusiveMaximum)
	flag(c, path, "exclusiveMinimum", first.ExclusiveMinimum, second.ExclusiveMinimum)
	flag(c, path, "uniqueItems", first.UniqueItems, second.UniqueItems)
}

// limit compares one bound; order is +1 where more is wider, -1 where less is, and 0 where a
// changed value refuses something in any case.
func limit[T cmp.Ordered](c *comparison, path, keyword string, first, second *T, order int) {
	switch {
	case first == nil && second == nil:
	case second == nil:
		c.add(path, Wider, "%s: %v, then none", keyword, *first)
	case first == nil:
		c.add(path, Narrower, "%s: none, then %v", keyword, *second)
	case *first != *second:
		kind := Narrower
		if cmp.Compare(*second, *first) == order {
			kind = Wider
		}
		c.add(path, kind, "%s: %v, then %v", keyword, *first, *second)
	}
}

// flag compares a keyword that, when true, refuses more.
func flag(c *comparison, path, keyword string, first, second bool) {
	switch {
	case first && !second:
		c.add(path, Wider, "%s: true, then false", keyword)
	case !first && second:
		c.add(path, Narrower, "%s: false, then true", keyword)
	}
}

func (c *comparison) enum(path string, first, second *apiextensionsv1.JSONSchemaProps) {
	if len(first.Enum) == 0 && len(second.Enum) > 0 {
		c.add(path, Narrower, "enum: none, then %d values", len(second.Enum))
		return
	}
	if len(first.Enum) > 0 && len(second.Enum) == 0 {
		c.add(path, Wider, "enum: %d values, then none", len(first.Enum))
		return
	}
	onlyFirst, onlySecond := split(enumValues(first), enumValues(second))
	for _, v := range onlyFirst {
		c.add(path, Narrower, "enum: %s is gone", v)
	}
	for _, v := range onlySecond {
		c.add(path, Wider, "enum: %s is new", v)
	}
}

func (c *comparison) required(path string, first, second *apiextensionsv1.JSONSchemaProps) {
	onlyFirst, onlySecond := split(first.Required, second.Required)
	for _, name := range onlyFirst {
		c.add(path, Wider, "required: %s is no longer", name)
	}
	for _, name := range onlySecond {
		c.add(path, Narrower, "required: %s is newly", name)
	}
}

// rules compares CEL rules as a whole: a rule with another message is another rule, since
// clients show and match the message.
func (c *comparison) rules(path string, first, second *apiextensionsv1.JSONSchemaProps) {
	onlyFirst, onlySecond := split(ruleTexts(first), ruleTexts(second))
	for _, rule := range onlyFirst {
		c.add(path, Missing, "x-kubernetes-validations: %s", rule)
	}
	for _, rule := range onlySecond {
		c.add(path, Narrower, "x-kubernetes-validations: %s", rule)
	}
}

func (c *comparison) defaultValue(path string, first, second *apiextensionsv1.JSONSchemaProps) {
	a, b := raw(first.Default), raw(second.Default)
	switch {
	case bytes.Equal(a, b):
	case b == nil:
		c.add(path, Missing, "default: %s, then none", a)
	case a == nil:
		c.add(path, Different, "default: none, then %s", b)
	default:
		c.add(path, Different, "default: %s, then %s", a, b)
	}
}

func (c *comparison) properties(path string, first, second *apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(first.Properties)) {
		sub := path + "." + name
		a, b := first.Properties[name], second.Properties[name]
		if _, ok := second.Properties[name]; !ok {
			c.add(sub, Missing, "property")
			continue
		}
		c.schema(sub, &a, &b)
	}
	for _, name := range slices.Sorted(maps.Keys(second.Properties)) {
		if _, ok := first.Properties[name]; !ok {
			c.add(path+"."+name, Added, "property")
		}
	}
}

func (c *comparison) items(path string, first, second *apiextensionsv1.JSONSchemaProps) {
	a, b := first.Items, second.Items
	switch {
	case a == nil && b == nil:
	case a == nil || b == nil || a.Schema == nil || b.Schema == nil:
		c.add(path+"[]", Different, "items: %v, then %v", a, b)
	default:
		c.schema(path+"[]", a.Schema, b.Schema)
	}
}

func (c *comparison) additionalProperties(path string, first, second *apiextensionsv1.JSONSchemaProps) {
	a, b := first.AdditionalProperties, second.AdditionalProperties
	switch {
	case a == nil && b == nil:
	case a == nil || b == nil || a.Allows != b.Allows || (a.Schema == nil) != (b.Schema == nil):
		c.add(path+"{}", Different, "additionalProperties: %v, then %v", a, b)
	case a.Schema != nil:
		c.schema(path+"{}", a.Schema, b.Schema)
	}
}
