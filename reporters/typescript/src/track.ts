// SPDX-License-Identifier: Apache-2.0
// Loops that report by themselves. D28.

import type { Metrics, Report } from "./report.js";

/** How a loop is tracked. Everything may be left out. */
export interface TrackOptions {
  /** How many items there are; by default the length or size of the items, if they have one. */
  readonly total?: number | undefined;
  /** Metrics of each report. What it throws is ignored. */
  readonly metrics?: (() => Metrics | undefined) | undefined;
  /** As in a report. */
  readonly keep?: Iterable<string> | undefined;
}

/** The part of a reporter that a loop needs. */
interface Target {
  report(report: Report): void;
  complete(): Promise<void>;
}

/** Whether items come one by one. */
export function isAsync<T>(items: Iterable<T> | AsyncIterable<T>): items is AsyncIterable<T> {
  return typeof (items as { [Symbol.asyncIterator]?: unknown })[Symbol.asyncIterator] === "function";
}

/** Tracks a loop over items that are there. */
export function* trackSync<T>(to: Target, items: Iterable<T>, options: TrackOptions): Generator<T, void, undefined> {
  const progress = new Progress(to, items, options);
  for (const item of items) {
    yield item;
    progress.next();
  }
  void to.complete();
}

/** Tracks a loop over items that come one by one. */
export async function* trackAsync<T>(
  to: Target,
  items: AsyncIterable<T>,
  options: TrackOptions,
): AsyncGenerator<T, void, undefined> {
  const progress = new Progress(to, items, options);
  for await (const item of items) {
    yield item;
    progress.next();
  }
  await to.complete();
}

/** Counts the items that a loop is done with. */
class Progress {
  readonly #totalSteps: number | undefined;
  #step = 0;

  constructor(
    private readonly to: Target,
    items: object,
    private readonly options: TrackOptions,
  ) {
    this.#totalSteps = options.total ?? sizeOf(items);
    to.report({ step: 0, totalSteps: this.#totalSteps });
  }

  next(): void {
    this.#step++;
    this.to.report({ step: this.#step, totalSteps: this.#totalSteps, metrics: this.#metrics(), keep: this.options.keep });
  }

  #metrics(): Metrics | undefined {
    try {
      return this.options.metrics?.();
    } catch {
      return undefined;
    }
  }
}

/** How many items there are, where that can be known without looking at them. */
function sizeOf(items: object): number | undefined {
  for (const name of ["length", "size"]) {
    const size: unknown = items[name as keyof typeof items];
    if (typeof size === "number") {
      return size;
    }
  }
  return undefined;
}
