// SPDX-License-Identifier: Apache-2.0
// Compiles the package for both kinds of modules into dist (`node scripts/build.mjs dist`), or everything with its tests into
// build (`node scripts/build.mjs test`), and puts the program of the worker into what it compiled.

import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

function compile(project) {
  execFileSync(process.execPath, [tsc, "-p", project], { cwd: root, stdio: "inherit" });
}

/** A module and all that it imports, as one text that runs by itself. */
function bundle(folder, entry) {
  const modules = new Map();
  const add = (name) => {
    if (modules.has(name)) {
      return;
    }
    modules.set(name, "");
    const needed = [];
    const text = readFileSync(join(folder, name), "utf8").replace(/require\("(\.[^"]+)"\)/g, (_, relative) => {
      const needs = posix.join(posix.dirname(name), relative);
      needed.push(needs);
      return `require(${JSON.stringify(needs)})`;
    });
    needed.forEach(add);
    modules.set(name, text);
  };
  add(entry);
  const parts = [...modules].map(([name, text]) => `${JSON.stringify(name)}(exports, require) {\n${text}\n}`);
  return `"use strict";
const modules = {${parts.join(",\n")}};
const loaded = {};
function load(name) {
  if (!Object.hasOwn(modules, name)) return require(name);
  if (!Object.hasOwn(loaded, name)) modules[name]((loaded[name] = {}), load);
  return loaded[name];
}
load(${JSON.stringify(entry)});
`;
}

/** Puts the worker in place of the empty text in worker-source.js. */
function embed(worker, folder) {
  const path = join(folder, "worker-source.js");
  const text = readFileSync(path, "utf8");
  const filled = text.replace('workerSource = ""', () => `workerSource = ${JSON.stringify(worker)}`);
  if (filled === text) {
    throw new Error(`${path} has no place for the worker`);
  }
  writeFileSync(path, filled);
}

const target = process.argv[2];
const outputs = { dist: ["dist/cjs", "dist/esm"], test: ["build/src"] }[target];
if (outputs === undefined) {
  throw new Error("say what to build: dist or test");
}
rmSync(join(root, "dist/cjs"), { recursive: true, force: true });
compile("tsconfig.cjs.json");
if (target === "dist") {
  rmSync(join(root, "dist/esm"), { recursive: true, force: true });
  compile("tsconfig.esm.json");
  writeFileSync(join(root, "dist/cjs/package.json"), '{"type":"commonjs"}\n');
} else {
  rmSync(join(root, "build"), { recursive: true, force: true });
  compile("tsconfig.test.json");
}
const worker = bundle(join(root, "dist/cjs"), "worker.js");
for (const output of outputs) {
  embed(worker, join(root, output));
}
