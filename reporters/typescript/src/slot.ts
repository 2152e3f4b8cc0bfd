// SPDX-License-Identifier: Apache-2.0
// The slot for the newest report, in memory that the thread of the program and the worker share.
//
// It has three buffers. The program fills one and exchanges it for the one in the middle; the worker exchanges the one that
// it has read for the one in the middle. Neither ever waits for the other, and what the worker takes is always whole and
// always the newest.

import { mostBytes } from "./metrics.js";

/** Words that both threads read and write, by their place. */
const enum Word {
  /** Which buffer is in the middle, and whether the worker has not seen it yet. */
  Middle,
  /** 1 when the worker sleeps until it gets a message. */
  Bell,
  /** Number of the last report that was sent or dropped. */
  Settled,
  /** Number of the last flush that is over. */
  Flushed,
  Count,
}

const fresh = 4;
const buffers = 3;
const headBytes = 12; // number, length, urgent
const bufferBytes = headBytes + mostBytes;
const wordBytes = Int32Array.BYTES_PER_ELEMENT * Word.Count;

/** A report as it waits in the slot. */
export interface Waiting {
  /** Counts the reports of a reporter; it wraps around. */
  readonly number: number;
  /** The body to be sent. */
  readonly body: Buffer;
  /** Whether it skips the interval. */
  readonly urgent: boolean;
}

const encoder = new TextEncoder();

/** Shared memory for one slot. */
export function newSlotMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(wordBytes + buffers * bufferBytes);
}

/** One of the buffers. */
class Place {
  readonly #head: Int32Array;
  readonly #body: Uint8Array;

  constructor(memory: SharedArrayBuffer, index: number) {
    const start = wordBytes + index * bufferBytes;
    this.#head = new Int32Array(memory, start, headBytes / Int32Array.BYTES_PER_ELEMENT);
    this.#body = new Uint8Array(memory, start + headBytes, mostBytes);
  }

  write(number: number, text: string, urgent: boolean): void {
    this.#head[0] = number;
    this.#head[1] = encoder.encodeInto(text, this.#body).written;
    this.#head[2] = Number(urgent);
  }

  /** A copy, because the program gets this buffer back while the body is being sent. */
  read(): Waiting {
    const [number = 0, length = 0, urgent = 0] = this.#head;
    return { number, body: Buffer.from(this.#body.subarray(0, length)), urgent: urgent === 1 };
  }
}

class Slot {
  protected readonly words: Int32Array;
  readonly #places: readonly Place[];

  constructor(memory: SharedArrayBuffer) {
    this.words = new Int32Array(memory, 0, Word.Count);
    this.#places = Array.from({ length: buffers }, (_, index) => new Place(memory, index));
  }

  protected place(index: number): Place {
    const place = this.#places[index];
    if (place === undefined) {
      throw new RangeError(`there is no buffer ${String(index)}`);
    }
    return place;
  }
}

/** The program's end of the slot. */
export class SlotWriter extends Slot {
  #mine = 0;
  #number = 0;

  constructor(memory: SharedArrayBuffer) {
    super(memory);
    Atomics.store(this.words, Word.Middle, 1);
  }

  /** Replaces what is in the slot. The worker needs a message if the result is true. */
  put(text: string, urgent: boolean): boolean {
    this.#number = (this.#number + 1) | 0;
    this.place(this.#mine).write(this.#number, text, urgent);
    this.#mine = Atomics.exchange(this.words, Word.Middle, this.#mine | fresh) & ~fresh;
    return Atomics.exchange(this.words, Word.Bell, 0) === 1 || urgent;
  }

  /** Whether there is a report that was neither sent nor dropped. */
  get isUnsent(): boolean {
    return Atomics.load(this.words, Word.Settled) !== this.#number;
  }

  /** Whether a flush is over. */
  isFlushed(number: number): boolean {
    return Atomics.load(this.words, Word.Flushed) >= number;
  }

  /** Blocks this thread until a flush is over, at most for some milliseconds. */
  awaitFlush(number: number, millis: number): void {
    const seen = Atomics.load(this.words, Word.Flushed);
    if (seen < number) {
      Atomics.wait(this.words, Word.Flushed, seen, millis);
    }
  }
}

/** The worker's end of the slot. */
export class SlotReader extends Slot {
  #mine = 2;

  /** Takes what was put since the last call, if anything was. */
  take(): Waiting | undefined {
    if (!this.#isFresh) {
      return undefined;
    }
    this.#mine = Atomics.exchange(this.words, Word.Middle, this.#mine) & ~fresh;
    return this.place(this.#mine).read();
  }

  /** Asks for a message with the next report. False when a report came meanwhile. */
  sleep(): boolean {
    Atomics.store(this.words, Word.Bell, 1);
    return !this.#isFresh;
  }

  get #isFresh(): boolean {
    return (Atomics.load(this.words, Word.Middle) & fresh) !== 0;
  }

  /** Notes that a report was sent or dropped. */
  settle(number: number): void {
    Atomics.store(this.words, Word.Settled, number);
  }

  /** Notes that a flush is over, and wakes the program if it waits for that. */
  flushed(number: number): void {
    Atomics.store(this.words, Word.Flushed, number);
    Atomics.notify(this.words, Word.Flushed);
  }
}
