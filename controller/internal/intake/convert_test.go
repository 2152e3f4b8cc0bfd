// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportapi"
)

func TestAnswerIsTheJSONOfTheGeneratedType(t *testing.T) {
	cases := map[string]*report.Report{
		"nothing":   nil,
		"time only": {LastUpdatedTime: testNow},
		"everything": {
			ProgressPercentage: new(int32(0)), EstimatedRemainingSeconds: new(int32(2147483647)), LastUpdatedTime: testNow.In(time.FixedZone("", 3600)),
			Metrics: []report.Metric{{Name: "a\"\\\n\r\t\x00\x1f<>&", Value: "é😀\u2028\u2029\ufffd"}, {Name: "bad\xff", Value: "x"}},
		},
	}
	for name, rep := range cases {
		t.Run(name, func(t *testing.T) {
			var got reportapi.TrainJobStatusUpdate
			if err := json.Unmarshal(appendUpdate(nil, rep), &got); err != nil {
				t.Fatal(err)
			}
			var want reportapi.TrainJobStatusUpdate
			if rep != nil {
				utc := rep.LastUpdatedTime.UTC()
				want.TrainerStatus = &reportapi.TrainerStatus{
					ProgressPercentage: rep.ProgressPercentage, EstimatedRemainingSeconds: rep.EstimatedRemainingSeconds, LastUpdatedTime: &utc,
				}
				if rep.Metrics != nil {
					list := make([]reportapi.Metric, 0, len(rep.Metrics))
					for _, m := range rep.Metrics {
						list = append(list, reportapi.Metric{Name: strings.ToValidUTF8(m.Name, "\ufffd"), Value: m.Value})
					}
					want.TrainerStatus.Metrics = &list
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}
