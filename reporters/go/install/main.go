// SPDX-License-Identifier: Apache-2.0

// Command train reports from a project that has nothing but the published module.
package main

import milepost "github.com/milepost-dev/milepost/reporters/go"

func main() {
	m := milepost.Start()
	defer m.Close()
	m.Report(milepost.Step(1, 2), milepost.Metric("loss", 0.5))
	m.Complete(milepost.Metric("language", "go"))
}
