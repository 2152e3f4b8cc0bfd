// SPDX-License-Identifier: Apache-2.0
// The package as a user gets it, in the project that MILEPOST_PROJECT names. scripts/package.mjs runs this file.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";

import { StatusServer } from "./status-server.js";

const project = process.env.MILEPOST_PROJECT ?? assert.fail("MILEPOST_PROJECT names no project");
const execute = promisify(execFile);
const body = `
const reporter = start();
reporter.report({ step: 1, totalSteps: 2, metrics: { loss: 0.5 } });
reporter.complete();
`;
const typed = `
import { start, version, type Report, type Reporter } from "@milepost/reporter";
interface Logs { loss: number }
const logs: Logs = { loss: 0.5 };
export async function train(): Promise<number | undefined> {
  await using reporter: Reporter = start({ rank: 0, log: (level, message) => { console.error(level, message); } });
  const report: Report = { step: 1n, totalSteps: 2, metrics: logs, keep: ["loss"] };
  reporter.report(report);
  for (const item of reporter.track([1, 2, 3])) item.toFixed();
  for await (const item of reporter.track((async function* () { yield "x"; })(), { total: 1 })) item.trim();
  await reporter.complete(new Map([["version", version]]));
  return (await reporter.stored())?.progress;
}
`;

describe("the installed package", { timeout: 120_000 }, () => {
  let server: StatusServer;

  before(async () => {
    server = await StatusServer.start();
  });

  after(async () => {
    await server.stop();
  });

  const programs = {
    "program.mjs": `import { start } from "@milepost/reporter";${body}`,
    "program.cjs": `const { start } = require("@milepost/reporter");${body}`,
    "both.mjs": `import { start as one } from "@milepost/reporter"; import { createRequire } from "node:module";
      const { start } = createRequire(import.meta.url)("@milepost/reporter"); if (one === start) throw new Error("one copy");
      one().report({ metrics: { bad: "" } });${body}`,
  };
  for (const [name, text] of Object.entries(programs)) {
    test(`reports from ${name}`, async () => {
      writeFileSync(join(project, name), text);
      const { stdout, stderr } = await execute(process.execPath, [name], {
        cwd: project,
        env: { PATH: process.env.PATH, ...server.environment },
      });
      const done = server.received.find(({ status }) => status.progressPercentage === 100);
      assert.deepEqual(done?.status.metrics, [{ name: "loss", value: "0.5" }]);
      server.received.length = 0;
      assert.deepEqual([stdout, /fault|error/i.test(stderr)], ["", false]);
    });
  }

  test("has a README whose programs run", async () => {
    const readme = readFileSync("README.md", "utf8");
    const blocks = [...readme.matchAll(/^```(js|ts)\n(.*?)^```$/gms)];
    assert.ok(blocks.length > 3);
    for (const [index, [, kind, text = ""]] of blocks.entries()) {
      const path = join(project, `readme${String(index)}.${kind === "js" ? "mjs" : "mts"}`);
      writeFileSync(path, text);
      if (kind === "js") {
        await execute(process.execPath, [path], { cwd: project, env: { PATH: process.env.PATH, ...server.environment } });
      }
    }
  });

  test("has types for both kinds of modules, without those of Node", async () => {
    for (const name of ["typed.mts", "typed.cts"]) {
      writeFileSync(join(project, name), typed);
    }
    const options = { strict: true, noEmit: true, target: "es2022", module: "nodenext", lib: ["es2022", "dom"], types: [] };
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({ compilerOptions: options, files: ["typed.mts", "typed.cts"] }),
    );
    const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
    await execute(process.execPath, [tsc, "-p", "."], { cwd: project });
  });
});
