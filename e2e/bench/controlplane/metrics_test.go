// SPDX-License-Identifier: Apache-2.0

package controlplane

import "testing"

func TestParseWrites(t *testing.T) {
	tests := map[string]struct {
		metrics string
		want    Writes
		wantErr bool
	}{
		"status changes are counted over verbs and codes": {
			metrics: `# HELP apiserver_request_total Counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="trainer.kubeflow.org",resource="trainjobs",scope="resource",subresource="status",verb="APPLY",version="v1alpha1"} 40
apiserver_request_total{code="200",component="apiserver",dry_run="",group="trainer.kubeflow.org",resource="trainjobs",scope="resource",subresource="status",verb="PATCH",version="v1alpha1"} 2
apiserver_request_total{code="409",component="apiserver",dry_run="",group="trainer.kubeflow.org",resource="trainjobs",scope="resource",subresource="status",verb="APPLY",version="v1alpha1"} 1e+01
`,
			want: Writes{Status: 52},
		},
		"reads and leases do not count": {
			metrics: `apiserver_request_total{code="200",resource="trainjobs",subresource="status",verb="GET"} 7
apiserver_request_total{code="200",resource="trainjobs",subresource="",verb="WATCH"} 7
apiserver_request_total{code="200",resource="leases",subresource="",verb="PUT"} 7
`,
		},
		"other resources are kept apart": {
			metrics: `apiserver_request_total{code="201",resource="trainjobs",subresource="",verb="POST"} 3
apiserver_request_total{code="201",resource="configmaps",subresource="",verb="APPLY"} 4
apiserver_request_duration_seconds_count{resource="trainjobs",subresource="status",verb="APPLY"} 9
`,
			want: Writes{TrainJobs: 3, Others: 4},
		},
		"a sample without a number is an error": {
			metrics: `apiserver_request_total{resource="trainjobs",verb="PATCH"} many`,
			wantErr: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseWrites([]byte(tc.metrics))
			if (err != nil) != tc.wantErr || got != tc.want {
				t.Errorf("parseWrites() = %+v, %v, want %+v, error %v", got, err, tc.want, tc.wantErr)
			}
		})
	}
}
