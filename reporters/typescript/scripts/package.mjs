// SPDX-License-Identifier: Apache-2.0
// Packs the package into bin/reporters, installs it into an empty project, and reports from there once with each kind of
// modules.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const output = join(root, "../../bin/reporters");
const project = mkdtempSync(join(tmpdir(), "milepost-package-"));

function run(command, args, cwd, environment = {}) {
  return execFileSync(command, args, {
    cwd,
    env: { ...process.env, ...environment },
    stdio: ["ignore", args[0] === "pack" ? "pipe" : "inherit", "inherit"],
    encoding: "utf8",
    shell: process.platform === "win32",
  });
}

try {
  mkdirSync(output, { recursive: true });
  const [packed] = JSON.parse(run("npm", ["pack", "--json", "--loglevel", "error", "--pack-destination", output], root));
  const tarball = join(output, packed.filename);
  writeFileSync(join(project, "package.json"), "{}");
  run("npm", ["install", "--offline", "--no-audit", "--no-fund", "--loglevel", "error", tarball], project);
  run(process.execPath, [join(root, "scripts/build.mjs"), "test"], root);
  run(process.execPath, ["--test", join(root, "build/test/installed.js")], root, { MILEPOST_PROJECT: project });
  console.log(`${tarball}: ${packed.entryCount} files, ${packed.size} bytes; installed and reported`);
} finally {
  rmSync(project, { recursive: true, force: true });
}
