// SPDX-License-Identifier: Apache-2.0
// Log lines: where they go, how long they are, and which are said only once.

import { writeSync } from "node:fs";

/** How much a log line matters. */
export type LogLevel = "debug" | "info" | "warning" | "error";

/** Takes the log lines of a reporter. What it throws is ignored. */
export type Log = (level: LogLevel, message: string) => void;

/** The longest text of a server or of a program that a line repeats, in code points. */
export const longestMessage = 300;

/**
 * Writes a line to standard error, at once and in any thread: a line that waited for the event loop would come when the
 * training is over.
 */
export function standardError(_level: LogLevel, message: string): void {
  try {
    writeSync(2, `milepost: ${message}\n`);
  } catch {
    // A full or closed pipe must not harm the training.
  }
}

/** Makes a callback of the program harmless: it may throw, be asynchronous, or be no function at all. */
export function harmless(log: unknown): Log {
  if (typeof log !== "function") {
    return standardError;
  }
  const callback = log as (level: LogLevel, message: string) => unknown;
  return (level, message) => {
    try {
      const result = callback(level, message);
      if (result instanceof Promise) {
        result.catch(() => undefined);
      }
    } catch {
      // D3
    }
  };
}

/** Shortens text to a number of code points and puts it on one line. */
export function cut(text: string, most: number): string {
  let out = "";
  let count = 0;
  for (const sign of text) {
    if (count++ === most) {
      break;
    }
    out += sign < " " || sign === "\u007f" ? " " : sign;
  }
  return out;
}

/** The text of anything that was thrown. */
export function describe(fault: unknown): string {
  try {
    if (fault instanceof Error) {
      // Of several addresses each has an error of its own, and the whole has no text. D17.
      const parts = fault instanceof AggregateError ? fault.errors.map(describe).join(", ") : "";
      return cut(fault.message || parts || fault.name, longestMessage);
    }
    return cut(String(fault), longestMessage);
  } catch {
    return "unknown";
  }
}

/** How many things are remembered to say them once. Beyond it nothing new is said. D21. */
const remembered = 1000;

/** Remembers what was said. */
export class Once {
  readonly said: Set<string>;

  constructor(said: Iterable<string> = []) {
    this.said = new Set(said);
  }

  /** True for the first time that a key is seen. */
  first(key: string): boolean {
    if (this.said.has(key) || this.said.size >= remembered) {
      return false;
    }
    this.said.add(key);
    return true;
  }
}

/** Decides which failures get a line: the first, one a minute, and the end of them. D21. */
export class Trouble {
  /** Failures since the last success. */
  count = 0;
  #last = 0;

  /** @param every - milliseconds between two lines while failures last */
  constructor(private readonly every: number) {}

  /** Notes a failure at a time in milliseconds, and tells whether it gets a line. */
  add(now: number): boolean {
    this.count++;
    if (this.count > 1 && now - this.#last < this.every) {
      return false;
    }
    this.#last = now;
    return true;
  }

  /** Notes a success and returns how many failures came before it. */
  end(): number {
    const failures = this.count;
    this.count = 0;
    return failures;
  }
}
