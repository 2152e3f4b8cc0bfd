// SPDX-License-Identifier: Apache-2.0
// The program's side of the worker: starts it, hands reports over, waits for the last one, and passes on log lines.

import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort, type WorkerOptions } from "node:worker_threads";

import type { Endpoint } from "./environment.js";
import { describe, type Log } from "./log.js";
import type { News, Order, ReadAnswer, ReadTask, SendTask } from "./messages.js";
import type { Settings } from "./options.js";
import { processState, type Live } from "./process-state.js";
import { newSlotMemory, SlotWriter } from "./slot.js";
import * as times from "./times.js";
import type { TrainerStatus } from "./wire/index.js";
import { workerSource } from "./worker-source.js";

/** A flush that the worker was asked for. */
interface Flush {
  readonly number: number;
  /** When the worker gives up. */
  readonly until: number;
  /** Called when it is over. */
  done?: () => void;
}

/** A worker that runs. */
interface Running {
  readonly slot: SlotWriter;
  readonly port: MessagePort;
  /** Whether it was counted among those that want signals. */
  readonly wantsSignals: boolean;
}

/** Sends reports in the background. It never throws. */
export class Background implements Live {
  #running: Running | undefined;
  #hasFailed = false;
  #flushes = 0;
  #flush: Flush | undefined; // the one under way
  #end: Promise<void> | undefined;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly settings: Settings,
    private readonly log: Log,
  ) {}

  /** Replaces what is in the slot, and starts the worker with the first report. */
  put(text: string, urgent: boolean): void {
    this.#running ??= this.#start();
    if (this.#running?.slot.put(text, urgent)) {
      this.#order({ op: "wake" });
    }
  }

  /** Sends what is left and ends the worker. The promise is never rejected, and keeps the program alive. D22. */
  end(): Promise<void> {
    this.#end ??= this.#beginEnd();
    return this.#end;
  }

  /** Does the same and blocks this thread meanwhile. */
  endNow(): void {
    void this.end();
    this.awaitFlush();
  }

  beginFlush(): void {
    if (this.#running?.slot.isUnsent && this.#flush === undefined) {
      this.#beginFlush(false);
    }
  }

  awaitFlush(): void {
    const { slot, port } = this.#running ?? {};
    const flush = this.#flush;
    if (slot === undefined || port === undefined || flush === undefined) {
      return;
    }
    const until = flush.until + times.workerSlack;
    while (!slot.isFlushed(flush.number) && times.now() < until) {
      slot.awaitFlush(flush.number, until - times.now());
    }
    for (let got = receiveMessageOnPort(port); got !== undefined; got = receiveMessageOnPort(port)) {
      this.#receive(got.message as News);
    }
    this.#endFlush(flush);
  }

  /** Reads the stored report. The promise is never rejected. D27. */
  async stored(): Promise<TrainerStatus | undefined> {
    const limit = times.attemptLimit * this.settings.limitScale;
    return await readStored({ task: "read", endpoint: this.endpoint, limit });
  }

  #beginEnd(): Promise<void> {
    const running = this.#running;
    if (running === undefined) {
      return Promise.resolve();
    }
    const flush = this.#beginFlush(true);
    return new Promise((resolve) => {
      running.port.ref();
      const guard = setTimeout(
        () => {
          this.#endFlush(flush);
        },
        flush.until + times.workerSlack - times.now(),
      );
      flush.done = () => {
        clearTimeout(guard);
        this.#stop();
        resolve();
      };
    });
  }

  #beginFlush(end: boolean): Flush {
    const until = times.now() + times.flushLimit * this.settings.limitScale;
    const flush = { number: ++this.#flushes, until };
    this.#flush = flush;
    this.#order({ op: "flush", number: flush.number, until, end });
    return flush;
  }

  /** Notes that a flush is over, by what the worker says or because it says nothing. */
  #endFlush(flush: Flush): void {
    if (this.#flush !== flush) {
      return;
    }
    this.#flush = undefined;
    if (this.#running?.slot.isFlushed(flush.number) === false) {
      this.log("warning", "the last report was not sent: the worker did not run");
    }
    flush.done?.();
  }

  /** Gives up what the worker had. */
  #stop(): void {
    const running = this.#running;
    this.#running = undefined;
    running?.port.close();
    const { live, listeners } = processState();
    if (live.delete(this) && running?.wantsSignals) {
      listeners.remove();
    }
  }

  #start(): Running | undefined {
    if (this.#hasFailed || this.#end !== undefined) {
      return undefined;
    }
    const { live, listeners } = processState();
    const memory = newSlotMemory();
    const { port1: port, port2 } = new MessageChannel();
    const wantsSignals = this.settings.signals && listeners.add();
    const running = { slot: new SlotWriter(memory), port, wantsSignals };
    live.add(this);
    try {
      startWorker(this.#task(memory, port2, wantsSignals), [port2], (fault) => {
        this.#fail(fault);
      }).unref();
    } catch (fault) {
      this.#running = running;
      this.#fail(fault);
      return undefined;
    }
    port.on("message", (news: News) => {
      this.#receive(news);
    });
    port.unref();
    return running;
  }

  #task(slot: SharedArrayBuffer, port: MessagePort, wantsSignals: boolean): SendTask {
    const { interval, timeScale, limitScale, isLogDirect, deafWorker } = this.settings;
    const { warned, listeners } = processState();
    return {
      task: "send",
      endpoint: this.endpoint,
      settings: { url: this.endpoint.url, interval: interval * 1_000, timeScale, limitScale, warned: [...warned.said] },
      slot,
      port,
      isLogDirect,
      signals: wantsSignals ? listeners.memory : undefined,
      isDeaf: deafWorker,
    };
  }

  #order(order: Order): void {
    this.#running?.port.postMessage(order);
  }

  #receive(news: News): void {
    switch (news.op) {
      case "log":
        this.log(news.level, news.message);
        break;
      case "warned":
        processState().warned.first(news.text);
        break;
      case "deaf":
        if (this.#running?.wantsSignals) {
          processState().listeners.listen();
        }
        break;
      case "flushed":
        if (this.#flush?.number === news.number) {
          this.#endFlush(this.#flush);
        }
        break;
    }
  }

  /** Goes on without worker: the training matters more. */
  #fail(fault: unknown): void {
    if (!this.#hasFailed) {
      this.#hasFailed = true;
      this.log("error", `nothing is reported any more, because the worker ended: ${describe(fault)}`);
    }
    const done = this.#flush?.done;
    this.#flush = undefined;
    this.#stop();
    done?.();
  }
}

/** Starts a worker that nothing around it changes: neither preloaded modules, nor proxies, nor other settings of Node. */
function startWorker(task: SendTask | ReadTask, transferList: MessagePort[], fail: (fault: unknown) => void): Worker {
  const options: WorkerOptions = {
    eval: true,
    workerData: task,
    transferList,
    env: {},
    execArgv: [],
    stdout: true, // it is never written to, and must not be mixed with that of the program
  };
  return new Worker(workerSource, options).on("error", fail);
}

/** Asks a worker of its own, so that the answer does not depend on what the program has done to Node's modules. */
function readStored(task: ReadTask): Promise<TrainerStatus | undefined> {
  return new Promise((resolve) => {
    try {
      const worker = startWorker(task, [], () => {
        resolve(undefined);
      });
      const guard = setTimeout(() => {
        resolve(undefined);
        void worker.terminate();
      }, task.limit + times.workerSlack);
      worker.on("message", (answer: ReadAnswer) => {
        resolve(answer.status);
      });
      worker.on("exit", () => {
        clearTimeout(guard);
        resolve(undefined);
      });
    } catch {
      resolve(undefined);
    }
  });
}
