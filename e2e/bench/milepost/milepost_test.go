// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"strings"
	"testing"
)

func TestConfigFile(t *testing.T) {
	ports := []int{10443, 8081, 9443}
	tests := map[string]struct {
		settings Settings
		want     []string
		without  []string
	}{
		"nothing set leaves the defaults to the manager": {
			want:    []string{"statusServer: {port: 10443}\n", `healthProbeBindAddress: "127.0.0.1:8081"`},
			without: []string{"qps"},
		},
		"a budget has twice itself as burst": {
			settings: Settings{Budget: 100},
			want:     []string{"statusServer: {port: 10443, qps: 100, burst: 200}\n"},
			without:  []string{"clientConnection"},
		},
		"the reconciler's rate is its own": {
			settings: Settings{ReconcileQPS: 500},
			want:     []string{"clientConnection: {qps: 500, burst: 1000}\n", "statusServer: {port: 10443}\n"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := string(configFile(ports, tc.settings))
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			for _, absent := range tc.without {
				if strings.Contains(got, absent) {
					t.Errorf("%q in\n%s", absent, got)
				}
			}
		})
	}
}
