// SPDX-License-Identifier: Apache-2.0
// Reports from a project that has nothing but the published package.

const { start } = require("@milepost/reporter");

const reporter = start();
reporter.report({ step: 1, totalSteps: 2, metrics: { loss: 0.5 } });
reporter.complete({ language: "typescript" });
