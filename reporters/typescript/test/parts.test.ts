// SPDX-License-Identifier: Apache-2.0
// Parts that tables do not reach.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { cut, describe as textOf, harmless, Once, Trouble } from "../src/log.js";
import { flatten, namesOf, select } from "../src/metrics.js";
import { Pacing } from "../src/pacing.js";
import { newSlotMemory, SlotReader, SlotWriter } from "../src/slot.js";

describe("the slot", () => {
  test("gives the newest report, once", () => {
    const memory = newSlotMemory();
    const [writer, reader] = [new SlotWriter(memory), new SlotReader(memory)];
    assert.equal(reader.take(), undefined);
    writer.put("one", false);
    writer.put("zwei 🚀", true);
    const got = reader.take();
    assert.deepEqual([got?.body.toString(), got?.urgent, got?.number], ["zwei 🚀", true, 2]);
    assert.equal(reader.take(), undefined);
  });

  test("leaves a report that was taken as it is", () => {
    const memory = newSlotMemory();
    const [writer, reader] = [new SlotWriter(memory), new SlotReader(memory)];
    writer.put("first", false);
    const got = reader.take();
    for (const text of ["a", "b", "c", "d"]) {
      writer.put(text, false);
      assert.equal(reader.take()?.body.toString(), text);
    }
    assert.equal(got?.body.toString(), "first");
  });

  test("asks for a message only when the worker sleeps, and for urgent reports", () => {
    const memory = newSlotMemory();
    const [writer, reader] = [new SlotWriter(memory), new SlotReader(memory)];
    assert.equal(writer.put("a", false), false);
    assert.equal(reader.sleep(), false, "a report is there");
    reader.take();
    assert.equal(reader.sleep(), true);
    assert.equal(writer.put("b", false), true);
    assert.equal(writer.put("c", false), false, "the worker was told");
    assert.equal(writer.put("d", true), true);
  });

  test("knows what is unsent and which flush is over", () => {
    const memory = newSlotMemory();
    const [writer, reader] = [new SlotWriter(memory), new SlotReader(memory)];
    assert.equal(writer.isUnsent, false);
    writer.put("a", false);
    assert.equal(writer.isUnsent, true);
    reader.settle(reader.take()?.number ?? 0);
    assert.equal(writer.isUnsent, false);
    writer.awaitFlush(1, 1);
    assert.equal(writer.isFlushed(1), false);
    reader.flushed(1);
    writer.awaitFlush(1, 60_000);
    assert.equal(writer.isFlushed(1), true);
  });
});

describe("metrics", () => {
  const values = (metrics: unknown): [string, string][] => flatten(metrics).items.map(({ name, value }) => [name, value]);

  test("come from a Map in its order, whatever its keys look like", () => {
    const map = new Map<unknown, unknown>([
      ["b", 1],
      [2, new Map([["c", 3n]])],
      ["1", true],
    ]);
    assert.deepEqual(values(map), [
      ["b", "1"],
      ["2/c", "3"],
      ["1", "1"],
    ]);
  });

  test("come from objects that give a number by their primitive value", () => {
    const decimal = { toString: () => "0.5", valueOf: () => "0.50" };
    assert.deepEqual(values({ decimal, boxed: Object(7) as unknown, never: { valueOf: () => "soon" } }), [
      ["decimal", "0.5"],
      ["boxed", "7"],
    ]);
  });

  test("that throw cost themselves alone", () => {
    const bad = {
      item: (): never => {
        throw new Error("no number");
      },
    };
    const metrics = {
      a: 1,
      bad,
      get worse(): number {
        throw new Error("no value");
      },
      b: 2,
    };
    const got = flatten(metrics);
    assert.deepEqual(
      [got.items.map(({ name }) => name), got.unfit],
      [
        ["a", "b"],
        ["bad", "worse"],
      ],
    );
  });

  test("that contain themselves come to an end", () => {
    const circle: Record<string, unknown> = { loss: 1 };
    circle.left = circle;
    circle.right = { circle };
    const got = flatten(circle);
    assert.deepEqual([got.items.length, got.unfit], [1, ["left", "right/circle"]]);
  });

  test("that share maps many times over come to an end", () => {
    let shared: object = { loss: 1 };
    for (let i = 0; i < 30; i++) {
      shared = { a: shared, b: shared };
    }
    assert.equal(flatten(shared).cut, true);
  });

  test("with halves of characters are mended", () => {
    assert.deepEqual(values({ "a\ud800": "\udc00b" }), [["a\ufffd", "\ufffdb"]]);
  });

  test("of no known kind are left out", () => {
    const none = [undefined, Symbol("x"), () => 1, Promise.resolve(1), new Set([1]), new Float32Array(1), /x/];
    assert.deepEqual(
      none.map((value) => flatten({ value }).unfit.length),
      none.map(() => 1),
    );
  });

  test("may be marked by any list of names, or by one name", () => {
    assert.deepEqual([...namesOf(new Set(["a"])), ...namesOf("bc"), ...namesOf(7), ...namesOf(null)], ["a", "bc"]);
  });

  test("beyond 64 KiB are left out, smaller ones that fit are not", () => {
    const items = [...Array(255).keys()].map((i) => ({ name: String(i), value: "🚀".repeat(64) }));
    const got = select([...items, { name: "loss", value: "1" }], ["254"]);
    assert.ok(got.length < 256);
    assert.deepEqual(
      got.slice(-2).map(({ name }) => name),
      ["254", "loss"],
    );
    assert.ok(Buffer.byteLength(JSON.stringify(got)) <= 65_536 - 150);
  });
});

describe("pacing", () => {
  test("starts the interval with a success and not with a failure", () => {
    const pacing = new Pacing(5_000, 0.1);
    assert.equal(pacing.due(false), -Infinity);
    pacing.settled(1_000);
    assert.equal(pacing.due(false), 1_500);
    assert.equal(pacing.due(true), -Infinity);
    pacing.failed(2_000);
    assert.ok(pacing.due(true) >= 2_050 && pacing.due(true) <= 2_100);
    pacing.settled(3_000);
    assert.equal(pacing.due(false), 3_500);
  });

  test("waits as long as the server asks, at least", () => {
    const pacing = new Pacing(5_000, 1);
    pacing.failed(0, 10_000);
    assert.equal(pacing.due(true), 10_000);
    pacing.failed(0);
    assert.ok(pacing.due(true) <= 2_000);
  });
});

describe("log lines", () => {
  test("are said once, and their memory is bounded", () => {
    const once = new Once(["old"]);
    assert.deepEqual([once.first("old"), once.first("new"), once.first("new")], [false, true, false]);
    const said = [...Array(2_000).keys()].filter((i) => once.first(`name ${String(i)}`));
    assert.equal(said.length, 998);
  });

  test("about failures come at the first, once a minute, and at the end", () => {
    const trouble = new Trouble(60_000);
    assert.deepEqual(
      [0, 1, 59_999, 60_000, 60_001].map((now) => trouble.add(now)),
      [true, false, false, true, false],
    );
    assert.deepEqual([trouble.end(), trouble.end()], [5, 0]);
    assert.equal(trouble.add(60_002), true);
  });

  test("go to callbacks that may throw or be rejected", async () => {
    harmless(() => {
      throw new Error("broken");
    })("info", "x");
    harmless(() => Promise.reject(new Error("broken")))("info", "x");
    await new Promise(setImmediate); // a rejection that nobody handles would end this process
  });

  test("hold any text on one line, cut to code points", () => {
    assert.equal(cut("a\n🚀🚀b", 3), "a 🚀");
    assert.equal(textOf(new AggregateError([new Error("one"), new Error("two")])), "one, two");
    assert.equal(textOf({ toString: () => 1 / 0 }), "Infinity");
    assert.equal(textOf(Object.create(null)), "unknown");
  });
});
