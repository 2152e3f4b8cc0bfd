// SPDX-License-Identifier: Apache-2.0

package features

import (
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	cases := map[string]struct {
		file      map[string]bool
		flag      string
		want      bool
		wantError string
	}{
		"the gate is off when nobody sets it":             {},
		"the configuration file turns the gate on":        {file: map[string]bool{"TrainJobStatus": true}, want: true},
		"the command line turns the gate on":              {flag: "TrainJobStatus=true", want: true},
		"the command line wins over the file, off":        {file: map[string]bool{"TrainJobStatus": true}, flag: "TrainJobStatus=false"},
		"the command line wins over the file, on":         {file: map[string]bool{"TrainJobStatus": false}, flag: "TrainJobStatus=true", want: true},
		"blanks on the command line count as empty":       {file: map[string]bool{"TrainJobStatus": true}, flag: "  ", want: true},
		"an unknown gate in the file names the known one": {file: map[string]bool{"Nope": true}, wantError: "known gates: TrainJobStatus"},
		"an unknown gate on the command line is refused":  {flag: "Nope=true", wantError: "--feature-gates"},
		"a value that is no boolean is refused":           {flag: "TrainJobStatus=maybe", wantError: "TrainJobStatus"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			gates, err := Resolve(tc.file, tc.flag)
			if tc.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantError) {
					t.Fatalf("Resolve() error = %v, want one that contains %q", err, tc.wantError)
				}
				return
			}
			if err != nil {
				t.Fatalf("Resolve() error = %v", err)
			}
			if got := gates.Enabled(TrainJobStatus); got != tc.want {
				t.Errorf("Enabled(TrainJobStatus) = %v, want %v", got, tc.want)
			}
		})
	}
}
