// SPDX-License-Identifier: Apache-2.0
// Progress and time remaining, from what the caller says and from the speed of this process.

import { TRAINER_STATUS_PROGRESS_PERCENTAGE_MAXIMUM } from "./wire/index.js";

/** The progress of a training that is complete. */
export const complete = TRAINER_STATUS_PROGRESS_PERCENTAGE_MAXIMUM;

/** As far as steps lead: only the program knows that it is complete. D4. */
const mostComputed = complete - 1;

/** The most seconds that the wire can hold. */
const mostSeconds = 2 ** 31 - 1;

/** How fast old steps lose weight in the rate, in seconds. */
const memory = 60;

/** Above this a product with 100, or its quotient, may be rounded. */
const mostExact = 2 ** 40;

/** The number that an argument holds, NaN included; undefined for anything else. */
export function toNumber(value: unknown): number | undefined {
  switch (typeof value) {
    case "number":
      return value;
    case "bigint":
      return Number(value);
    default:
      return undefined;
  }
}

/** The finite number that an argument holds. */
export function toFinite(value: unknown): number | undefined {
  const number = toNumber(value);
  return number !== undefined && Number.isFinite(number) ? number : undefined;
}

/** The progress that steps show, in whole percent. D4. */
export function computedProgress(step: number, total: number): number {
  if (step <= 0) {
    return 0;
  }
  if (step >= total) {
    return mostComputed;
  }
  if (total > mostExact && Number.isSafeInteger(step) && Number.isSafeInteger(total)) {
    return Number((BigInt(step) * 100n) / BigInt(total));
  }
  return Math.min(Math.floor((step * 100) / total), mostComputed);
}

/** The progress that the caller states; undefined when it is not a number. D4. */
export function explicitProgress(percent: number): number | undefined {
  return Number.isNaN(percent) ? undefined : Math.trunc(Math.min(Math.max(percent, 0), complete));
}

/** The seconds that the caller states; undefined when they are unknown. D6. */
export function explicitSeconds(seconds: number): number | undefined {
  return Number.isNaN(seconds) || seconds === Infinity ? undefined : toWire(seconds);
}

function toWire(seconds: number): number {
  return Math.trunc(Math.min(Math.max(seconds, 0), mostSeconds));
}

/**
 * The smoothed speed of this process, from its own steps only: after a resume the step is high and the process is young,
 * so a rate over all steps would be far too fast. D6.
 */
export class Rate {
  #last: { readonly at: number; readonly step: number } | undefined;
  #time = 0;
  #steps = 0;

  /** Notes that the training is at a step, at a time in seconds of a clock that never goes back. */
  add(at: number, step: number): void {
    const steps = this.#last === undefined ? -1 : step - this.#last.step;
    if (steps === 0) {
      return;
    }
    if (this.#last === undefined || steps < 0) {
      this.#time = this.#steps = 0; // the first sample, or a resume within the process
    } else {
      const passed = Math.max(0, at - this.#last.at);
      const weight = Math.exp(-passed / memory);
      this.#time = this.#time * weight + passed;
      this.#steps = this.#steps * weight + steps;
    }
    this.#last = { at, step };
  }

  /** Estimates the seconds until total; undefined as long as nothing is known. */
  remaining(step: number, total: number): number | undefined {
    if (this.#steps <= 0 || this.#time <= 0) {
      return undefined;
    }
    return toWire(Math.floor((Math.max(0, total - step) * this.#time) / this.#steps + 0.5));
  }
}

/** What a report says about progress. Each field may be anything. */
export interface Position {
  readonly step?: unknown;
  readonly totalSteps?: unknown;
  readonly progress?: unknown;
  readonly eta?: unknown;
}

/** Progress in percent and time remaining in seconds, as they are sent. */
export interface Numbers {
  readonly progressPercentage: number | undefined;
  readonly estimatedRemainingSeconds: number | undefined;
}

/** Works out what a report says, and notes its step in the rate. D4, D5, D6. */
export function numbers(said: Position, rate: Rate, now: () => number): Numbers {
  let progress: number | undefined;
  let remaining: number | undefined;
  const step = toFinite(said.step);
  if (step !== undefined) {
    rate.add(now(), step);
    const total = toFinite(said.totalSteps) ?? 0;
    if (total > 0) {
      progress = computedProgress(step, total);
      remaining = rate.remaining(step, total);
    }
  }
  const percent = toNumber(said.progress);
  if (percent !== undefined) {
    progress = explicitProgress(percent);
    remaining = progress === complete ? 0 : remaining;
  }
  const seconds = toNumber(said.eta);
  if (seconds !== undefined) {
    remaining = explicitSeconds(seconds);
  }
  return { progressPercentage: progress, estimatedRemainingSeconds: remaining };
}
