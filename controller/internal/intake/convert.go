// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportapi"
)

// accepted is the answer to a report, and to the question for one. It stands in
// for the generated answers because it may carry several Warning headers, and
// because it is written for each of thousands of reports a second.
type accepted struct {
	report *report.Report
	notes  []string
}

var (
	_ reportapi.ReportTrainJobStatusResponseObject = accepted{}
	_ reportapi.ReadTrainJobStatusResponseObject   = accepted{}
)

// VisitReportTrainJobStatusResponse answers a POST.
func (a accepted) VisitReportTrainJobStatusResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitReadTrainJobStatusResponse answers a GET.
func (a accepted) VisitReadTrainJobStatusResponse(w http.ResponseWriter) error { return a.write(w) }

// FromAPIUpdate reads the body of a report. The draft is nil when the body says
// nothing; the error is a report.Invalid, or that of the connection.
func FromAPIUpdate(body io.Reader) (*report.Draft, error) {
	text, err := readBody(body)
	if err != nil {
		return nil, err
	}
	return decodeUpdate(text)
}

// ToAPIUpdate makes the answer to a report that was accepted.
func ToAPIUpdate(rep report.Report, notes []string, outcome report.Outcome) reportapi.ReportTrainJobStatusResponseObject {
	switch outcome {
	case report.Superseded:
		notes = append([]string{noteSuperseded}, notes...)
	case report.Trimmed:
		notes = append([]string{noteTrimmed}, notes...)
		rep.Metrics = nil
	case report.Accepted, report.Stored:
	}
	return accepted{report: &rep, notes: notes}
}

var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 4096)) }}

func (a accepted) write(w http.ResponseWriter) error {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	*buf = appendUpdate((*buf)[:0], a.report)
	header := w.Header()
	setWarnings(header, a.notes)
	return writeJSON(w, http.StatusOK, *buf)
}

func writeJSON(w http.ResponseWriter, code int, body []byte) error {
	header := w.Header()
	header["Content-Type"] = jsonType
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(code)
	_, err := w.Write(body)
	return err
}

var jsonType = []string{"application/json"}

// appendUpdate writes the JSON of reportapi.TrainJobStatusUpdate. A test holds
// it against the encoding of the generated type.
func appendUpdate(b []byte, rep *report.Report) []byte {
	if rep == nil {
		return append(b, "{}\n"...)
	}
	b = append(b, `{"trainerStatus":{`...)
	if rep.ProgressPercentage != nil {
		b = append(b, `"progressPercentage":`...)
		b = strconv.AppendInt(b, int64(*rep.ProgressPercentage), 10)
		b = append(b, ',')
	}
	if rep.EstimatedRemainingSeconds != nil {
		b = append(b, `"estimatedRemainingSeconds":`...)
		b = strconv.AppendInt(b, int64(*rep.EstimatedRemainingSeconds), 10)
		b = append(b, ',')
	}
	if len(rep.Metrics) > 0 {
		b = append(b, `"metrics":[`...)
		for i, m := range rep.Metrics {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"name":`...)
			b = appendString(b, m.Name)
			b = append(b, `,"value":`...)
			b = appendString(b, m.Value)
			b = append(b, '}')
		}
		b = append(b, `],`...)
	}
	b = append(b, `"lastUpdatedTime":"`...)
	b = rep.LastUpdatedTime.UTC().AppendFormat(b, time.RFC3339)
	return append(b, "\"}}\n"...)
}

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string. Besides what JSON demands it escapes what
// could start markup, so that an answer shown by a browser stays text.
func appendString(b []byte, text string) []byte {
	b = append(b, '"')
	clean := 0
	for i, r := range text {
		if standsAsItIs(r) {
			continue
		}
		size := max(utf8.RuneLen(r), 1)
		if r == utf8.RuneError {
			// Bytes that are no UTF-8 cannot come from the decoder; if they come
			// from elsewhere they must not reach a client.
			if _, size = utf8.DecodeRuneInString(text[i:]); size > 1 {
				continue
			}
		}
		b = append(b, text[clean:i]...)
		b, clean = appendEscape(b, r), i+size
	}
	b = append(b, text[clean:]...)
	return append(b, '"')
}

func standsAsItIs(r rune) bool {
	switch r {
	case '"', '\\', '<', '>', '&', '\u2028', '\u2029', utf8.RuneError:
		return false
	}
	return r >= ' '
}

func appendEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', hexDigits[r>>12&0xf], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
}
