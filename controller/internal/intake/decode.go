// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"fmt"
	"strings"

	"github.com/milepost-dev/milepost/controller/internal/report"
)

const (
	fieldStatus    = "trainerStatus"
	fieldProgress  = "progressPercentage"
	fieldRemaining = "estimatedRemainingSeconds"
	fieldMetrics   = "metrics"
	fieldTime      = "lastUpdatedTime"
	fieldName      = "name"
	fieldValue     = "value"

	// maxDraftMetrics bounds the memory of one request. It leaves room for 256
	// good entries among as many bad ones.
	maxDraftMetrics = 512
	// maxFieldErrors bounds the answer to a body full of wrong types.
	maxFieldErrors = 10
	// maxQuoted bounds what is quoted of the sender's text in a message.
	maxQuoted = 40

	reasonInvalid = "FieldValueInvalid"
	reasonType    = "FieldValueTypeInvalid"
)

// decoder reads a request body into a draft. Keys are matched without regard to
// case and a key that stands twice overwrites, as clients of the Kubernetes API
// are used to.
type decoder struct {
	scanner
	draft   report.Draft
	present bool
	wrong   report.Invalid
}

// decodeUpdate reads a request body. The draft is nil when the body has no
// trainerStatus. The error is a report.Invalid.
func decodeUpdate(body string) (*report.Draft, error) {
	d := &decoder{scanner: scanner{text: body}}
	d.update()
	d.end()
	if d.err != nil {
		return nil, report.Invalid{{Reason: reasonInvalid, Message: d.err.Error()}}
	}
	if len(d.wrong) > 0 {
		return nil, d.wrong
	}
	if !d.present {
		return nil, nil
	}
	return &d.draft, nil
}

func (d *decoder) update() {
	switch d.peek() {
	case '{':
		d.fields(func(key string) {
			if keyIs(key, fieldStatus) {
				d.trainerStatus()
			} else {
				d.skip()
			}
		})
	case 'n':
		d.literal()
	default:
		if len(strings.TrimSpace(d.text)) == 0 {
			d.fail(0, "the body is empty")
			return
		}
		d.typeError("", "an object")
	}
}

func (d *decoder) trainerStatus() {
	switch d.peek() {
	case '{':
		d.present = true
		d.fields(d.statusField)
	case 'n':
		d.literal()
		d.present, d.draft = false, report.Draft{}
	default:
		d.typeError(fieldStatus, "an object")
	}
}

func (d *decoder) statusField(key string) {
	switch {
	case keyIs(key, fieldProgress):
		d.draft.Progress = d.numberField(fieldProgress)
	case keyIs(key, fieldRemaining):
		d.draft.Remaining = d.numberField(fieldRemaining)
	case keyIs(key, fieldMetrics):
		d.metrics()
	case keyIs(key, fieldTime):
		d.timeField()
	default:
		d.skip()
	}
}

func (d *decoder) numberField(name string) report.Number {
	switch c := d.peek(); {
	case c == '-' || c >= '0' && c <= '9':
		return report.Number{Literal: d.number()}
	case c == 'n':
		d.literal()
	default:
		d.typeError(statusPath(name), "a number")
	}
	return report.Number{}
}

func (d *decoder) timeField() {
	d.draft.LastUpdatedTime = report.Text{}
	switch d.peek() {
	case '"':
		d.draft.LastUpdatedTime = report.Text{Set: true, Value: d.str()}
	case 'n':
		d.literal()
	default:
		d.typeError(statusPath(fieldTime), "a time as a string")
	}
}

func (d *decoder) metrics() {
	d.draft.Metrics, d.draft.MoreMetrics = nil, 0
	switch d.peek() {
	case '[':
		d.draft.Metrics = make([]report.DraftMetric, 0, 8)
		d.elements(func() {
			if len(d.draft.Metrics) == maxDraftMetrics {
				d.draft.MoreMetrics++
				d.skip()
				return
			}
			d.draft.Metrics = append(d.draft.Metrics, d.metric())
		})
	case 'n':
		d.literal()
	default:
		d.typeError(statusPath(fieldMetrics), "a list")
	}
}

func (d *decoder) metric() report.DraftMetric {
	if d.peek() != '{' {
		d.skip()
		return report.DraftMetric{Fault: report.MetricNotObject}
	}
	var m report.DraftMetric
	var nameFault, valueFault report.MetricFault
	d.fields(func(key string) {
		switch {
		case keyIs(key, fieldName):
			m.Name, nameFault = d.metricText(report.MetricNameNotText, false)
		case keyIs(key, fieldValue):
			m.Value, valueFault = d.metricText(report.MetricValueNotText, true)
		default:
			d.skip()
		}
	})
	m.Fault = nameFault
	if m.Fault == report.MetricSound {
		m.Fault = valueFault
	}
	return m
}

// metricText reads a name or a value; only a value may be a number.
func (d *decoder) metricText(fault report.MetricFault, numberToo bool) (string, report.MetricFault) {
	switch c := d.peek(); {
	case c == '"':
		return d.str(), report.MetricSound
	case numberToo && (c == '-' || c >= '0' && c <= '9'):
		return d.number(), report.MetricSound
	}
	d.skip()
	return "", fault
}

// typeError consumes a value of the wrong type and notes it.
func (d *decoder) typeError(field, want string) {
	start := d.pos
	d.skip()
	if d.err != nil || len(d.wrong) == maxFieldErrors {
		return
	}
	message := fmt.Sprintf("byte %d: %s stands where %s belongs", start, describe(d.text[start:d.pos]), want)
	d.wrong = append(d.wrong, report.FieldError{Field: field, Reason: reasonType, Message: message})
}

// describe names a JSON value of the sender for a message.
func describe(value string) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		if len(value) > maxQuoted || !isPlain(value[1:len(value)-1]) {
			return "a string"
		}
		return "the string " + value
	}
	if len(value) > maxQuoted {
		return "a number"
	}
	return value
}

// isPlain tells whether text can stand in a message or a header as it is.
func isPlain(text string) bool {
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func keyIs(key, field string) bool {
	return key == field || strings.EqualFold(key, field)
}

func statusPath(field string) string { return fieldStatus + "." + field }
