// SPDX-License-Identifier: Apache-2.0
// Limits of a reporter, and the clock that both threads share. All times are in milliseconds.

/** The longest time of one attempt, and of reading the stored report. D18, D27. */
export const attemptLimit = 5_000;

/** The longest time of a flush. D22. */
export const flushLimit = 5_000;

/** From the end of a failed attempt of a flush to the next. */
export const flushPause = 500;

/** How long an attempt with an older report may go on when a flush begins. */
export const staleLimit = 2_000;

/** Between two log lines while failures last. D21. */
export const troubleEvery = 60_000;

/** How much longer the program waits for a worker that a busy machine keeps from running. */
export const workerSlack = 500;

/** The longest time that a timer can hold. */
const longestTimer = 2 ** 31 - 1;

/** A time of a clock that never goes back and is the same in all threads of the process. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Sets a timer that may ring early, after 24 days, and never late or at once because the time is too long for a timer. */
export function timer(millis: number, ring: () => void): NodeJS.Timeout {
  return setTimeout(ring, Math.min(Math.ceil(millis), longestTimer));
}
