// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"strings"
	"testing"
)

func TestConfigFile(t *testing.T) {
	ports := []int{10443, 8081, 9443}
	tests := map[string]struct {
		limits Limits
		want   []string
	}{
		"no limits mean the published defaults": {
			want: []string{"clientConnection: {qps: 50, burst: 100}", "statusServer: {port: 10443, qps: 5, burst: 10}"},
		},
		"limits of one client leave the other alone": {
			limits: Limits{StatusQPS: 1000, StatusBurst: 2000},
			want:   []string{"clientConnection: {qps: 50, burst: 100}", "statusServer: {port: 10443, qps: 1000, burst: 2000}"},
		},
		"ports are those found free": {
			want: []string{`healthProbeBindAddress: "127.0.0.1:8081"`, "webhook: {host: 127.0.0.1, port: 9443}"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := string(configFile(ports, tc.limits))
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
		})
	}
}
