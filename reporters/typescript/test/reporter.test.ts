// SPDX-License-Identifier: Apache-2.0
// The reporter against a server in this process.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, test } from "node:test";

import type { LogLevel } from "../src/log.js";
import type { Hooks, Options } from "../src/options.js";
import { startWith, type Reporter } from "../src/reporter.js";
import { StatusServer } from "./status-server.js";

const timeout = 60_000;

let server: StatusServer;
let reporter: Reporter;
let lines: [LogLevel, string][];

beforeEach(async () => {
  server = await StatusServer.start();
  lines = [];
});

afterEach(async () => {
  await reporter.close();
  await server.stop();
});

function begin(options: Options = {}, hooks: Hooks = { timeScale: 0.01 }): void {
  const log = (level: LogLevel, message: string): number => lines.push([level, message]);
  reporter = startWith({ environment: server.environment, log, ...options }, hooks);
}

function said(words: string): number {
  return lines.filter(([, message]) => message.includes(words)).length;
}

describe("a reporter", { timeout }, () => {
  test("sends what the API document says", async () => {
    begin();
    reporter.report({ step: 45n, totalSteps: 100, eta: 120, metrics: { loss: 0.15, eval: { accuracy: 0.92 } } });
    await server.until(1);
    const [request] = server.received;
    assert.equal(request?.method, "POST");
    assert.equal(request.headers.authorization, "Bearer token");
    assert.equal(request.headers["content-type"], "application/json");
    assert.equal(request.headers["content-length"], String(Buffer.byteLength(request.body)));
    assert.match(String(request.headers["user-agent"]), /^milepost-reporter-typescript\/\d/);
    assert.match(
      request.body,
      /^\{"trainerStatus":\{"progressPercentage":45,"estimatedRemainingSeconds":120,"metrics":\[\{"name":"loss","value":"0\.15"\},\{"name":"eval\/accuracy","value":"0\.92"\}\],"lastUpdatedTime":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"\}\}$/,
    );
  });

  test("sends the newest report alone, and completes with the last metrics", async () => {
    begin({ intervalSeconds: 3600 }, {});
    reporter.report({ step: 1, totalSteps: 100 });
    await server.until(1);
    for (let step = 2; step <= 50; step++) {
      reporter.report({ step, totalSteps: 100, metrics: { step } });
    }
    await reporter.complete();
    assert.equal(server.received.length, 2);
    assert.deepEqual([server.last.progressPercentage, server.last.estimatedRemainingSeconds], [100, 0]);
    assert.deepEqual(server.last.metrics, [{ name: "step", value: "50" }]);
    assert.equal(server.connections, 1);
  });

  test("ignores reports after its end, with one line", async () => {
    begin();
    await reporter.complete({ loss: 1 });
    reporter.report({ step: 1 });
    reporter.report({ step: 2 });
    await reporter.complete();
    await reporter.fail("too late");
    await reporter.close();
    assert.equal(server.received.length, 1);
    assert.deepEqual([said("ignored"), lines.length], [1, 1]);
  });

  test("fails with the last report as it was, and its message in the log", async () => {
    begin();
    reporter.report({ step: 9, totalSteps: 10 });
    await reporter.fail(new Error("out of memory"));
    assert.equal(server.last.progressPercentage, 90);
    assert.equal(said("out of memory"), 1);
  });

  test("survives arguments of any kind", async () => {
    begin({ intervalSeconds: 0 });
    const odd = [undefined, null, 7, "text", [], new Proxy({}, { get: () => assert.fail("no") }), Symbol("x")] as never[];
    for (const argument of odd) {
      reporter.report(argument);
      reporter.report({
        step: argument,
        totalSteps: argument,
        progress: argument,
        eta: argument,
        metrics: argument,
        keep: argument,
      });
    }
    reporter.report({ step: 1, totalSteps: 2 });
    await reporter.complete(odd[5], odd[6]);
    assert.equal(server.last.progressPercentage, 100);
  });

  test("reads its files anew for every attempt", async () => {
    const certificate = readFileSync(server.caFile);
    writeFileSync(server.caFile, "nothing");
    begin({ intervalSeconds: 0 });
    reporter.report({ step: 1, totalSteps: 10 });
    while (said("ca.crt holds no certificate") === 0) {
      await new Promise(setImmediate);
    }
    assert.equal(server.connections, 0);
    writeFileSync(server.caFile, certificate);
    await server.until(1);
    writeFileSync(server.tokenFile, " renewed\n");
    reporter.report({ step: 2, totalSteps: 10 });
    await server.until(2);
    assert.equal(server.received[1]?.headers.authorization, "Bearer renewed");
    assert.deepEqual([server.connections, said("again")], [1, 1]);
  });

  test("reads the stored report, before and after its own", async () => {
    begin();
    const body =
      '{"trainerStatus":{"progressPercentage":45,"metrics":[{"name":"loss","value":"0.15"}],"lastUpdatedTime":"2026-06-12T03:00:00Z"}}';
    server.answers.push({ status: 401 }, { status: 200, body });
    assert.deepEqual(await reporter.stored(), {
      progress: 45,
      metrics: [{ name: "loss", value: "0.15" }],
      updated: new Date("2026-06-12T03:00:00Z"),
    });
    await reporter.complete();
    server.answers.push({ status: 404 });
    assert.equal(await reporter.stored(), undefined);
    assert.deepEqual(
      server.received.map(({ method }) => method),
      ["GET", "GET", "POST", "GET"],
    );
  });

  test("does nothing outside a TrainJob, and says so once", async () => {
    begin({ environment: {} });
    assert.equal(reporter.active, false);
    reporter.report({ step: 1, totalSteps: 2, metrics: { bad: "" } });
    assert.deepEqual([...reporter.track([1, 2]), ...reporter.track("ab")], [1, 2, "a", "b"]);
    await reporter.complete();
    assert.equal(await reporter.stored(), undefined);
    assert.deepEqual([lines.length, said("KUBEFLOW_TRAINER_SERVER_URL")], [1, 1]);
  });

  test("does nothing on another rank, and says which", () => {
    begin({ environment: { ...server.environment, RANK: "3" } });
    assert.deepEqual([reporter.active, said("rank 3")], [false, 1]);
  });
});

describe("a tracked loop", { timeout }, () => {
  test("completes at its normal end", async () => {
    begin({ intervalSeconds: 0 });
    const seen: number[] = [];
    for (const item of reporter.track([1, 2, 3, 4], { metrics: () => ({ seen: seen.length }) })) {
      seen.push(item);
      await server.until(item);
    }
    await reporter.close();
    assert.deepEqual(seen, [1, 2, 3, 4]);
    assert.deepEqual(
      server.received.map(({ status }) => status.progressPercentage),
      [0, 25, 50, 75, 100],
    );
    assert.deepEqual(server.last.metrics, [{ name: "seen", value: "4" }]);
  });

  test("over items that come one by one completes as well", async () => {
    begin({ intervalSeconds: 0 });
    async function* items(): AsyncGenerator<number> {
      yield 1;
      await server.until(1);
      yield 2;
    }
    let count = 0;
    for await (const item of reporter.track(items(), { total: 2 })) {
      count += item;
    }
    assert.equal(count, 3);
    assert.equal(server.last.progressPercentage, 100);
  });

  test("that is left early completes nothing, and its items know", async () => {
    begin({ intervalSeconds: 0 });
    let closed = false;
    function* items(): Generator<number> {
      try {
        yield 1;
        yield 2;
        yield 3;
      } finally {
        closed = true;
      }
    }
    const broken = (): never => {
      throw new Error("no metrics");
    };
    assert.throws(() => {
      for (const item of reporter.track(items(), { total: 4, metrics: broken })) {
        if (item === 3) {
          throw new Error("the body failed");
        }
      }
    }, /the body failed/);
    await reporter.close();
    assert.equal(closed, true);
    assert.equal(server.last.progressPercentage, 50);
  });
});
