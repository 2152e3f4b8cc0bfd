// SPDX-License-Identifier: Apache-2.0

package load

import (
	"net"
	"strconv"
	"time"
)

// SequenceMetric is the metric that numbers the reports of a job. Clients send their step there, so
// it costs the server nothing extra, and it tells which report a stored status came from.
const SequenceMetric = "current_step"

// totalSteps is the length of the pretended training.
const totalSteps = 1_000_000

// pythonTime is how Python writes a time with microseconds in UTC: an offset, never a Z.
const pythonTime = "2006-01-02T15:04:05.000000+00:00"

// report is the content of one report.
type report struct {
	at    time.Time
	step  uint32 // counts the reports of the job from 1
	base  uint32 // added to the step in SequenceMetric
	final bool
}

// sequence is the value of SequenceMetric.
func (r report) sequence() uint32 { return r.base + r.step }

// progress rises with the reports and reaches 100 with the final one only, as in the published
// clients.
func (r report) progress() int64 {
	const perPercent = 20
	if r.final {
		return 100
	}
	return min(99, int64(r.step)/perPercent)
}

// appendBody writes the JSON that published clients send: six metrics, spaces behind colons and
// commas.
func appendBody(b []byte, r report) []byte {
	step := float64(r.step)
	b = append(b, `{"trainerStatus": {"lastUpdatedTime": "`...)
	b = r.at.UTC().AppendFormat(b, pythonTime)
	b = append(b, `", "progressPercentage": `...)
	b = strconv.AppendInt(b, r.progress(), 10)
	b = append(b, `, "estimatedRemainingSeconds": `...)
	b = strconv.AppendInt(b, remainingSeconds(r), 10)
	b = append(b, `, "metrics": [{"name": "loss", "value": "`...)
	b = strconv.AppendFloat(b, 2.302585092994046/(1+step/100), 'g', -1, 64)
	b = append(b, `"}, {"name": "grad_norm", "value": "`...)
	b = strconv.AppendFloat(b, 1.4142135623730951/(1+step/300), 'g', -1, 64)
	b = append(b, `"}, {"name": "learning_rate", "value": "`...)
	b = strconv.AppendFloat(b, 5e-05*(1-step/totalSteps), 'g', -1, 64)
	b = append(b, `"}, {"name": "`+SequenceMetric+`", "value": "`...)
	b = strconv.AppendUint(b, uint64(r.sequence()), 10)
	b = append(b, `"}, {"name": "total_steps", "value": "`...)
	b = strconv.AppendInt(b, totalSteps, 10)
	b = append(b, `"}, {"name": "current_epoch", "value": "`...)
	b = strconv.AppendFloat(b, float64(r.step/10)/10, 'f', 2, 64)
	return append(b, `"}]}}`...)
}

func remainingSeconds(r report) int64 {
	if r.final {
		return 0
	}
	return max(1, 3600-int64(r.step))
}

// requestHead is the part of a request that stays the same for all reports of a target, up to the
// value of Content-Length.
func requestHead(address string, t Target, reconnect bool) []byte {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "443" {
		address = host
	}
	head := "POST " + t.Path + " HTTP/1.1\r\nHost: " + address + "\r\n"
	if reconnect {
		head += "Accept-Encoding: identity\r\nUser-Agent: Python-urllib/3.13\r\nConnection: close\r\n"
	} else {
		head += "User-Agent: python-requests/2.32.5\r\nAccept-Encoding: gzip, deflate\r\nAccept: */*\r\nConnection: keep-alive\r\n"
	}
	return []byte(head + "Content-Type: application/json\r\nAuthorization: Bearer " + t.Token + "\r\nContent-Length: ")
}

// appendRequest writes a whole request.
func appendRequest(b, head, body []byte) []byte {
	b = append(b, head...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, body...)
}
