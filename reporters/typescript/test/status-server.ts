// SPDX-License-Identifier: Apache-2.0
// A status server over real TLS that records requests and answers as a test says.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { newAuthority } from "./authority.js";

/** One request. */
export interface Received {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly status: TrainerStatus;
}

/** The report in a request, as far as tests look at it. */
export interface TrainerStatus {
  readonly progressPercentage?: number;
  readonly estimatedRemainingSeconds?: number;
  readonly metrics?: readonly { readonly name: string; readonly value: string }[];
  readonly lastUpdatedTime?: string;
}

/** An answer; null is never given, so that the client waits. */
export type Scripted = { status: number; headers?: Record<string, string | string[]>; body?: string } | null;

/** A server, the files of a pod beside it, and what it received. */
export class StatusServer {
  readonly received: Received[] = [];
  /** Answers to come; 200 when there are none. */
  readonly answers: Scripted[] = [];
  /** How many connections were made. */
  connections = 0;
  readonly #folder = mkdtempSync(join(tmpdir(), "milepost-"));
  readonly #server: Server;
  #waiting: (() => void)[] = [];

  private constructor() {
    const { key, cert } = newAuthority();
    writeFileSync(this.caFile, cert);
    writeFileSync(this.tokenFile, "token\n");
    this.#server = createServer({ key, cert }, (request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        const body = Buffer.concat(parts).toString();
        const answer = this.answers.length > 0 ? this.answers.shift() : { status: 200 };
        const status = body === "" ? {} : (JSON.parse(body) as { trainerStatus: TrainerStatus }).trainerStatus;
        this.received.push({ method: request.method ?? "", headers: request.headers, body, status });
        this.#tell();
        if (answer) {
          response.writeHead(answer.status, answer.headers).end(answer.body ?? "{}");
        }
      });
    });
    this.#server.on("connection", () => {
      this.connections++;
    });
  }

  /** Starts one on a free port. */
  static async start(): Promise<StatusServer> {
    const server = new StatusServer();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get caFile(): string {
    return join(this.#folder, "ca.crt");
  }

  get tokenFile(): string {
    return join(this.#folder, "token");
  }

  /** The variables of a pod. */
  get environment(): Record<string, string> {
    const { port } = this.#server.address() as AddressInfo;
    return {
      KUBEFLOW_TRAINER_SERVER_URL: `https://127.0.0.1:${String(port)}/status`,
      KUBEFLOW_TRAINER_SERVER_CA_CERT: this.caFile,
      KUBEFLOW_TRAINER_SERVER_TOKEN: this.tokenFile,
    };
  }

  /** Waits until a number of requests came. A test that waits in vain ends by its own time limit. */
  async until(count: number): Promise<void> {
    while (this.received.length < count) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** The last report that came. */
  get last(): TrainerStatus {
    return this.received.at(-1)?.status ?? {};
  }

  /** Stops it and removes its files. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true });
  }

  #tell(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    waiting.forEach((tell) => {
      tell();
    });
  }
}
