// SPDX-License-Identifier: Apache-2.0

// Package smoke shows that a cluster can do what the end-to-end suites rely on.
//
// It owns the list of those abilities and one check for each. It knows nothing
// of Milepost, so that a failure here means the cluster and not the product.
package smoke
