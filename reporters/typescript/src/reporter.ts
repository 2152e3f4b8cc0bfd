// SPDX-License-Identifier: Apache-2.0
// What a training program uses.
/// <reference lib="esnext.disposable" preserve="true" />

import { Background } from "./background.js";
import { otherRank, readEnvironment } from "./environment.js";
import { cut, describe, longestMessage, standardError, type Log } from "./log.js";
import { flatten, select, type Flat } from "./metrics.js";
import { complete, numbers, Rate } from "./numbers.js";
import { settle, type Hooks, type Options, type Settings } from "./options.js";
import { processState } from "./process-state.js";
import { fromWire, type Metrics, type Report, type Stored } from "./report.js";
import { formatStamp, stampAfter } from "./stamp.js";
import { isAsync, trackAsync, trackSync, type TrackOptions } from "./track.js";
import { METRIC_NAME_MAX_LENGTH, writeTrainJobStatusUpdate, type Metric, type TrainerStatus } from "./wire/index.js";

/**
 * Reports for this process. No method ever throws, and no promise is ever rejected.
 *
 * Get one from {@link start}.
 */
export class Reporter {
  readonly #background: Background | undefined; // undefined when nothing is reported
  readonly #log: Log;
  readonly #now: () => number;
  readonly #rate = new Rate();
  #last = 0; // progress of the last report, 0 when it had none
  #metrics: readonly Metric[] = []; // of the last report, for complete
  #hasEnded = false;
  #hasSaidIgnored = false;

  /** @internal */
  constructor(settings: Settings, background: Background | undefined) {
    this.#background = background;
    this.#log = settings.log;
    this.#now = settings.rateClock;
  }

  /** Whether this reporter sends anything: false outside a TrainJob, and on other ranks than 0. */
  get active(): boolean {
    return this.#background !== undefined;
  }

  /**
   * Stores what the training has to say and returns at once. A worker sends the newest report in the background: the first at
   * once, later ones every 5 seconds, while the event loop may be as busy as it likes.
   */
  report(report: Report = {}): void {
    this.#harmless(() => {
      if (this.#hasEnded) {
        this.#ignore();
      } else {
        this.#store(report);
      }
    });
  }

  /**
   * Reports that the training is complete: progress 100 and no time remaining. Without metrics those of the last report are
   * sent again. Later reports are ignored.
   *
   * @returns a promise that is resolved when the report has arrived, after 5 seconds at most. Who does not await it loses
   * nothing: the report is sent all the same, and the end of the program waits for it.
   */
  complete(metrics?: Metrics, keep?: Iterable<string>): Promise<void> {
    this.#harmless(() => {
      if (!this.#hasEnded) {
        const own = this.#flatten(metrics, keep);
        this.#metrics = own.length > 0 ? own : this.#metrics;
        this.#send({ progressPercentage: complete, estimatedRemainingSeconds: 0, metrics: this.#metrics }, true);
      }
    });
    return this.close();
  }

  /**
   * Ends reporting without completion: the last report is sent as it is, and the message goes to the log.
   *
   * @returns a promise as that of {@link Reporter.complete}
   */
  fail(message?: unknown): Promise<void> {
    this.#harmless(() => {
      if (!this.#hasEnded && message !== undefined) {
        this.#log("error", `the training failed: ${cut(describe(message), longestMessage)}`);
      }
    });
    return this.close();
  }

  /**
   * Ends reporting and sends the last report if that is still to do. It does not make the training complete: only
   * {@link Reporter.complete} does.
   *
   * @returns a promise as that of {@link Reporter.complete}
   */
  close(): Promise<void> {
    this.#hasEnded = true;
    return this.#background?.end() ?? Promise.resolve();
  }

  /** Does the same at the end of a scope with `using`, and blocks the event loop meanwhile, for 5 seconds at most. */
  [Symbol.dispose](): void {
    this.#harmless(() => {
      this.#hasEnded = true;
      this.#background?.endNow();
    });
  }

  /** Does the same at the end of a scope with `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Asks the server for the report that is stored, so that a restarted training can go on from it.
   *
   * @returns a promise of the report; of undefined when nothing is stored, when nothing could be learned within 5 seconds,
   * and when this reporter does nothing
   */
  async stored(): Promise<Stored | undefined> {
    const status = await this.#background?.stored();
    return status && fromWire(status);
  }

  /**
   * Passes items through and reports how many of them the loop is done with, 0 before the first. At the normal end of the
   * loop the training is complete; after a break, a return or an error it is not, and the last report stays.
   *
   * ```ts
   * for (const batch of reporter.track(batches, { metrics: () => ({ loss }) })) {
   *   loss = train(batch);
   * }
   * ```
   */
  track<T>(items: Iterable<T>, options?: TrackOptions): Generator<T, void, undefined>;
  track<T>(items: AsyncIterable<T>, options?: TrackOptions): AsyncGenerator<T, void, undefined>;
  track<T>(items: Iterable<T> | AsyncIterable<T>, options: TrackOptions = {}): unknown {
    return isAsync(items) ? trackAsync(this, items, options) : trackSync(this, items, options);
  }

  #store(report: Report): void {
    const { progressPercentage, estimatedRemainingSeconds } = numbers(report, this.#rate, this.#now);
    if (this.#background === undefined) {
      return;
    }
    this.#metrics = this.#flatten(report.metrics, report.keep);
    const isUrgent = progressPercentage === complete && this.#last < complete;
    this.#last = progressPercentage ?? 0;
    this.#send(
      {
        ...(progressPercentage !== undefined && { progressPercentage }),
        ...(estimatedRemainingSeconds !== undefined && { estimatedRemainingSeconds }),
        metrics: this.#metrics,
      },
      isUrgent,
    );
  }

  #send(status: TrainerStatus, isUrgent: boolean): void {
    if (this.#background === undefined) {
      return;
    }
    const state = processState();
    state.lastStamp = stampAfter(state.lastStamp, Date.now() * 1_000);
    const trainerStatus = { ...status, lastUpdatedTime: formatStamp(state.lastStamp) };
    this.#background.put(JSON.stringify(writeTrainJobStatusUpdate({ trainerStatus })), isUrgent);
  }

  /** The metrics of one call, and the log lines about those that are left out. D7, D9. */
  #flatten(metrics: unknown, keep: unknown): readonly Metric[] {
    if (this.#background === undefined || metrics === undefined) {
      return [];
    }
    const flat = flatten(metrics);
    const items = select(flat.items, keep);
    this.#explain(flat, flat.items.length - items.length);
    return items;
  }

  #explain(flat: Flat, tooMany: number): void {
    const state = processState();
    for (const name of flat.unfit) {
      const short = cut(name, METRIC_NAME_MAX_LENGTH);
      if (state.unfit.first(short)) {
        this.#log(
          "warning",
          `metric "${short}" is left out: its name and its value need 1 to 64 characters, and the value is a number, a boolean or text`,
        );
      }
    }
    if ((tooMany > 0 || flat.cut) && !state.hasSaidTooMany) {
      state.hasSaidTooMany = true;
      this.#log("warning", "more than 256 metrics or 64 KiB, metrics left out; keep names those that must stay");
    }
  }

  #ignore(): void {
    if (this.#background !== undefined && !this.#hasSaidIgnored) {
      this.#hasSaidIgnored = true;
      this.#log("warning", "reports after the end of reporting are ignored");
    }
  }

  /** Does what must never harm the training. D3. */
  #harmless(what: () => void): void {
    try {
      what();
    } catch (fault) {
      this.#log("debug", `a report is left out: ${describe(fault)}`);
    }
  }
}

/**
 * Makes a reporter from the environment. Outside a TrainJob, and on other ranks than 0, it does nothing, and one log line says
 * why.
 *
 * ```ts
 * import { start } from "@milepost/reporter";
 *
 * const reporter = start();
 * for (let step = 1; step <= 1000; step++) {
 *   const loss = train();
 *   reporter.report({ step, totalSteps: 1000, metrics: { loss } });
 * }
 * await reporter.complete();
 * ```
 */
export function start(options: Options = {}): Reporter {
  return startWith(options, {});
}

/**
 * Tracks a loop with a reporter of its own; see {@link Reporter.track}.
 *
 * ```ts
 * import { track } from "@milepost/reporter";
 *
 * for (const batch of track(batches, { metrics: () => ({ loss }) })) {
 *   loss = train(batch);
 * }
 * ```
 */
export function track<T>(items: Iterable<T>, options?: TrackOptions & Options): Generator<T, void, undefined>;
export function track<T>(items: AsyncIterable<T>, options?: TrackOptions & Options): AsyncGenerator<T, void, undefined>;
export function track<T>(items: Iterable<T> | AsyncIterable<T>, options: TrackOptions & Options = {}): unknown {
  return start(options).track(items as Iterable<T>, options);
}

/**
 * Does the same as {@link start} with hooks.
 *
 * @internal
 */
export function startWith(options: Options, hooks: Hooks): Reporter {
  let settings = settle({}, hooks);
  try {
    settings = settle(options, hooks);
    const endpoint = readEnvironment(settings.environment);
    if (typeof endpoint === "string") {
      settings.log("info", `nothing is reported outside a TrainJob: ${endpoint}`);
      return new Reporter(settings, undefined);
    }
    const other = otherRank(settings.environment, settings.rank);
    if (other !== undefined) {
      settings.log("info", `nothing is reported by this process: ${other}`);
      return new Reporter(settings, undefined);
    }
    return new Reporter(settings, new Background(endpoint, settings, settings.log));
  } catch (fault) {
    standardError("error", `nothing is reported: ${describe(fault)}`);
    return new Reporter(settings, undefined);
  }
}
