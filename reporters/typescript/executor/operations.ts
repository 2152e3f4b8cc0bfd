// SPDX-License-Identifier: Apache-2.0
// What the runner can ask for.

import { setTimeout as sleep } from "node:timers/promises";

import type { Hooks, Options } from "../src/options.js";
import type { Metrics, Report, Stored } from "../src/report.js";
import { startWith, type Reporter } from "../src/reporter.js";
import { version } from "../src/version.js";
import type { Request } from "./values.js";

type Answer = Record<string, unknown>;

const capabilities = ["exit-hook", "own-handler", "items", "dynamic", "wide-int", "huge-int", "null", "references"];

/** Holds the reporter that is alive. */
export class Executor {
  #reporter: Reporter | undefined;
  #now = 0; // the manual clock
  readonly #lines: { level: string; message: string }[] = [];

  readonly #operations: Readonly<Record<string, (request: Request) => Answer | Promise<Answer>>> = {
    hello: () => ({ language: "typescript", version, capabilities }),
    create: (request) => {
      this.#reporter = this.#start(request);
      return { active: this.#reporter.active };
    },
    clock: (request) => {
      this.#now = request.now ?? 0;
      return {};
    },
    report: (request) => {
      this.#alive.report(reportOf(request));
      return {};
    },
    complete: async (request) => {
      await this.#alive.complete(request.metrics as Metrics | undefined);
      return {};
    },
    fail: async (request) => {
      await this.#alive.fail(request.message);
      return {};
    },
    close: async () => {
      await this.#alive.close();
      return {};
    },
    stored: async () => ({ stored: wireOf(await this.#alive.stored()) }),
    logs: () => ({ logs: this.#lines }),
    track: async (request) => await this.#track(request),
    scope: async (request) => await this.#scope(request),
    measure: (request) => this.#measure(request.calls ?? 0),
    handle: (request) => {
      process.on("SIGTERM", () => process.exit(request.exitCode));
      return {};
    },
  };

  /** Carries out a request and turns an error that leaves the reporter into an answer. */
  async answer(request: Request): Promise<Answer> {
    const operation = this.#operations[request.op];
    if (operation === undefined) {
      return { unsupported: true };
    }
    try {
      return await operation(request);
    } catch (fault) {
      return { raised: String(fault) };
    }
  }

  get #alive(): Reporter {
    if (this.#reporter === undefined) {
      throw new Error("there is no reporter");
    }
    return this.#reporter;
  }

  #start({ options = {}, manualClock = false }: Request): Reporter {
    const hooks: Hooks = {
      timeScale: options.timeScale,
      limitScale: options.limitScale,
      rateClock: manualClock ? () => this.#now : undefined,
    };
    return startWith(
      { rank: options.rank, intervalSeconds: options.interval, signals: options.signals, log: this.#log(options.log) },
      hooks,
    );
  }

  #log(kind: string | undefined): Options["log"] {
    switch (kind) {
      case "default":
        return undefined;
      case "broken":
        return () => {
          throw new Error("the log is broken");
        };
      default:
        return (level, message) => {
          this.#lines.push({ level, message });
        };
    }
  }

  async #track({ total, items = total ?? 0, breakAt, failAt, pause = 0 }: Request): Promise<Answer> {
    let entered = 0;
    try {
      for (const item of this.#alive.track(upTo(items), { total })) {
        entered = item;
        await sleep(pause * 1_000);
        if (item === breakAt) {
          break;
        }
        if (item === failAt) {
          throw new Error("the body failed");
        }
      }
    } catch (fault) {
      return { items: entered, raised: String(fault) };
    }
    return { items: entered };
  }

  async #scope(request: Request): Promise<Answer> {
    try {
      await using reporter = this.#start(request);
      this.#reporter = reporter;
      for (const step of request.steps ?? []) {
        reporter.report(reportOf(step));
      }
      if (request.raise !== undefined) {
        throw new Error(request.raise);
      }
    } catch (fault) {
      return { raised: String(fault) };
    }
    return {};
  }

  #measure(calls: number): Answer {
    const took = new Float64Array(calls);
    for (let i = 0; i < calls; i++) {
      const loss = 1 / (i + 1);
      const start = performance.now();
      this.#alive.report({ step: i + 1, totalSteps: calls, metrics: { loss, accuracy: 1 - loss } });
      took[i] = (performance.now() - start) * 1_000;
    }
    took.sort();
    const at = (part: number): number => took[Math.min(calls - 1, Math.floor(calls * part))] ?? 0;
    return { p50: at(0.5), p99: at(0.99), max: at(1) };
  }
}

/** What a program passes to report, with fields of any type. */
function reportOf({ step, totalSteps, progress, eta, metrics, keep }: Request): Report {
  return { step, totalSteps, progress, eta, metrics, keep } as Report;
}

/** Counts from 1 to n, and does not tell how far. */
function* upTo(n: number): Generator<number, void, undefined> {
  for (let i = 1; i <= n; i++) {
    yield i;
  }
}

/** A stored report as the JSON of the wire. */
function wireOf(stored: Stored | undefined): Answer | null {
  if (stored === undefined) {
    return null;
  }
  const { progress, eta, metrics, updated } = stored;
  return {
    ...(progress !== undefined && { progressPercentage: progress }),
    ...(eta !== undefined && { estimatedRemainingSeconds: eta }),
    ...(metrics.length > 0 && { metrics }),
    ...(updated !== undefined && { lastUpdatedTime: updated.toISOString().replace(".000Z", "Z") }),
  };
}
