// SPDX-License-Identifier: Apache-2.0
// Trains a small neural network to read handwritten digits and reports its progress with the reporter for TypeScript.
//
//     node dist/train.js digits.csv.gz [EPOCHS]

import { start } from "@milepost/reporter";

import { readDigits } from "./digits.js";
import { Network } from "./network.js";

const [path, epochs = "500"] = process.argv.slice(2);
if (path === undefined || !(Number(epochs) >= 1)) {
  console.error("usage: train.js digits.csv.gz [EPOCHS]");
  process.exit(2);
}

// The network learns from four fifths of the images. The others tell how many it reads right.
const digits = readDigits(path);
const cut = Math.floor(digits.length / 5);
const heldOut = digits.slice(0, cut);
const training = digits.slice(cut);
const network = new Network(64, 128, 10);
const totalSteps = Number(epochs);

// [start:train]
const reporter = start();
for (let step = 1; step <= totalSteps; step++) {
  const loss = network.learn(training);
  reporter.report({ step, totalSteps, metrics: { loss, accuracy: network.accuracy(heldOut) } });
}
await reporter.complete();
// [end:train]

const percent = (100 * network.accuracy(heldOut)).toFixed(1);
console.log(`${percent} % of ${heldOut.length} images that it did not learn from are read right`);
