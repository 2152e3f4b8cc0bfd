// SPDX-License-Identifier: Apache-2.0
// How programs end, and what the server has then. D22 to D25.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { StatusServer } from "./status-server.js";

const program = join(fileURLToPath(import.meta.url), "../program.js");
const timeout = 60_000;

let server: StatusServer;

beforeEach(async () => {
  server = await StatusServer.start();
});

afterEach(async () => {
  await server.stop();
});

interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** From its start, in milliseconds. */
  readonly took: number;
}

/** Runs the program to its end, with a signal after its first reports if one is given. */
async function run(way: string, signal?: NodeJS.Signals, environment: NodeJS.ProcessEnv = {}, after = 1): Promise<End> {
  const begin = performance.now();
  const child = spawn(process.execPath, [program, way], {
    env: { PATH: process.env.PATH, ...server.environment, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (part: Buffer) => (stdout += part.toString()));
  child.stderr.on("data", (part: Buffer) => (stderr += part.toString()));
  const closed = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  if (signal !== undefined) {
    await Promise.all([server.until(after), way === "deaf" ? once(child.stdout, "data") : undefined]);
    child.kill(signal);
  }
  const [code, died] = await closed;
  return { code, signal: died, stdout, stderr, took: performance.now() - begin };
}

describe("the last report arrives", { timeout }, () => {
  const ways = {
    "when nothing is left to do": { way: "return", wantCode: 0 },
    "at an exit call, which keeps its code": { way: "exit", wantCode: 3 },
    "after an uncaught error": { way: "throw", wantCode: 1, wantError: true },
    "after a rejection that nobody handles": { way: "reject", wantCode: 1, wantError: true },
    "when completion is not awaited": { way: "complete", wantCode: 0, wantProgress: 100 },
    "when completion is not awaited before an exit call": { way: "complete-exit", wantCode: 0, wantProgress: 100 },
    "when completion is awaited at the top level": { way: "await-complete", wantCode: 0, wantProgress: 100 },
    "at the end of a scope": { way: "using", wantCode: 0, wantProgress: 90 },
    "at the end of an asynchronous scope": { way: "await-using", wantCode: 0, wantProgress: 90 },
    "at the end of a scope that an error leaves": { way: "using-throw", wantCode: 1, wantError: true, wantProgress: 90 },
  };
  for (const [name, tc] of Object.entries(ways)) {
    test(name, async () => {
      const end = await run(tc.way);
      assert.equal(end.code, tc.wantCode, end.stderr);
      assert.equal(server.last.progressPercentage, "wantProgress" in tc ? tc.wantProgress : 70);
      assert.equal(end.stderr.includes("nobody catches this"), "wantError" in tc);
      assert.equal(end.stdout, tc.way === "await-complete" ? "completed\n" : "");
    });
  }
});

describe("a signal", { timeout }, () => {
  const ways = {
    "ends a program that waits": { way: "idle", signal: "SIGTERM", wantSignal: "SIGTERM" },
    "from the terminal ends it as well": { way: "idle", signal: "SIGINT", wantSignal: "SIGINT" },
    "ends a program whose event loop never turns": { way: "busy", signal: "SIGTERM", wantSignal: "SIGTERM" },
    "ends a program where workers get no signals": { way: "deaf", signal: "SIGTERM", wantSignal: "SIGTERM" },
    "is left to the program's own listener": { way: "handler", signal: "SIGTERM", wantCode: 7 },
    "is left to a listener that comes later": { way: "handler-later", signal: "SIGTERM", wantCode: 7 },
    "is left to a listener where workers get no signals": { way: "deaf-handler", signal: "SIGTERM", wantCode: 7 },
    "ends a program whose listener is gone": { way: "handler-gone", signal: "SIGTERM", wantSignal: "SIGTERM" },
  } as const;
  for (const [name, tc] of Object.entries(ways)) {
    test(`${name}, and the last report arrives`, async () => {
      server.answers.push({ status: 503, headers: { "Retry-After": "60" } }); // so that the report is still to be sent
      const end = await run(tc.way, tc.signal);
      assert.equal(end.signal, "wantSignal" in tc ? tc.wantSignal : null, end.stderr);
      assert.equal(end.code, "wantCode" in tc ? tc.wantCode : null);
      assert.deepEqual([server.received.length, server.last.progressPercentage], [2, 70]);
    });
  }

  test("ends a program at once that does not want its last report sent", async () => {
    server.answers.push({ status: 503, headers: { "Retry-After": "60" } });
    const end = await run("no-signals", "SIGTERM");
    assert.equal(end.signal, "SIGTERM");
    assert.equal(server.received.length, 1);
  });
});

describe("two reporters of a process", { timeout }, () => {
  test("both send their last report at a signal", async () => {
    server.answers.push({ status: 503 }, { status: 503 }); // so that both have something left
    const end = await run("two", "SIGTERM", {}, 2);
    assert.equal(end.signal, "SIGTERM", end.stderr);
    const last = server.received.slice(2).map(({ status }) => status.progressPercentage ?? 0);
    assert.deepEqual(last.sort(), [30, 70]);
  });
});

describe("a server that says nothing", { timeout }, () => {
  const scaled = { LIMIT_SCALE: "0.2" };

  test("holds the end of the program up for a second, a fifth of the limit", async () => {
    server.answers.push(...Array<null>(100).fill(null));
    const end = await run("exit", undefined, scaled);
    assert.equal(end.code, 3);
    assert.match(end.stderr, /not sent/);
    assert.ok(end.took > 900, `it took ${String(end.took)} ms`);
  });

  for (const way of ["idle", "complete-idle", "deaf"]) {
    test(`does not keep a signal from ending the program (${way})`, async () => {
      server.answers.push(...Array<null>(100).fill(null));
      const end = await run(way, "SIGTERM", scaled);
      assert.equal(end.signal, "SIGTERM");
    });
  }
});
