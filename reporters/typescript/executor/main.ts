// SPDX-License-Identifier: Apache-2.0
// Drives the reporter for the conformance runner, in the JSON lines described in reporters/conformance/PROTOCOL.md.

import { once } from "node:events";
import { createInterface } from "node:readline";

import { Executor } from "./operations.js";
import { decode, type Request } from "./values.js";

const executor = new Executor();

for await (const line of createInterface({ input: process.stdin })) {
  const request = decode(JSON.parse(line)) as Request;
  if (request.op === "exit") {
    if (request.how === "exit") {
      process.exit(request.code ?? 0);
    }
    if (request.how === "throw") {
      throw new Error("an error that nobody catches");
    }
    break; // the program is done
  }
  const answer = `${JSON.stringify({ id: request.id, ...(await executor.answer(request)) })}\n`;
  if (!process.stdout.write(answer)) {
    await once(process.stdout, "drain");
  }
}
process.stdin.destroy(); // as a program that reads nothing
