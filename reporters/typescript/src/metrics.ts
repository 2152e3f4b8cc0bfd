// SPDX-License-Identifier: Apache-2.0
// Metrics: values as text, nested maps as names with slashes, and the limits of the server.

import {
  METRIC_NAME_MAX_LENGTH,
  METRIC_NAME_MIN_LENGTH,
  METRIC_VALUE_MAX_LENGTH,
  METRIC_VALUE_MIN_LENGTH,
  TRAINER_STATUS_METRICS_MAX_ITEMS,
  type Metric,
} from "./wire/index.js";

/** The most bytes that a body may have. D9. */
export const mostBytes = 64 * 1024;

/** Room for everything in a body but the metrics. */
const restOfBody = 256;

/** The most entries of maps that one call looks at: maps that share maps can have more entries than time to see them. */
const mostEntries = 10_000;

/** Whole numbers from here on have more digits than a value. */
const tooWide = 10n ** BigInt(METRIC_VALUE_MAX_LENGTH);

/** The metrics of one call as they will be sent, and the names of those that cannot. */
export interface Flat {
  readonly items: Metric[];
  readonly unfit: string[];
  /** Whether entries were passed over because there are too many. */
  cut: boolean;
}

/** Flattens what a call has under `metrics`; what is no object has no metrics. D7, D8. */
export function flatten(metrics: unknown): Flat {
  const flat: Flat = { items: [], unfit: [], cut: false };
  if (typeof metrics === "object" && metrics !== null && !Array.isArray(metrics)) {
    new Walk(flat).map("", metrics, [metrics]);
  }
  return flat;
}

/** One pass over nested maps. */
class Walk {
  #seen = 0;

  constructor(private readonly into: Flat) {}

  /** Adds the entries of a Map or of an object, in their order. */
  map(prefix: string, map: object, around: readonly object[]): void {
    const isMap = map instanceof Map;
    for (const key of isMap ? (map.keys() as Iterable<unknown>) : Object.keys(map)) {
      if (++this.#seen > mostEntries) {
        this.into.cut = true;
        return;
      }
      let name = prefix;
      try {
        name += wellFormed(String(key));
        this.#entry(name, isMap ? map.get(key) : map[key as keyof typeof map], around);
      } catch {
        this.into.unfit.push(name); // a value whose methods throw
      }
    }
  }

  #entry(name: string, value: unknown, around: readonly object[]): void {
    const text = valueText(value);
    if (text !== undefined) {
      this.#add(name, wellFormed(text));
    } else if (isMap(value) && !around.includes(value) && fits(name, 0, METRIC_NAME_MAX_LENGTH)) {
      this.map(`${name}/`, value, [...around, value]);
    } else {
      this.into.unfit.push(name); // a map that contains itself ends here
    }
  }

  #add(name: string, value: string): void {
    const isFit =
      fits(name, METRIC_NAME_MIN_LENGTH, METRIC_NAME_MAX_LENGTH) &&
      fits(value, METRIC_VALUE_MIN_LENGTH, METRIC_VALUE_MAX_LENGTH);
    if (isFit) {
      this.into.items.push({ name, value });
    } else {
      this.into.unfit.push(name);
    }
  }
}

/** Whether a value is a Map or a plain object, of this realm or of another. */
function isMap(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return false;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  return value instanceof Map || prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Writes a value as it is sent; undefined for what is no value. D7. */
export function valueText(value: unknown): string | undefined {
  switch (typeof value) {
    case "number":
      return String(value);
    case "string":
      return value;
    case "boolean":
      return value ? "1" : "0";
    case "bigint":
      return -tooWide < value && value < tooWide ? String(value) : undefined;
    case "object":
      return value === null || Array.isArray(value) ? undefined : numberIn(value);
    default:
      return undefined;
  }
}

/** The number that an object gives: a tensor by `item()`, a decimal or a boxed number by its primitive value. */
function numberIn(value: object): string | undefined {
  const { item } = value as { item?: unknown };
  const number: unknown = typeof item === "function" ? item.call(value) : primitive(value);
  if (typeof number === "string") {
    return number.trim() !== "" && !Number.isNaN(Number(number)) ? String(Number(number)) : undefined;
  }
  return typeof number === "object" ? undefined : valueText(number);
}

/** What an object says it is by itself; its text form does not count. */
function primitive(value: object): unknown {
  const convert: unknown = Symbol.toPrimitive in value ? value[Symbol.toPrimitive] : undefined;
  if (typeof convert === "function") {
    return convert.call(value, "number");
  }
  return typeof value.valueOf === "function" ? value.valueOf() : undefined; // a map may hold anything under that name
}

function fits(text: string, least: number, most: number): boolean {
  if (text.length <= most) {
    return text.length >= least;
  }
  return text.length <= 2 * most && Array.from(text).length <= most;
}

/** Replaces halves of characters, which UTF-8 cannot hold. */
function wellFormed(text: string): string {
  return /[\ud800-\udfff]/.test(text) ? text.replace(/\p{Surrogate}/gu, "\ufffd") : text;
}

/** Names of metrics to keep, from what a call has under `keep`. */
export function namesOf(keep: unknown): ReadonlySet<unknown> {
  if (typeof keep === "string") {
    return new Set([keep]);
  }
  const isIterable = typeof keep === "object" && keep !== null && Symbol.iterator in keep;
  return new Set(isIterable ? (keep as Iterable<unknown>) : []);
}

/** Drops what the server would not take. What is marked to be kept comes first; the order stays. D9. */
export function select(items: readonly Metric[], keep: unknown): readonly Metric[] {
  if (items.length <= TRAINER_STATUS_METRICS_MAX_ITEMS && isBounded(items)) {
    return items;
  }
  const names = namesOf(keep);
  const taken = new Set<Metric>();
  let room = mostBytes - restOfBody;
  for (const marked of [true, false]) {
    for (const item of items) {
      if (taken.size === TRAINER_STATUS_METRICS_MAX_ITEMS) {
        break;
      }
      const size = names.has(item.name) === marked ? encodedSize(item) : Infinity;
      if (size <= room) {
        taken.add(item);
        room -= size;
      }
    }
  }
  return items.filter((item) => taken.has(item));
}

/** Tells cheaply that metrics fit into a body even if every character needs an escape. */
function isBounded(items: readonly Metric[]): boolean {
  let size = 0;
  for (const item of items) {
    size += 24 + 6 * (item.name.length + item.value.length);
  }
  return size <= mostBytes - restOfBody;
}

function encodedSize(item: Metric): number {
  return Buffer.byteLength(JSON.stringify(item)) + 1;
}
