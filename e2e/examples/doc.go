// SPDX-License-Identifier: Apache-2.0

// Package examples builds the training programs of docs/examples that use a reporter, one for each
// language.
//
// It owns how the package of a reporter is made from the checkout and how a program is built on top
// of that package, as someone outside this repository would do it. It does not own what an image
// around a program holds (e2e/infra/images).
package examples
