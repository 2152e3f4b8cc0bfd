// SPDX-License-Identifier: Apache-2.0
// Times of reports.

/**
 * A time in microseconds that is after the one before: the server takes an older time for an older report, and clocks
 * stand still or are set back. D19.
 */
export function stampAfter(before: number, now: number): number {
  return Math.max(now, before + 1);
}

/** Writes microseconds since 1970 as RFC 3339 in UTC with six digits. */
export function formatStamp(micros: number): string {
  const millis = Math.floor(micros / 1000);
  const rest = String(micros - millis * 1000).padStart(3, "0");
  return `${new Date(millis).toISOString().slice(0, -1)}${rest}Z`;
}
