// SPDX-License-Identifier: Apache-2.0
// Lookups, against a small name server.

import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import type { LookupAddress } from "node:dns";
import { after, before, describe, test } from "node:test";

import { addressesOf, candidates, inHosts, type Sources } from "../src/names.js";

const [a, aaaa, notFound] = [1, 28, 3];
const four = { address: "10.0.0.1", family: 4 };
const six = { address: "fd00::1", family: 6 };

/** What the name server knows: answers by name, none for a name that exists without any, silence for null. */
const zone: Readonly<Record<string, { four?: boolean | null; six?: boolean | null }>> = {
  "both.example": { four: true, six: true },
  "four.example": { four: true },
  "six.example": { six: true },
  "half.example": { four: true, six: null },
  "silent.example": { four: null, six: null },
  "service.ns.svc.cluster.local": { four: true },
};

describe("a lookup", { timeout: 60_000 }, () => {
  let server: Socket;
  let asked: string[] = [];

  before(async () => {
    server = createSocket("udp4").on("message", (query, from) => {
      const answer = answerTo(query, (name) => asked.push(name));
      if (answer !== undefined) {
        server.send(answer, from.port, from.address);
      }
    });
    await new Promise<void>((resolve) => server.bind(0, "127.0.0.1", resolve));
  });

  after(() => {
    server.close();
  });

  function sources(files: Record<string, string> = {}): Sources {
    const { port } = server.address();
    return {
      read: (path) => files[path],
      servers: [`127.0.0.1:${String(port)}`],
      askSystem: (name): Promise<LookupAddress[]> => Promise.resolve([{ address: name, family: 0 }]),
    };
  }

  async function find(name: string, files?: Record<string, string>): Promise<LookupAddress[]> {
    asked = [];
    const found = await addressesOf(name, AbortSignal.timeout(30_000), sources(files));
    return found.sort((one, other) => one.family - other.family);
  }

  test("finds addresses of both kinds", async () => {
    assert.deepEqual(await find("both.example"), [four, six]);
    assert.deepEqual(await find("four.example"), [four]);
    assert.deepEqual(await find("six.example"), [six]);
  });

  test("does not wait for the other kind when the name server is silent about it", async () => {
    assert.deepEqual(await find("half.example"), [four]);
  });

  test("takes the file of hosts first", async () => {
    assert.deepEqual(await find("both.example", { "/etc/hosts": "127.0.0.1 localhost\n::2 x Both.Example # here\n" }), [
      { address: "::2", family: 6 },
    ]);
    assert.deepEqual(asked, []);
  });

  test("follows the search list as in a pod", async () => {
    const files = { "/etc/resolv.conf": "search ns.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n" };
    assert.deepEqual(await find("service.ns.svc", files), [four]);
    assert.deepEqual(
      [...new Set(asked)],
      ["service.ns.svc.ns.svc.cluster.local", "service.ns.svc.svc.cluster.local", "service.ns.svc.cluster.local"],
    );
  });

  test("asks the system when the name servers know nothing", async () => {
    assert.deepEqual(await find("unknown.example"), [{ address: "unknown.example", family: 0 }]);
  });

  test("can be cut short, and does not ask the system then", async () => {
    await assert.rejects(addressesOf("silent.example", AbortSignal.timeout(100), sources()), { code: "ECANCELLED" });
  });
});

test("a file of hosts may hold comments, several names, and nonsense", () => {
  const hosts = "# 1.1.1.1 a\n10.0.0.1\tb a\n\nnonsense a\n fd00::1 A\n10.0.0.2 ab";
  assert.deepEqual(inHosts("a", hosts), [four, six]);
});

test("names are completed as the system does it", () => {
  const resolv = "nameserver 10.0.0.10\nsearch one two.\noptions edns0 ndots:2\n";
  const cases: [string, string, string[]][] = [
    ["a", "", ["a"]],
    ["a", resolv, ["a.one", "a.two", "a"]],
    ["a.b", resolv, ["a.b.one", "a.b.two", "a.b"]],
    ["a.b.c", resolv, ["a.b.c", "a.b.c.one", "a.b.c.two"]],
    ["a.", resolv, ["a"]],
    ["a", "domain one", ["a.one", "a"]],
    ["a", "search .", ["a"]],
    ["a.b", "search one", ["a.b", "a.b.one"]],
  ];
  for (const [name, text, want] of cases) {
    assert.deepEqual(candidates(name, text), want, `${name} with ${text}`);
  }
});

/** The answer of the zone to a query with one question; undefined for silence. */
function answerTo(query: Buffer, note: (name: string) => void): Buffer | undefined {
  const labels: string[] = [];
  let at = 12;
  for (let size = query.readUInt8(at); size > 0; size = query.readUInt8(at)) {
    labels.push(query.toString("latin1", at + 1, at + 1 + size));
    at += size + 1;
  }
  const name = labels.join(".").toLowerCase();
  note(name);
  const question = query.subarray(12, at + 5);
  const kind = query.readUInt16BE(at + 1);
  const record = zone[name];
  const has = kind === a ? record?.four : kind === aaaa ? record?.six : false;
  if (has === null) {
    return undefined;
  }
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(0x8180 | (record === undefined ? notFound : 0), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(has ? 1 : 0, 6);
  if (!has) {
    return Buffer.concat([head, question]);
  }
  const address = kind === a ? Buffer.from([10, 0, 0, 1]) : Buffer.from([0xfd, ...Array<number>(14).fill(0), 1]);
  const answer = Buffer.alloc(12);
  answer.writeUInt16BE(0xc00c, 0); // the name of the question
  answer.writeUInt16BE(kind, 2);
  answer.writeUInt16BE(1, 4);
  answer.writeUInt32BE(60, 6);
  answer.writeUInt16BE(address.length, 10);
  return Buffer.concat([head, question, answer, address]);
}
