// SPDX-License-Identifier: Apache-2.0

// Package compat proves that Milepost speaks the API of Kubeflow Trainer v2.3.0.
//
// It owns tests only: the Go types of both sides carry the same JSON, our CRDs accept what
// theirs accept and refuse the rest in the same words, and manifests written for one work with
// the other. It does not own what controllers do with an object once it is stored.
package compat
