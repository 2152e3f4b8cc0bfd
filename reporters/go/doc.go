// SPDX-License-Identifier: Apache-2.0

// Package milepost reports the progress of a training program to Milepost.
//
// Inside a TrainJob, [Start] finds everything it needs in the environment. Anywhere else, and on
// every rank but 0, the reporter does nothing, so the same program runs on a laptop:
//
//	m := milepost.Start()
//	defer m.Close()
//	for step := range total {
//		loss := train(step)
//		m.Report(milepost.Step(int64(step)+1, total), milepost.Metric("loss", loss))
//	}
//	m.Complete()
//
// No call returns an error, panics, or waits for the network, except the ones that end reporting:
// [Reporter.Complete], [Reporter.Fail], [Reporter.Close] and [Exit] wait at most 5 seconds for the
// last report to arrive, and [Reporter.Stored] at most 5 seconds for an answer.
//
// Go runs nothing at os.Exit, log.Fatal, or after a panic of another goroutine. Leave the program
// through [Exit], or return from main past a deferred Close; otherwise the last report is lost when
// it waited for its turn.
//
// The package owns what happens between a call and an answer of the server. It does not own the
// form of requests: that is generated from the OpenAPI document. What it does in detail is written
// in BEHAVIOUR.md of the repository, duty by duty; D1, D2 and so on in comments refer to it.
package milepost
