// SPDX-License-Identifier: Apache-2.0

// Package metrics holds the Prometheus collectors of the controller, one type
// per flow.
//
// It owns names, help texts, labels and buckets. It does not own when something
// is counted: a flow declares what it has to say as an interface, and the types
// here fulfil it. No label names a job, a pod or a user, since there may be
// thousands of them.
package metrics
