// SPDX-License-Identifier: Apache-2.0

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

/** An image of 8×8 pixels from 0 (white) to 1 (black), and the digit that it shows. */
export interface Example {
  image: Float64Array;
  digit: number;
}

/** Reads the file docs/examples/go/digits/data/digits.csv.gz. */
export function readDigits(path: string): Example[] {
  const text = gunzipSync(readFileSync(path)).toString();
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const numbers = line.split(",").map(Number);
      const digit = numbers.pop() ?? NaN;
      return { image: Float64Array.from(numbers, (shade) => shade / 16), digit };
    });
}
