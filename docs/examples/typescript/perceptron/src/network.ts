// SPDX-License-Identifier: Apache-2.0

import type { Example } from "./digits.js";

const RATE = 0.01; // of learning

let state = 1; // of the random numbers, which are the same in each run

/** A random number from 0 to 1. */
function random(): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
}

/** Units with a row of weights each, the bias behind them, and what they put out last. */
class Layer {
  readonly values: Float64Array;
  readonly weights: Float64Array[];

  constructor(inputs: number, units: number) {
    const limit = Math.sqrt(6 / inputs);
    const weight = (_: unknown, i: number) => (i < inputs ? (2 * random() - 1) * limit : 0);
    this.values = new Float64Array(units);
    this.weights = Array.from(this.values, () => Float64Array.from({ length: inputs + 1 }, weight));
  }

  /** Fills in the values. */
  sum(inputs: Float64Array): void {
    this.weights.forEach((weights, unit) => {
      let sum = weights[inputs.length]!;
      for (let i = 0; i < inputs.length; i++) sum += weights[i]! * inputs[i]!;
      this.values[unit] = sum;
    });
  }

  /** Changes the weights and returns the slopes along the inputs. */
  descend(inputs: Float64Array, slopes: Float64Array): Float64Array {
    const below = new Float64Array(inputs.length);
    this.weights.forEach((weights, unit) => {
      const slope = slopes[unit]!;
      for (let i = 0; i < inputs.length; i++) {
        below[i]! += weights[i]! * slope;
        weights[i]! -= RATE * slope * inputs[i]!;
      }
      weights[inputs.length]! -= RATE * slope;
    });
    return below;
  }
}

/** One hidden layer of rectifiers; the outputs are the probabilities of the classes. */
export class Network {
  readonly #hidden: Layer;
  readonly #output: Layer;

  constructor(inputs: number, hidden: number, classes: number) {
    this.#hidden = new Layer(inputs, hidden);
    this.#output = new Layer(hidden, classes);
  }

  /** Goes through the examples once, in a new order, and returns the mean loss. */
  learn(examples: Example[]): number {
    const order = examples.map((example) => ({ example, place: random() })).sort((a, b) => a.place - b.place);
    return order.reduce((loss, { example }) => loss + this.#learnOne(example), 0) / examples.length;
  }

  /** Moves all weights a little down the slope of the loss, which is the cross entropy. */
  #learnOne({ image, digit }: Example): number {
    this.predict(image);
    const loss = -Math.log(this.#output.values[digit]!);
    const slopes = this.#output.values.map((probability, i) => probability - Number(i === digit));
    const below = this.#output.descend(this.#hidden.values, slopes);
    this.#hidden.descend(
      image,
      below.map((slope, unit) => (this.#hidden.values[unit]! > 0 ? slope : 0)),
    );
    return loss;
  }

  /** The share of the examples that are read right. */
  accuracy(examples: Example[]): number {
    return examples.filter(({ image, digit }) => this.predict(image) === digit).length / examples.length;
  }

  /** Fills in the values of both layers and returns the likeliest class. */
  predict(image: Float64Array): number {
    const hidden = this.#hidden.values;
    const output = this.#output.values;
    this.#hidden.sum(image);
    hidden.forEach((value, unit) => (hidden[unit] = Math.max(value, 0)));
    this.#output.sum(hidden);
    const total = output.reduce((sum, value) => sum + Math.exp(value), 0);
    output.forEach((value, i) => (output[i] = Math.exp(value) / total));
    return output.indexOf(Math.max(...output));
  }
}
