// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// value is what a pointer points at, and "none" for nil, so that details read well.
func value[T any](p *T) any {
	if p == nil {
		return "none"
	}
	return *p
}

// text turns the empty string, which means absent, into nil.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func raw(v *apiextensionsv1.JSON) []byte {
	if v == nil {
		return nil
	}
	return compact(v.Raw)
}

// compact brings equal JSON values into equal bytes.
func compact(data []byte) []byte {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return data
	}
	out, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return out
}

func enumValues(s *apiextensionsv1.JSONSchemaProps) []string {
	var values []string
	for _, v := range s.Enum {
		values = append(values, string(compact(v.Raw)))
	}
	return values
}

func ruleTexts(s *apiextensionsv1.JSONSchemaProps) []string {
	var rules []string
	for _, r := range s.XValidations {
		rules = append(rules, fmt.Sprintf("rule %q message %q expression %q reason %v field %q optionalOldSelf %v",
			r.Rule, r.Message, r.MessageExpression, value(r.Reason), r.FieldPath, value(r.OptionalOldSelf)))
	}
	return rules
}

// split returns what only one of two lists holds.
func split(first, second []string) (onlyFirst, onlySecond []string) {
	for _, v := range first {
		if !slices.Contains(second, v) {
			onlyFirst = append(onlyFirst, v)
		}
	}
	for _, v := range second {
		if !slices.Contains(first, v) {
			onlySecond = append(onlySecond, v)
		}
	}
	return onlyFirst, onlySecond
}
