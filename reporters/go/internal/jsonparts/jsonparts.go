// SPDX-License-Identifier: Apache-2.0

// Package jsonparts turns the members of a JSON object into metrics in the order in which they
// stand, which maps lose.
package jsonparts

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	milepost "github.com/milepost-dev/milepost/reporters/go"
)

// Metrics are the members of an object: nested objects become groups, numbers keep what they are.
type Metrics []milepost.Part

// Special may turn an object whose key begins with $ into a value.
type Special func(key string, value any) (any, bool)

// Decode reads an object. Special may be nil.
func Decode(text []byte, special Special) (Metrics, error) {
	value, err := Value(text, special)
	if err != nil {
		return nil, err
	}
	parts, isObject := value.(Metrics)
	if !isObject {
		return nil, fmt.Errorf("reading metrics: %s is no object", text)
	}
	return parts, nil
}

// Value reads any value: an object as Metrics, a whole number as int64 or *big.Int.
func Value(text []byte, special Special) (any, error) {
	d := decoder{json.NewDecoder(strings.NewReader(string(text))), special}
	d.UseNumber()
	return d.value()
}

type decoder struct {
	*json.Decoder
	special Special
}

func (d decoder) value() (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return d.list()
		}
		return d.object()
	case json.Number:
		return number(t)
	}
	return token, nil
}

// number tells whole numbers from others by how they are written.
func number(n json.Number) (any, error) {
	if strings.ContainsAny(n.String(), ".eE") {
		return n.Float64()
	}
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	i, _ := new(big.Int).SetString(n.String(), 10)
	return i, nil
}

func (d decoder) list() (any, error) {
	list := []any{}
	for d.More() {
		item, err := d.value()
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := d.Token()
	return list, err
}

func (d decoder) object() (any, error) {
	parts := Metrics{}
	var instead any
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := d.value()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		if other, ok := d.instead(name, value); ok {
			instead = other
		} else if nested, isObject := value.(Metrics); isObject {
			parts = append(parts, milepost.Group(name, nested...))
		} else {
			parts = append(parts, milepost.Metric(name, value))
		}
	}
	_, err := d.Token()
	if instead != nil {
		return instead, err
	}
	return parts, err
}

func (d decoder) instead(name string, value any) (any, bool) {
	if d.special == nil || !strings.HasPrefix(name, "$") {
		return nil, false
	}
	return d.special(name, value)
}
