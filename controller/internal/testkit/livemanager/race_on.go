// SPDX-License-Identifier: Apache-2.0

//go:build race

package livemanager

// RaceDetector tells that the tests run with the race detector.
const RaceDetector = true
