// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	configapi "github.com/milepost-dev/milepost/controller/api/config/v1alpha1"
)

// TestOurConfigurationDefaults names the only defaults in which we differ: the status endpoint
// writes more often.
func TestOurConfigurationDefaults(t *testing.T) {
	defaulted := &configapi.Configuration{}
	configapi.SetDefaults_Configuration(defaulted)
	ours, err := json.Marshal(defaulted)
	if err != nil {
		t.Fatal(err)
	}
	theirDefaults := theirs.ask(t, peerRequest{Kind: "Configuration", Default: true}).Object
	want := []jsonDifference{
		{".statusServer.burst", "10, then 100"},
		{".statusServer.qps", "5, then 50"},
	}
	if diff := cmp.Diff(want, diffJSON(t, theirDefaults, ours)); diff != "" {
		t.Errorf("defaults that differ (-want +got):\n%s", diff)
	}
}
