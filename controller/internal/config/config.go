// SPDX-License-Identifier: Apache-2.0

// Package config owns reading the manager's configuration file: strict decoding, defaults and
// validation, so that the rest of the manager sees only complete, sane values.
//
// It does not own the file's types (api/config/v1alpha1) nor what a value does.
package config

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	configapi "github.com/milepost-dev/milepost/controller/api/config/v1alpha1"
)

// Load reads the file at path, fills in defaults and validates. An empty path means defaults
// alone. A field that does not exist, a wrong kind or version and a value out of range are
// errors; the message names the file and the field.
func Load(path string) (*configapi.Configuration, error) {
	cfg := &configapi.Configuration{}
	if path != "" {
		if err := decodeFile(path, cfg); err != nil {
			return nil, err
		}
	}
	configapi.SetDefaults_Configuration(cfg)
	if errs := validate(cfg); len(errs) > 0 {
		return nil, fmt.Errorf("validating configuration %q: %w", path, errs.ToAggregate())
	}
	return cfg, nil
}

func decodeFile(path string, cfg *configapi.Configuration) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading configuration: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := configapi.AddToScheme(scheme); err != nil {
		return fmt.Errorf("registering configuration types: %w", err)
	}
	// Strict: a misspelled field must stop the start, not silently keep a default.
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	if err := runtime.DecodeInto(codecs.UniversalDecoder(), content, cfg); err != nil {
		return fmt.Errorf("decoding configuration %q: %w", path, err)
	}
	return nil
}
