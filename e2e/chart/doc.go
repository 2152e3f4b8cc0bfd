// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart of this repository with Helm 3 and Helm 4: what it renders, what it refuses, and how it
// is installed, upgraded and removed on a real API server. No node is needed; what the pods then do is shown by the suites.
//
// `go tool mage chart:test` builds what the tests need and runs them all. By itself, `go test` skips what was not built.
package chart
