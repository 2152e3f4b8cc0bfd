// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package milepost

// watchSignals does nothing where a program cannot send itself the signal that should end it.
func watchSignals() (release func()) { return func() {} }
