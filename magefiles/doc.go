// SPDX-License-Identifier: Apache-2.0

//go:build mage

// Milepost is built, tested and released with 'go tool mage NAME' and needs nothing but Go.
// Targets marked [root] start a real node: they need Linux and root.
// Short names: bench build demo e2e generate image lint test verify.
package main
