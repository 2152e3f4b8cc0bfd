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

/** Shared memory for one slot. */
export function newSlotMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(wordBytes + buffers * bufferBytes);
}

class Buffers {
  readonly words: Int32Array;
  protected readonly heads: readonly Int32Array[];
  protected readonly bodies: readonly Uint8Array[];

  constructor(memory: SharedArrayBuffer) {
    const places = Array.from({ length: buffers }, (_, i) => wordBytes + i * bufferBytes);
    this.words = new Int32Array(memory, 0, Word.Count);
    this.heads = places.map((place) => new Int32Array(memory, place, headBytes / Int32Array.BYTES_PER_ELEMENT));
    this.bodies = places.map((place) => new Uint8Array(memory, place + headBytes, mostBytes));
  }
}

/** The program's end of the slot. */
export class SlotWriter extends Buffers {
  readonly #encoder = new TextEncoder();
  #mine = 0;
  #number = 0;

  constructor(memory: SharedArrayBuffer) {
    super(memory);
    Atomics.store(this.words, Word.Middle, 1);
  }

  /** Replaces what is in the slot. The worker needs a message if the result is true. */
  put(text: string, urgent: boolean): boolean {
    const head = this.heads[this.#mine] as Int32Array;
    this.#number = (this.#number + 1) | 0;
    head[0] = this.#number;
    head[1] = this.#encoder.encodeInto(text, this.bodies[this.#mine] as Uint8Array).written;
    head[2] = Number(urgent);
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
export class SlotReader extends Buffers {
  #mine = 2;

  /** Takes what was put since the last call, if anything was. */
  take(): Waiting | undefined {
    if (!this.#isFresh) {
      return undefined;
    }
    this.#mine = Atomics.exchange(this.words, Word.Middle, this.#mine) & ~fresh;
    const [number = 0, length = 0, urgent = 0] = this.heads[this.#mine] as Int32Array;
    // A copy, because the program gets this buffer back while the body is being sent.
    const body = Buffer.from((this.bodies[this.#mine] as Uint8Array).subarray(0, length));
    return { number, body, urgent: urgent === 1 };
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
