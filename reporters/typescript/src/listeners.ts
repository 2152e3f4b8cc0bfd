// SPDX-License-Identifier: Apache-2.0
// Signals, in the main thread: counts the program's own listeners for the workers, and listens itself where Node does not give
// signals to workers. Until the worker runs, a moment after the first report, signals do what they do without reporter: a
// listener here would swallow them as long as the training computes. D25.

import { isMainThread } from "node:worker_threads";

import { newSignalMemory, SignalWord } from "./signal-words.js";

type Name = "SIGTERM" | "SIGINT";

const names: readonly Name[] = ["SIGTERM", "SIGINT"];

/** How long the process may take to end, in milliseconds. */
const patience = 1_000;

/** Sees to it that the last report is sent when a signal ends the process. */
export class Listeners {
  /** Words to share with workers. */
  readonly memory = newSignalMemory();
  readonly #words = new Int32Array(this.memory);
  readonly #ours = new Map<Name, () => void>();
  #users = 0;

  /** @param flush - sends what all reporters have left, and waits for it */
  constructor(private readonly flush: () => void) {}

  /** Begins for a reporter. False in a thread that gets no signals. */
  add(): boolean {
    if (!isMainThread) {
      return false;
    }
    if (this.#users++ === 0) {
      process.on("newListener", this.#onNew);
      process.on("removeListener", this.#onRemoved);
      for (const name of names) {
        this.#count(name, 0);
      }
    }
    return true;
  }

  /** Ends for a reporter that was added. */
  remove(): void {
    if (--this.#users === 0) {
      names.forEach((name) => {
        this.#drop(name);
      });
      process.off("newListener", this.#onNew);
      process.off("removeListener", this.#onRemoved);
    }
  }

  /** Listens in place of the workers, which cannot. */
  listen(): void {
    for (const name of names) {
      if (this.#users > 0 && !this.#ours.has(name)) {
        const listener = (): void => {
          this.#end(name);
        };
        this.#ours.set(name, listener);
        process.on(name, listener);
      }
    }
  }

  #drop(name: Name): void {
    const listener = this.#ours.get(name);
    this.#ours.delete(name);
    if (listener !== undefined) {
      process.off(name, listener);
    }
  }

  /** Lets a signal do what it would have done, after a flush. */
  #end(name: Name): void {
    if (process.listenerCount(name) > 1) {
      return; // the program has its own way, and the last report goes out at its exit
    }
    this.flush();
    this.#drop(name);
    process.kill(process.pid, name);
    // Process 1 of a container survives a signal that has no handler. Reporting goes on then.
    setTimeout(() => {
      this.listen();
    }, patience).unref();
  }

  /** Tells workers how many listeners for a signal are the program's own. */
  #count(name: Name, coming: number): void {
    const count = process.listenerCount(name) + coming - (this.#ours.has(name) ? 1 : 0);
    Atomics.store(this.#words, name === "SIGINT" ? SignalWord.Int : SignalWord.Term, count);
  }

  readonly #onNew = (event: string | symbol): void => {
    const name = names.find((name) => name === event);
    if (name !== undefined) {
      this.#count(name, 1); // this event comes before the listener is there
    }
  };

  readonly #onRemoved = (event: string | symbol): void => {
    const name = names.find((name) => name === event);
    if (name !== undefined) {
      this.#count(name, 0);
    }
  };
}
