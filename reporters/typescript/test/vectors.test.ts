// SPDX-License-Identifier: Apache-2.0
// The tables of openapi/vectors.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { decode } from "../executor/values.js";
import { outcomeOf, serverMessage, storedStatus, warningTexts, type Answer } from "../src/answers.js";
import { otherRank, readEnvironment, type Environment } from "../src/environment.js";
import { flatten, select } from "../src/metrics.js";
import { numbers, Rate, type Position } from "../src/numbers.js";
import { backoffLimit, retryAfter } from "../src/pacing.js";
import { formatStamp, stampAfter } from "../src/stamp.js";
import { tokenIn } from "../src/transport.js";
import { writeTrainJobStatusUpdate, type TrainerStatus } from "../src/wire/index.js";

interface Table {
  readonly id: string;
  readonly table: string;
  readonly now?: string;
  readonly rows: readonly { readonly name: string }[];
}

const path = join(fileURLToPath(import.meta.url), "../../../../../openapi/vectors/tables.json");
const { tables } = JSON.parse(readFileSync(path, "utf8")) as { tables: readonly Table[] };

/** Runs a test for each row of the tables of a kind. What a row holds is what its check says. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
function rows<Row>(kind: string, check: (row: Row, table: Table) => void): void {
  const found = tables.filter(({ table }) => table === kind);
  assert.notEqual(found.length, 0, `there is no table ${kind}`);
  for (const table of found) {
    describe(table.id, () => {
      for (const row of table.rows) {
        test(row.name, () => {
          check(row as Row, table);
        });
      }
    });
  }
}

/** Undefined as JSON says it. */
function orNull<T>(value: T | undefined): T | null {
  return value ?? null;
}

function answer(status: number, body: string): Answer {
  return { status, body, sentAt: 0, retryAfter: undefined, warnings: [] };
}

rows("active", ({ environment, want }: { environment: object; want: { active: boolean; line?: string[] } }) => {
  const whole = {
    KUBEFLOW_TRAINER_SERVER_URL: "https://h:1/p",
    KUBEFLOW_TRAINER_SERVER_CA_CERT: "/ca",
    KUBEFLOW_TRAINER_SERVER_TOKEN: "/token",
    ...environment,
  };
  const got = readEnvironment(
    Object.fromEntries(
      Object.entries(whole as Record<string, string | null>).filter(([, value]) => value !== null),
    ) as Environment,
  );
  assert.equal(typeof got === "object", want.active);
  for (const word of want.line ?? []) {
    assert.ok(typeof got === "string" && got.includes(word), `the line does not hold ${word}`);
  }
});

rows("rank", ({ environment, option, want }: { environment: Environment; option?: number; want: boolean }) => {
  assert.equal(otherRank(environment, option) === undefined, want);
});

rows("progress", (row: Position & { want: { progress: number | null; eta: number | null } }) => {
  const got = numbers(decode(row) as Position, new Rate(), () => 0);
  assert.deepEqual({ progress: orNull(got.progressPercentage), eta: orNull(got.estimatedRemainingSeconds) }, row.want);
});

rows("eta", ({ reports }: { reports: readonly (Position & { at: number; want: number | null })[] }) => {
  const rate = new Rate();
  for (const report of reports) {
    const got = numbers(decode(report) as Position, rate, () => report.at);
    assert.equal(orNull(got.estimatedRemainingSeconds), report.want, `at ${String(report.at)}`);
  }
});

rows("values", ({ value, want }: { value: unknown; want: string | null }) => {
  const { items, unfit } = flatten({ m: decode(value) });
  assert.equal(orNull(items[0]?.value), want);
  assert.equal(unfit.length, want === null ? 1 : 0);
});

rows("metrics", ({ metrics, keep, want }: { metrics: unknown; keep?: unknown; want: [string, string][] }) => {
  const got = select(flatten(decode(metrics)).items, keep);
  assert.deepEqual(
    got.map(({ name, value }) => [name, value]),
    want,
  );
});

rows("backoff", ({ failures, want }: { failures: number; want: { min: number; max: number } }) => {
  assert.equal(backoffLimit(failures), want.max * 1_000);
  assert.equal(backoffLimit(failures) / 2, want.min * 1_000);
});

rows("retry-after", ({ header, want }: { header: string; want: number | null }, { now }) => {
  const got = retryAfter(header, Date.parse(now ?? ""));
  assert.equal(got === undefined ? null : got / 1_000, want);
});

rows("statuses", ({ status, want }: { status: number; want: string }) => {
  const outcomes = { success: "taken", retry: "failed", refuse: "refused", reauthenticate: "failed" };
  assert.equal(outcomeOf(status), outcomes[want as keyof typeof outcomes]);
});

rows("messages", ({ body, want }: { body: string; want: string }) => {
  assert.equal(serverMessage(body), want);
});

rows("warnings", ({ headers, want }: { headers: string[]; want: string[] }) => {
  assert.deepEqual(warningTexts(headers), want);
});

rows("tokens", ({ file, want }: { file: string; want: string | null }) => {
  assert.equal(orNull(tokenIn(Buffer.from(file))), want);
});

rows("bodies", ({ report, want }: { report: { metrics?: [string, string][] }; want: string }) => {
  const metrics = report.metrics?.map(([name, value]) => ({ name, value }));
  const trainerStatus = { ...report, metrics } as TrainerStatus;
  assert.equal(JSON.stringify(writeTrainJobStatusUpdate({ trainerStatus })), want);
});

rows("times", ({ micros, before, want }: { micros: number; before: string | null; want: string }) => {
  const last = before === null ? 0 : Date.parse(before.slice(0, 23) + "Z") * 1_000 + Number(before.slice(23, 26));
  assert.equal(formatStamp(stampAfter(last, micros)), want);
});

rows("stored", ({ status, body, want }: { status: number; body: string; want: object | null }) => {
  assert.deepEqual(orNull(storedStatus(answer(status, body))), want);
});
