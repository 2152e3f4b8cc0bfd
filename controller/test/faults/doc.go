// SPDX-License-Identifier: Apache-2.0

// Package faults holds the tests of what the status server promises while
// something goes wrong: the manager as a process of its own, on a real API
// server and etcd, with the tokens of real pods over TLS.
//
// Every case sends traffic before, during and after its fault. With fewer than
// minRate accepted reports per second before the fault a case proves nothing,
// and fails as void. By default faults are short; MILEPOST_FAULTS=full makes
// them as long and as large as the project promises to stand.
package faults
