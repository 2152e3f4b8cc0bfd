// SPDX-License-Identifier: Apache-2.0
// When the next attempt may begin. Only a success or a refusal starts the interval, so a failed attempt never delays a report
// by more than the back-off. D12, D13. All times are in milliseconds.

import { wholeNumber } from "./environment.js";

const firstBackoff = 1_000;
const longestBackoff = 60_000;
const longestRetry = 300_000;

/** Forms of a date in HTTP: the usual one, and two that servers may still send. */
const imfDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const rfc850Date = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const asctimeDate = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/** Decides when the next attempt may begin. */
export class Pacing {
  #failures = 0;
  #paced = -Infinity; // not before this, unless the report is urgent
  #backoff = -Infinity; // not before this, unless reporting ends

  /**
   * @param interval - from the start of one attempt to the next, not scaled
   * @param scale - of all times
   */
  constructor(
    private readonly interval: number,
    private readonly scale: number,
  ) {}

  /** The earliest time of the next attempt. */
  due(urgent: boolean): number {
    return urgent ? this.#backoff : Math.max(this.#backoff, this.#paced);
  }

  /** Notes that the server took or refused a report, in an attempt that began at a time. */
  settled(start: number): void {
    this.#failures = 0;
    this.#backoff = -Infinity;
    this.#paced = start + this.interval * this.scale;
  }

  /** Notes a failure that ended at a time, and what the server asks for. */
  failed(end: number, asked = 0): void {
    this.#failures++;
    const wait = backoffLimit(this.#failures) * (0.5 + 0.5 * Math.random());
    this.#backoff = end + Math.max(wait, asked) * this.scale;
  }
}

/** The longest wait after a number of failures in a row. */
export function backoffLimit(failures: number): number {
  return Math.min(firstBackoff * 2 ** (failures - 1), longestBackoff);
}

/** Reads a Retry-After header, whole seconds or a date; undefined when it cannot be read. D13. */
export function retryAfter(header: string | undefined, wallClock: number): number | undefined {
  const text = header?.trim() ?? "";
  const digits = wholeNumber(text);
  if (digits !== undefined) {
    return Math.min(Number(digits) * 1_000, longestRetry);
  }
  const date = dateOf(text);
  return date === undefined ? undefined : Math.min(Math.max(0, date - wallClock), longestRetry);
}

/** Date.parse alone takes nearly anything for a date. */
function dateOf(text: string): number | undefined {
  const isDate = imfDate.test(text) || rfc850Date.test(text) || asctimeDate.test(text);
  const millis = isDate ? Date.parse(text.endsWith("GMT") ? text : `${text} GMT`) : NaN;
  return Number.isNaN(millis) ? undefined : millis;
}
