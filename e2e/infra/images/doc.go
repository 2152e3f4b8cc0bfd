// SPDX-License-Identifier: Apache-2.0

// Package images makes container images in Go, without a container engine and
// without a registry.
//
// It owns what goes into an image, the archive written for it and the cache of
// archives. It does not own how an archive reaches a cluster. The same input
// gives the same bytes: times, owners and order inside layers are fixed.
package images
