// SPDX-License-Identifier: Apache-2.0
// Requests of the runner, and the values that JSON cannot say.

/** One line of the runner. Fields of a report may be anything, on purpose. */
export interface Request {
  readonly id: number;
  readonly op: string;
  readonly options?: Options;
  readonly manualClock?: boolean;
  readonly now?: number;
  readonly step?: unknown;
  readonly totalSteps?: unknown;
  readonly progress?: unknown;
  readonly eta?: unknown;
  readonly metrics?: unknown;
  readonly keep?: unknown;
  readonly message?: string;
  readonly total?: number;
  readonly items?: number;
  readonly breakAt?: number;
  readonly failAt?: number;
  readonly pause?: number;
  readonly steps?: readonly Request[];
  readonly raise?: string;
  readonly calls?: number;
  readonly exitCode?: number;
  readonly how?: string;
  readonly code?: number;
}

/** Options of create. */
export interface Options {
  readonly rank?: number;
  readonly interval?: number;
  readonly timeScale?: number;
  readonly limitScale?: number;
  readonly signals?: boolean;
  readonly log?: string;
}

/** An object that has no number in it and is no map. */
class Opaque {
  describe(): string {
    return "nothing";
  }
}

/** Puts the values in place that an object with a key such as `$float` stands for. */
export function decode(value: unknown): unknown {
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map(decode);
  }
  const entries = Object.entries(value as Record<string, unknown>);
  const [name, content] = entries[0] ?? [];
  switch (name) {
    case "$float":
      return Number(content);
    case "$int":
      return BigInt(String(content));
    case "$item": {
      const item = decode(content);
      return { item: () => item };
    }
    case "$opaque":
      return new Opaque();
    case "$self":
      return holdsItself(content as string[]);
    case "$twice":
      return holdsTwice(Number(content));
    default:
      return Object.fromEntries(entries.map(([key, inner]) => [key, decode(inner)]));
  }
}

/** A map that holds itself under each of the names. */
function holdsItself(names: readonly string[]): object {
  const graph: Record<string, unknown> = {};
  for (const name of names) {
    graph[name] = graph;
  }
  graph.x = 1;
  return graph;
}

/** Maps within each other, each of which holds the next one twice. */
function holdsTwice(depth: number): unknown {
  let graph: unknown = 1;
  for (let level = 0; level < depth; level++) {
    graph = { a: graph, b: graph };
  }
  return graph;
}
