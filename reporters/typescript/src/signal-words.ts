// SPDX-License-Identifier: Apache-2.0
// Words about signals that all threads of the process share.

import { constants } from "node:os";

/** Words by their place. */
export const SignalWord = {
  /** Listeners of the program for SIGTERM. */
  Term: 0,
  /** Listeners of the program for SIGINT. */
  Int: 1,
  /** Workers that take signals. */
  Takers: 2,
} as const;

/** Shared memory for the words. */
export function newSignalMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT);
}

/** How many listeners the program itself has for a signal. */
export function others(words: Int32Array, number: number): number {
  return Atomics.load(words, number === constants.signals.SIGINT ? SignalWord.Int : SignalWord.Term);
}
