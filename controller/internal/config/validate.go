// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/tls"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	configapi "github.com/milepost-dev/milepost/controller/api/config/v1alpha1"
)

// validate checks the ranges that the types cannot express. Limits and messages are those of
// Kubeflow Trainer v2.3, so that a file accepted there is accepted here.
func validate(cfg *configapi.Configuration) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validatePort(field.NewPath("webhook", "port"), cfg.Webhook.Port)...)
	if c := cfg.ClientConnection; c != nil {
		path := field.NewPath("clientConnection")
		errs = append(errs, validateRate(path, c.QPS, c.Burst)...)
	}
	if s := cfg.StatusServer; s != nil {
		path := field.NewPath("statusServer")
		errs = append(errs, validatePort(path.Child("port"), s.Port)...)
		errs = append(errs, validateRate(path, s.QPS, s.Burst)...)
	}
	errs = append(errs, validateConcurrency(cfg.Controller)...)
	errs = append(errs, validateTLS(cfg.TLS)...)
	return errs
}

func validatePort(path *field.Path, port *int32) field.ErrorList {
	if port == nil || (*port >= 1 && *port <= 65535) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *port, "must be between 1 and 65535")}
}

func validateRate(path *field.Path, qps *float32, burst *int32) field.ErrorList {
	const message = "must be greater than or equal to 0"
	var errs field.ErrorList
	if qps != nil && *qps < 0 {
		errs = append(errs, field.Invalid(path.Child("qps"), *qps, message))
	}
	if burst != nil && *burst < 0 {
		errs = append(errs, field.Invalid(path.Child("burst"), *burst, message))
	}
	return errs
}

func validateConcurrency(spec *configapi.ControllerConfigurationSpec) field.ErrorList {
	if spec == nil {
		return nil
	}
	var errs field.ErrorList
	path := field.NewPath("controller", "groupKindConcurrency")
	for _, kind := range slices.Sorted(maps.Keys(spec.GroupKindConcurrency)) {
		if n := spec.GroupKindConcurrency[kind]; n < 1 {
			errs = append(errs, field.Invalid(path.Key(kind), n, "must be greater than 0"))
		}
	}
	return errs
}

func validateTLS(opts *configapi.TLSOptions) field.ErrorList {
	if opts == nil {
		return nil
	}
	var errs field.ErrorList
	path := field.NewPath("tls")
	if _, ok := tlsVersions[opts.MinVersion]; !ok && opts.MinVersion != "" {
		errs = append(errs, field.NotSupported(path.Child("minVersion"), opts.MinVersion, slices.Sorted(maps.Keys(tlsVersions))))
	}
	for i, name := range opts.CipherSuites {
		if cipherSuite(name) == nil {
			errs = append(errs, field.NotSupported(path.Child("cipherSuites").Index(i), name, cipherSuiteNames()))
		}
	}
	return errs
}

// cipherSuite finds a suite by its IANA name, secure or not; nil when Go does not know it.
func cipherSuite(name string) *tls.CipherSuite {
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if suite.Name == name {
			return suite
		}
	}
	return nil
}

func cipherSuiteNames() []string {
	var names []string
	for _, suite := range tls.CipherSuites() {
		names = append(names, suite.Name)
	}
	return names
}
