// SPDX-License-Identifier: Apache-2.0
// What a program may choose, and what tests may change.

import type { Environment } from "./environment.js";
import { harmless, type Log } from "./log.js";

/** How {@link start} makes a reporter. Everything may be left out. */
export interface Options {
  /** Global rank of this process, in place of what the environment says. Only rank 0 reports. */
  readonly rank?: number | undefined;
  /**
   * The least time between the starts of two reports that arrive, in seconds; 5 by default. Below 0 counts as 0. The server
   * slows down who sends more often than once a second.
   */
  readonly intervalSeconds?: number | undefined;
  /** Takes the few log lines of the reporter; standard error gets them otherwise. What it throws is ignored. */
  readonly log?: Log | undefined;
  /**
   * Whether the last report is sent when SIGTERM or SIGINT ends the program; true by default. A program with a listener of
   * its own for a signal is never interfered with.
   */
  readonly signals?: boolean | undefined;
  /** Variables to read in place of `process.env`. */
  readonly environment?: Environment | undefined;
}

/** What the tests of this package may change. It is no part of the public API. */
export interface Hooks {
  /** Multiplies the interval, the back-off, Retry-After and the minute between log lines. */
  readonly timeScale?: number | undefined;
  /** Multiplies the limit of an attempt, the limits of a flush and the pause between its attempts. */
  readonly limitScale?: number | undefined;
  /** The clock of the rate of steps, in seconds. */
  readonly rateClock?: (() => number) | undefined;
  /** Leaves signals to the thread of the program, as where the worker cannot get them. */
  readonly deafWorker?: boolean | undefined;
}

const defaultInterval = 5;

/** Options and hooks with nothing left out. */
export interface Settings {
  readonly rank: unknown;
  /** In seconds, not scaled. */
  readonly interval: number;
  readonly log: Log;
  /** Whether log lines go to standard error. */
  readonly isLogDirect: boolean;
  readonly signals: boolean;
  readonly environment: Environment;
  readonly timeScale: number;
  readonly limitScale: number;
  readonly rateClock: () => number;
  readonly deafWorker: boolean;
}

/** Fills in what was left out, and what is of the wrong type. */
export function settle(options: Options, hooks: Hooks): Settings {
  const interval: unknown = options.intervalSeconds;
  const isInterval = typeof interval === "number" && !Number.isNaN(interval);
  return {
    rank: options.rank,
    interval: isInterval ? Math.max(0, interval) : defaultInterval,
    log: harmless(options.log),
    isLogDirect: typeof options.log !== "function",
    signals: options.signals !== false,
    environment: options.environment ?? process.env,
    timeScale: hooks.timeScale ?? 1,
    limitScale: hooks.limitScale ?? 1,
    rateClock: hooks.rateClock ?? (() => performance.now() / 1000),
    deafWorker: hooks.deafWorker ?? false,
  };
}
