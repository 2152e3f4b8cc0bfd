// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// etcdLimit is the size of the largest object that etcd takes.
const etcdLimit = 1536 << 10

// The TrainJob of each case is so large that room is left for its report.
var largeCases = map[string]struct {
	room int
	code int
	// stored tells whether the report is, metrics whether with them.
	stored, metrics           bool
	upstream, ours, onPurpose string
}{
	"room for the report":                 {room: 64 << 10, code: http.StatusOK, stored: true, metrics: true, upstream: "200", ours: "200"},
	"room for the report without metrics": {room: 8 << 10, code: http.StatusOK, stored: true, upstream: "500", ours: "200, without metrics", onPurpose: oneDetail},
	"no room for a report of any size":    {room: 0, code: http.StatusUnprocessableEntity, upstream: "500", ours: "422", onPurpose: "it is no use to try again"},
}

func TestTrainJobNearTheSizeLimit(t *testing.T) {
	for i, name := range sortedNames(largeCases) {
		tc := largeCases[name]
		t.Run(name, func(t *testing.T) {
			job := fmt.Sprintf("large-%d", i)
			shared.kit.Change = func(j *trainer.TrainJob) { fill(j, etcdLimit-tc.room-largeSlack) }
			c := newCaller(t, job)
			shared.kit.Change = nil
			if tc.room == 0 {
				c.fillUp()
			}
			got := c.post(`{"trainerStatus":{"progressPercentage":100,` + metrics(256, `{"name":"`+strings.Repeat("n", 64)+`","value":"`+strings.Repeat("v", 20)+`"}`) + `,` + stamp + `}}`)
			warned := strings.Contains(strings.Join(got.header.Values("Warning"), " "), "larger than the API server can store")
			if got.code != tc.code || warned != (tc.stored && !tc.metrics) {
				t.Errorf("answer %d %.200s with Warning %.200q", got.code, got.body, got.header.Values("Warning"))
			}
			if tc.code != http.StatusOK && !strings.Contains(got.status.Message, "larger than the API server can store") {
				t.Errorf("message %q does not say why", got.status.Message)
			}
			status := c.stored()
			if (status != nil) != tc.stored || status != nil && (len(status.Metrics) > 0) != tc.metrics {
				t.Errorf("stored is %.200v", status)
			}
			shared.note(t, row{source: "hostile 37", name: "a TrainJob near 1.5 MiB with " + name, upstream: tc.upstream, ours: tc.ours, onPurpose: tc.onPurpose})
		})
	}
}

// largeSlack is what the rest of a TrainJob takes.
const largeSlack = 2 << 10

// fill makes a TrainJob so large.
func fill(j *trainer.TrainJob, size int) {
	const item = 1 << 20 // the longest item of a command
	j.Spec.Trainer = &trainer.Trainer{Command: []string{strings.Repeat("x", item)}, Args: []string{strings.Repeat("y", size-item)}}
}

// fillUp grows an annotation until not one byte more fits.
func (c *caller) fillUp() {
	c.t.Helper()
	key := client.ObjectKeyFromObject(c.set.TrainJob)
	fits, over := 0, 4*largeSlack
	for over-fits > 1 {
		var held trainer.TrainJob
		if err := c.kit.Client.Get(c.t.Context(), key, &held); err != nil {
			c.t.Fatal(err)
		}
		size := (fits + over) / 2
		held.Annotations = map[string]string{"example.com/padding": strings.Repeat("z", size)}
		switch err := c.kit.Client.Update(c.t.Context(), &held); {
		case err == nil:
			fits = size
		case strings.Contains(err.Error(), "too large"):
			over = size
		default:
			c.t.Fatal(err)
		}
	}
	if fits == 0 {
		c.t.Fatal("void: there was no room to begin with")
	}
}
