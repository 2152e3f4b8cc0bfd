// SPDX-License-Identifier: Apache-2.0
// Compiles the package for both kinds of modules into dist (`node scripts/build.mjs dist`), or everything with its tests into
// build (`node scripts/build.mjs test`), and puts the program of the worker into what it compiled.

import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

const stampFile = ".built";
const sources = ["src", "test", "executor", "scripts", "package-lock.json", "tsconfig.json"];

function compile(project, folder) {
  execFileSync(process.execPath, [tsc, "-p", project, "--outDir", folder], { cwd: root, stdio: "inherit" });
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

/** Whether everything was compiled since it last changed. */
function isFresh(folder) {
  const stamp = join(root, folder, stampFile);
  return existsSync(stamp) && sources.every((source) => newest(join(root, source)) < statSync(stamp).mtimeMs);
}

function newest(path) {
  const found = statSync(path);
  const inside = found.isDirectory() ? readdirSync(path).map((name) => newest(join(path, name))) : [];
  return Math.max(found.mtimeMs, ...inside);
}

/** Fills a folder beside the old one and then takes its place: programs may be running from there. */
function replace(folder, fill) {
  const fresh = join(root, `build-${process.pid}`);
  try {
    fill(fresh);
    writeFileSync(join(fresh, stampFile), "");
    rmSync(join(root, folder), { recursive: true, force: true });
    renameSync(fresh, join(root, folder));
  } finally {
    rmSync(fresh, { recursive: true, force: true }); // what a failed build leaves
  }
}

const builds = {
  dist(folder) {
    compile("tsconfig.cjs.json", join(folder, "cjs"));
    compile("tsconfig.esm.json", join(folder, "esm"));
    writeFileSync(join(folder, "cjs/package.json"), '{"type":"commonjs"}\n');
    const worker = bundle(join(folder, "cjs"), "worker.js");
    embed(worker, join(folder, "cjs"));
    embed(worker, join(folder, "esm"));
    copyFileSync(join(root, "../../LICENSE"), join(root, "LICENSE"));
  },
  test(folder) {
    compile("tsconfig.cjs.json", join(folder, "cjs")); // for the worker
    compile("tsconfig.test.json", folder);
    embed(bundle(join(folder, "cjs"), "worker.js"), join(folder, "src"));
  },
};

const [target] = process.argv.slice(2);
const folder = { dist: "dist", test: "build" }[target];
if (folder === undefined) {
  throw new Error("say what to build: dist or test");
}
if (!isFresh(folder)) {
  replace(folder, builds[target]);
}
