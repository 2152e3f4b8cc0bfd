// SPDX-License-Identifier: Apache-2.0
// What goes into a report, and what the server has of one.

import type { TrainerStatus } from "./wire/index.js";

/**
 * Named values: numbers, bigints, booleans, text, objects that give a number (`item()` of a tensor, a decimal), and maps of
 * these, which become one metric per entry with names joined by `/`. Names and texts have 1 to 64 characters. Everything else
 * is left out, with one log line per name.
 *
 * The order is kept. JavaScript itself moves keys such as `"1"` to the front of an object; a `Map` does not.
 */
// Any object will do, an interface without index signature as well.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Metrics = Readonly<Record<string, any>> | ReadonlyMap<string, unknown>;

/** What the training has to say. What is left out becomes unknown. */
export interface Report {
  /** How many steps are done. With `totalSteps` it gives progress, at most 99, and time remaining. */
  readonly step?: number | bigint | undefined;
  /** How many steps there are. Without it, or with 0 or less, progress is unknown and metrics are sent all the same. */
  readonly totalSteps?: number | bigint | undefined;
  /** Progress in percent, 0 to 100, in place of what the steps say. The fraction is dropped; NaN leaves it out. */
  readonly progress?: number | bigint | undefined;
  /** Time remaining in seconds, in place of the estimate. Below 0 counts as 0; NaN and Infinity leave it out. */
  readonly eta?: number | bigint | undefined;
  /** Metrics of this moment. They replace those before. */
  readonly metrics?: Metrics | undefined;
  /** Names of metrics that must not be left out when there are more than 256 or 64 KiB. Nested ones are named in full. */
  readonly keep?: Iterable<string> | undefined;
}

/** A report as the server holds it. What is unknown is missing. */
export interface Stored {
  /** In percent, 0 to 100. */
  readonly progress?: number;
  /** In seconds. */
  readonly eta?: number;
  /** In the order they were reported. */
  readonly metrics: readonly { readonly name: string; readonly value: string }[];
  /** When the report was made, in whole seconds. */
  readonly updated?: Date;
}

/** A report of the wire as programs see it. */
export function fromWire(status: TrainerStatus): Stored {
  const { progressPercentage: progress, estimatedRemainingSeconds: eta, metrics = [], lastUpdatedTime } = status;
  const updated = new Date(lastUpdatedTime ?? NaN);
  return {
    ...(progress !== undefined && { progress }),
    ...(eta !== undefined && { eta }),
    metrics,
    ...(!Number.isNaN(updated.getTime()) && { updated }),
  };
}
