// SPDX-License-Identifier: Apache-2.0
// What all reporters of a process share, even if the program has loaded this package twice, as modules of both kinds.

import { Listeners } from "./listeners.js";
import { Once } from "./log.js";

/** A reporter that may have something left to send. */
export interface Live {
  /** Begins to send what is left, if anything is. */
  beginFlush(): void;
  /** Blocks this thread until that is over. */
  awaitFlush(): void;
}

/** What is shared. */
export interface ProcessState {
  /** Time of the last report, in microseconds since 1970. */
  lastStamp: number;
  /** Names of metrics of which it was said that they are left out. */
  readonly unfit: Once;
  /** Warnings of the server that were logged. */
  readonly warned: Once;
  /** Whether it was said that there are too many metrics. */
  hasSaidTooMany: boolean;
  readonly live: Set<Live>;
  readonly listeners: Listeners;
}

const key = Symbol.for("@milepost/reporter 1");

let state: ProcessState | undefined;

/** The state of this process. */
export function processState(): ProcessState {
  state ??= found() ?? newState();
  return state;
}

/** What the other copy of this package has put there. */
function found(): ProcessState | undefined {
  return Reflect.get(globalThis, key) as ProcessState | undefined;
}

function newState(): ProcessState {
  const live = new Set<Live>();
  const flush = (): void => {
    for (const reporter of live) {
      reporter.beginFlush();
    }
    for (const reporter of live) {
      reporter.awaitFlush();
    }
  };
  // It comes after a plain exit call, after an uncaught error, and when nothing is left to do. D24.
  process.on("exit", flush);
  const fresh: ProcessState = {
    lastStamp: 0,
    unfit: new Once(),
    warned: new Once(),
    hasSaidTooMany: false,
    live,
    listeners: new Listeners(flush),
  };
  Reflect.set(globalThis, key, fresh);
  return fresh;
}
