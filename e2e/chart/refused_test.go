// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"path/filepath"
	"strings"
	"testing"
)

// valuesFiles are the sets of values that the chart is tested and linted with.
func valuesFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(chartPath + "/ci/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no values to test with, error %v", err)
	}
	return files
}

func TestWrongValuesAreRefusedWithTheReason(t *testing.T) {
	for situation, tc := range map[string]struct{ set, want string }{
		"a value that does not exist":         {set: "dataCache.enabled=true", want: "dataCache"},
		"a misspelled value deep down":        {set: "manager.config.statusServer.prot=1", want: "prot"},
		"an unknown feature gate":             {set: "manager.config.featureGates.Typo=true", want: "Typo"},
		"a port above the highest":            {set: "manager.config.statusServer.port=65536", want: "manager/config/statusServer/port"},
		"a port that is no number":            {set: "manager.config.webhook.port=https", want: "manager/config/webhook/port"},
		"a negative rate":                     {set: "manager.config.statusServer.qps=-1", want: "manager/config/statusServer/qps"},
		"no worker for TrainJobs":             {set: "manager.config.controller.groupKindConcurrency.trainJob=0", want: "groupKindConcurrency/trainJob"},
		"an address without a port":           {set: "manager.config.metrics.bindAddress=localhost", want: "manager/config/metrics/bindAddress"},
		"a duration without a unit":           {set: "manager.config.leaderElection.leaseDuration=15", want: "leaderElection/leaseDuration"},
		"a TLS version that does not exist":   {set: "manager.config.tls.minVersion=1.4", want: "manager/config/tls/minVersion"},
		"another failure policy":              {set: "webhook.failurePolicy=Maybe", want: "webhook/failurePolicy"},
		"a name that is no DNS label":         {set: "fullnameOverride=My_Name", want: "fullnameOverride"},
		"two servers on one port":             {set: "manager.config.statusServer.port=9443", want: "manager.config.statusServer.port and manager.config.webhook.port both take port 9443"},
		"several managers without a leader":   {set: "manager.replicas=2,manager.config.leaderElection.leaderElect=false", want: "leaderElect has to be true"},
		"a flag without its dashes":           {set: "manager.extraArgs={zap-log-level=2}", want: "manager/extraArgs/0"},
		"a switch that is neither on nor off": {set: "crds.enabled=maybe", want: "crds/enabled"},
	} {
		t.Run(situation, func(t *testing.T) {
			eachHelm(t, func(t *testing.T, h helm) {
				_, err := h.template(t, "--set", tc.set)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error is %v, want one that contains %q", err, tc.want)
				}
			})
		})
	}
}
