// SPDX-License-Identifier: Apache-2.0
// Empties the slot, in the worker: when to send, what becomes of a report, and what is said about it. D11 to D14, D20 to D22.

import { outcomeOf, serverMessage, type Answer } from "./answers.js";
import { cut, describe, longestMessage, Once, Trouble, type Log } from "./log.js";
import { Pacing } from "./pacing.js";
import type { SlotReader, Waiting } from "./slot.js";
import * as times from "./times.js";
import type { Transport } from "./transport.js";

/** What a sender needs to know. */
export interface SenderSettings {
  /** Where reports go, for log lines. */
  readonly url: string;
  /** From the start of one attempt to the next, in milliseconds, not scaled. */
  readonly interval: number;
  readonly timeScale: number;
  readonly limitScale: number;
  /** Warnings that were logged before. */
  readonly warned: readonly string[];
}

/** An attempt that is under way. */
interface Attempt {
  readonly report: Waiting;
  readonly abort: AbortController;
}

/** A flush that is under way. Who asks for another one meanwhile takes part in it. */
interface Flush {
  /** When its next attempt may begin. */
  due: number;
  readonly end: NodeJS.Timeout;
  /** Ends an attempt with an older report. */
  stale?: NodeJS.Timeout;
  readonly over: (() => void)[];
}

/** Sends the newest report, one at a time. */
export class Sender {
  readonly #pacing: Pacing;
  readonly #trouble: Trouble;
  readonly #warned: Once;
  #held: Waiting | undefined; // the newest report that is neither sent nor dropped
  #attempt: Attempt | undefined;
  #flush: Flush | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * @param onWarning - is told each warning that is logged
   */
  constructor(
    private readonly settings: SenderSettings,
    private readonly slot: SlotReader,
    private readonly transport: Transport,
    private readonly log: Log,
    private readonly onWarning: (text: string) => void = () => undefined,
  ) {
    this.#pacing = new Pacing(settings.interval, settings.timeScale);
    this.#trouble = new Trouble(times.troubleEvery * settings.timeScale);
    this.#warned = new Once(settings.warned);
  }

  /** Looks what there is to do: send, wait, or sleep until the next report. */
  wake(): void {
    if (this.#attempt !== undefined || this.#isClosed) {
      return; // the end of the attempt calls again
    }
    clearTimeout(this.#timer);
    this.#look();
    while (this.#held === undefined) {
      if (this.slot.sleep()) {
        this.#endFlush();
        return;
      }
      this.#look();
    }
    const wait = this.#due(this.#held) - times.now();
    if (wait > 0) {
      this.#timer = times.timer(wait, () => {
        this.wake();
      });
      return;
    }
    void this.#send(this.#held);
  }

  /**
   * Sends the newest report at once, whatever pacing says, until a time.
   *
   * @param over - is called once, when nothing is unsent or the time is over
   */
  flush(until: number, over: () => void): void {
    if (this.#isClosed) {
      over();
      return;
    }
    this.#look();
    if (this.#flush === undefined) {
      const end = times.timer(until - times.now(), () => {
        this.log("warning", `the last report was not sent in time to ${this.settings.url}`);
        this.#endFlush();
      });
      this.#flush = { due: times.now(), end, over: [over] };
    } else {
      this.#flush.over.push(over);
    }
    this.#dropStale(this.#flush);
    this.wake();
  }

  /** Ends sending. An attempt that is under way is abandoned. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#attempt?.abort.abort();
    this.#endFlush();
    this.transport.close();
  }

  #look(): void {
    this.#held = this.slot.take() ?? this.#held;
  }

  #due(report: Waiting): number {
    return this.#flush?.due ?? this.#pacing.due(report.urgent);
  }

  #endFlush(): void {
    const flush = this.#flush;
    this.#flush = undefined;
    clearTimeout(flush?.end);
    clearTimeout(flush?.stale);
    flush?.over.forEach((over) => {
      over();
    });
  }

  /** Ends an attempt with an older report if it goes on: its connection may be dead, and the newest must have its chance. */
  #dropStale(flush: Flush): void {
    const attempt = this.#attempt;
    if (attempt !== undefined && attempt.report !== this.#held) {
      flush.stale ??= times.timer(times.staleLimit * this.settings.limitScale, () => {
        attempt.abort.abort(new Error("given up for a newer report"));
      });
    }
  }

  async #send(report: Waiting): Promise<void> {
    const abort = new AbortController();
    const limit = times.timer(times.attemptLimit * this.settings.limitScale, () => {
      abort.abort(new Error("no answer in time"));
    });
    this.#attempt = { report, abort };
    let answer: Answer | undefined;
    let fault: unknown;
    try {
      answer = await this.transport.post(report.body, abort.signal);
    } catch (error) {
      fault = abort.signal.aborted ? abort.signal.reason : error;
    }
    clearTimeout(limit);
    this.#attempt = undefined;
    if (!this.#isClosed) {
      this.#settle(report, answer, fault);
      this.wake();
    }
  }

  /** Acts on the end of an attempt. */
  #settle(report: Waiting, answer: Answer | undefined, fault: unknown): void {
    const end = times.now();
    this.#look();
    if (answer === undefined || outcomeOf(answer.status) === "failed") {
      this.#pacing.failed(end, answer?.retryAfter);
      if (this.#flush !== undefined && this.#held === report) {
        this.#flush.due = end + times.flushPause * this.settings.limitScale;
      }
    } else {
      this.#pacing.settled(answer.sentAt);
      this.slot.settle(report.number);
      this.#held = this.#held === report ? undefined : this.#held;
    }
    this.#warn(answer?.warnings ?? []);
    this.#speak(end, answer, fault);
  }

  #warn(warnings: readonly string[]): void {
    for (const text of warnings) {
      if (this.#warned.first(text)) {
        this.log("warning", `the server warns: ${cut(text, longestMessage)}`);
        this.onWarning(text);
      }
    }
  }

  /** Writes the log line about an attempt, if it gets one. */
  #speak(end: number, answer: Answer | undefined, fault: unknown): void {
    const outcome = answer === undefined ? "failed" : outcomeOf(answer.status);
    if (outcome === "taken") {
      const failures = this.#trouble.end();
      if (failures > 0) {
        this.log("info", `reports get through again after ${String(failures)} failures`);
      }
      return;
    }
    if (!this.#trouble.add(end)) {
      return;
    }
    const what = outcome === "failed" ? "no report gets through" : "the server refuses a report";
    const reason = answer === undefined ? describe(fault) : `status ${String(answer.status)} ${serverMessage(answer.body)}`;
    this.log("warning", `${what} to ${this.settings.url}: ${reason.trim()} (failures: ${String(this.#trouble.count)})`);
  }
}
