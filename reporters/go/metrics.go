// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"cmp"
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/milepost-dev/milepost/reporters/go/internal/wire"
)

// metricList is the metrics of one call as they will be sent, and the names of those that cannot.
type metricList struct {
	items  []wire.Metric
	unfit  []string
	prefix string
	// within holds the maps that the present one is an entry of.
	within []uintptr
	// seen counts entries of nested maps.
	seen int
}

// mostEntries of nested maps are looked at in one call: maps that share maps can have more than there is time to see.
const mostEntries = 1 << 16

// add appends a metric, or the entries of a map. D7, D8.
func (l *metricList) add(name string, value any) {
	name = l.prefix + strings.ToValidUTF8(name, "\ufffd")
	if nested := reflect.ValueOf(value); nested.Kind() == reflect.Map {
		l.addMap(name, nested)
		return
	}
	text, ok := valueText(value)
	if !ok || !fits(name, wire.MetricNameMinLength, wire.MetricNameMaxLength) ||
		!fits(text, wire.MetricValueMinLength, wire.MetricValueMaxLength) {
		l.unfit = append(l.unfit, name)
		return
	}
	l.items = append(l.items, wire.Metric{Name: name, Value: text})
}

func (l *metricList) addMap(name string, nested reflect.Value) {
	// A map that holds itself has no end, and under two keys a limit of depth alone would not save us.
	holdsItself := slices.Contains(l.within, nested.Pointer())
	if nested.Type().Key().Kind() != reflect.String || holdsItself || !fits(name, 0, wire.MetricNameMaxLength) {
		l.unfit = append(l.unfit, name)
		return
	}
	keys := nested.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	inner := *l
	inner.prefix, inner.within = name+"/", append(slices.Clip(l.within), nested.Pointer())
	for _, key := range keys {
		if inner.seen++; inner.seen > mostEntries {
			break
		}
		inner.add(key.String(), nested.MapIndex(key).Interface())
	}
	l.items, l.unfit, l.seen = inner.items, inner.unfit, inner.seen
}

func (l *metricList) group(name string, parts []Part) {
	inner := call{metrics: metricList{items: l.items, unfit: l.unfit, prefix: l.prefix + strings.ToValidUTF8(name, "\ufffd") + "/"}}
	for _, part := range parts {
		if part != nil {
			part.addTo(&inner)
		}
	}
	l.items, l.unfit = inner.metrics.items, inner.metrics.unfit
}

func fits(text string, least, most int) bool {
	n := len(text)
	if n > most {
		n = utf8.RuneCountInString(text)
	}
	return least <= n && n <= most
}

// valueText writes a value as it is sent. D7.
func valueText(value any) (string, bool) {
	switch v := value.(type) {
	case float64:
		return formatFloat(v, 64), true
	case int:
		return strconv.Itoa(v), true
	case string:
		return strings.ToValidUTF8(v, "\ufffd"), true
	case *big.Int:
		if v == nil || v.BitLen() > 4*wire.MetricValueMaxLength { // surely too long, and slow to write
			return "", false
		}
		return v.String(), true
	}
	return kindText(reflect.ValueOf(value))
}

// kindText writes values of named types.
func kindText(v reflect.Value) (string, bool) {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return strconv.FormatUint(v.Uint(), 10), true
	case reflect.Float32:
		return formatFloat(v.Float(), 32), true
	case reflect.Float64:
		return formatFloat(v.Float(), 64), true
	case reflect.String:
		return strings.ToValidUTF8(v.String(), "\ufffd"), true
	case reflect.Bool:
		if v.Bool() {
			return "1", true
		}
		return "0", true
	}
	return "", false
}

const (
	maxBody = 64 << 10
	// restOfBody is room for everything but the metrics.
	restOfBody = 256
)

// selectMetrics drops what the server would not take. What is marked to be kept comes first; the
// order stays. D9.
func selectMetrics(items []wire.Metric, keep []string) []wire.Metric {
	if len(items) <= wire.TrainerStatusMetricsMaxItems && bounded(items) {
		return items
	}
	taken := make([]bool, len(items))
	count, room := 0, maxBody-restOfBody
	for _, marked := range []bool{true, false} {
		for i, item := range items {
			if slices.Contains(keep, item.Name) != marked {
				continue
			}
			if size := encodedSize(item); count < wire.TrainerStatusMetricsMaxItems && size <= room {
				taken[i], count, room = true, count+1, room-size
			}
		}
	}
	selected := make([]wire.Metric, 0, count)
	for i, item := range items {
		if taken[i] {
			selected = append(selected, item)
		}
	}
	return selected
}

// bounded tells cheaply that the metrics fit into a body even if every byte needs an escape.
func bounded(items []wire.Metric) bool {
	size := 0
	for _, item := range items {
		size += len(`{"name":"","value":""},`) + 6*(len(item.Name)+len(item.Value))
	}
	return size <= maxBody-restOfBody
}

func encodedSize(item wire.Metric) int {
	text, _ := json.Marshal(item) // two texts can always be encoded; HTML escapes only make it longer
	return len(text) + 1
}
