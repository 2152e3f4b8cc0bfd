// SPDX-License-Identifier: Apache-2.0
// Signals, in the worker. Node gives signals to the event loop of the main thread alone. A training that computes for a minute
// would get SIGTERM and Ctrl-C a minute later, while without a reporter it would end at once. So the worker takes them, where
// Node lets it; listeners.ts does it elsewhere. D25.

import { constants } from "node:os";

import { others, SignalWord } from "./signal-words.js";
import { flushLimit } from "./times.js";

/** How long the process may take to end, in milliseconds. */
const patience = 1_000;

/** The part of Node's own handle of a signal that is used here. */
interface SignalHandle {
  onsignal: (number: number) => void;
  start(number: number): number;
  unref(): void;
  close(): void;
}

/** Takes SIGTERM and SIGINT and lets the process die by them after a flush, unless the program listens itself. */
export class SignalTaker {
  readonly #words: Int32Array | undefined;
  #handles: SignalHandle[] = [];
  #isDying = false; // whether the process is about to end by a signal
  #hasEnded = false;

  /**
   * @param memory - words shared with the program; without it nothing is taken
   * @param flush - sends the last report and then calls back
   */
  constructor(
    memory: SharedArrayBuffer | undefined,
    private readonly flush: (over: () => void) => void,
  ) {
    this.#words = memory && new Int32Array(memory);
  }

  /** Begins to take signals. False where that is not possible. */
  start(): boolean {
    if (this.#words === undefined) {
      return false;
    }
    try {
      this.#handles = [constants.signals.SIGTERM, constants.signals.SIGINT].map((number) => this.#listen(number));
    } catch {
      this.#close();
      return false;
    }
    this.#isDying = false;
    Atomics.add(this.#words, SignalWord.Takers, 1);
    return true;
  }

  /** Ends taking signals for good. */
  end(): void {
    this.#hasEnded = true;
    this.#stop();
  }

  #stop(): void {
    if (this.#words !== undefined && this.#handles.length > 0) {
      this.#close();
      Atomics.sub(this.#words, SignalWord.Takers, 1);
    }
  }

  #listen(number: number): SignalHandle {
    const handle = newHandle();
    this.#handles.push(handle);
    handle.onsignal = () => {
      this.#take(number);
    };
    if (handle.start(number) !== 0) {
      throw new Error("the signal cannot be taken");
    }
    handle.unref();
    return handle;
  }

  #close(): void {
    for (const handle of this.#handles) {
      handle.close();
    }
    this.#handles = [];
  }

  #take(number: number): void {
    const words = this.#words;
    if (words === undefined || others(words, number) > 0) {
      return; // the program has its own way, and the last report goes out at its exit
    }
    if (this.#isDying) {
      this.#die(words, number); // whoever asks twice does not want to wait
      return;
    }
    this.#isDying = true;
    this.flush(() => {
      this.#die(words, number);
    });
  }

  /** Lets the signal do what it would have done. The last reporter of the process that has flushed does it for all. */
  #die(words: Int32Array, number: number): void {
    this.#stop();
    const isLast = Atomics.load(words, SignalWord.Takers) === 0;
    if (isLast) {
      process.kill(process.pid, number);
    }
    // Process 1 of a container survives a signal that has no handler. Reporting goes on then.
    setTimeout(
      () => {
        if (!this.#hasEnded) {
          this.start();
        }
      },
      isLast ? patience : patience + flushLimit,
    ).unref();
  }
}

/** Throws where Node does not give its handle away. */
function newHandle(): SignalHandle {
  const { binding } = process as unknown as { binding: (name: string) => unknown };
  const { Signal } = binding.call(process, "signal_wrap") as { Signal: new () => SignalHandle };
  return new Signal();
}
