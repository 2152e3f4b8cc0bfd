// SPDX-License-Identifier: Apache-2.0

// Package features owns the feature gates of the manager and how they are set.
//
// It does not own what a gate switches: the packages behind a gate take a plain bool.
package features

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/component-base/featuregate"
)

// TrainJobStatus lets training pods report progress: it starts the status server and gives
// trainer containers the address, the certificate authority and a token of their own.
// Alpha and off by default in the binary, as in Kubeflow Trainer v2.3; the chart turns it on.
const TrainJobStatus featuregate.Feature = "TrainJobStatus"

func known() map[featuregate.Feature]featuregate.FeatureSpec {
	return map[featuregate.Feature]featuregate.FeatureSpec{
		TrainJobStatus: {Default: false, PreRelease: featuregate.Alpha},
	}
}

// Gates says which features are on. It never changes after Resolve.
type Gates struct {
	gate featuregate.FeatureGate
}

// Resolve applies the gates of the configuration file first and those of the command line on
// top, key by key: a key on the command line wins, the other keys of the file stay.
// flagValue has the form "A=true,B=false" and may be empty. An unknown gate, or a value that
// is not a boolean, is an error that names the gates there are.
func Resolve(fromFile map[string]bool, flagValue string) (Gates, error) {
	gate := featuregate.NewFeatureGate()
	if err := gate.Add(known()); err != nil {
		return Gates{}, fmt.Errorf("registering feature gates: %w", err)
	}
	if err := gate.SetFromMap(fromFile); err != nil {
		return Gates{}, fmt.Errorf("setting feature gates of the configuration file: %w (known gates: %s)", err, names())
	}
	if strings.TrimSpace(flagValue) == "" {
		return Gates{gate: gate}, nil
	}
	if err := gate.Set(flagValue); err != nil {
		return Gates{}, fmt.Errorf("setting feature gates of --feature-gates: %w (known gates: %s)", err, names())
	}
	return Gates{gate: gate}, nil
}

// Enabled tells whether the feature is on.
func (g Gates) Enabled(f featuregate.Feature) bool { return g.gate.Enabled(f) }

// names lists the gates a user can set, for error messages and help texts.
func names() string {
	all := slices.Sorted(maps.Keys(known()))
	list := make([]string, 0, len(all))
	for _, f := range all {
		list = append(list, string(f))
	}
	return strings.Join(list, ", ")
}
