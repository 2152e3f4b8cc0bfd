// SPDX-License-Identifier: Apache-2.0
// Sends one request at a time to the endpoint. It owns files, TLS and connections, and decides nothing about when to send.

import { X509Certificate } from "node:crypto";
import type { LookupOptions } from "node:dns";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent, request as newRequest, type RequestOptions } from "node:https";
import type { LookupFunction } from "node:net";

import { warningTexts, type Answer } from "./answers.js";
import type { Endpoint } from "./environment.js";
import { addressesOf } from "./names.js";
import { retryAfter } from "./pacing.js";
import { now } from "./times.js";
import { version } from "./version.js";

/** The most bytes of an answer that are read. D19. */
const mostAnswer = 64 * 1024;

/** How long one address of a name may take before the next is tried as well, in milliseconds. D17. */
const addressLimit = 1_000;

const certificate = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Sends requests to one endpoint. */
export class Transport {
  #agent: Agent | undefined;
  #roots: Buffer | undefined; // content of the CA file that the agent trusts

  constructor(private readonly endpoint: Endpoint) {}

  /** Sends a report, once more with a new token after 401. The signal ends it. D14. */
  async post(body: Buffer, signal: AbortSignal): Promise<Answer> {
    return await this.#withNewToken("POST", body, signal);
  }

  /** Asks for the stored report. */
  async get(signal: AbortSignal): Promise<Answer> {
    return await this.#withNewToken("GET", undefined, signal);
  }

  /** Drops the kept connection. */
  close(): void {
    this.#agent?.destroy();
    this.#agent = undefined;
  }

  async #withNewToken(method: string, body: Buffer | undefined, signal: AbortSignal): Promise<Answer> {
    const answer = await this.#once(method, body, signal);
    return answer.status === 401 ? await this.#once(method, body, signal) : answer;
  }

  async #once(method: string, body: Buffer | undefined, signal: AbortSignal): Promise<Answer> {
    const agent = this.#trust();
    const token = readToken(this.endpoint.tokenFile);
    const lookup = lookupUntil(signal);
    const options = { ...target(this.endpoint.url), agent, method, signal, lookup, headers: headersOf(token, body) };
    const exchange = new Exchange(options, body);
    try {
      return await exchange.answer;
    } catch (fault) {
      if (!exchange.mayHaveBeenDead || signal.aborted) {
        throw fault;
      }
      return await new Exchange(options, body).answer; // over a new connection. D19.
    }
  }

  /** Reads the CA file and drops connections that were made under other roots. D16. */
  #trust(): Agent {
    const content = readFileSync(this.endpoint.caFile);
    if (this.#agent !== undefined && this.#roots?.equals(content)) {
      return this.#agent;
    }
    // Node takes an empty text for no text and then trusts the roots of the system.
    const ca = certificatesIn(content.toString("latin1"));
    if (ca.length === 0) {
      throw new Error(`${this.endpoint.caFile} holds no certificate`);
    }
    this.close();
    this.#roots = content;
    this.#agent = new Agent({
      ca,
      minVersion: "TLSv1.2",
      rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
      keepAlive: true,
      maxSockets: 1,
      maxFreeSockets: 1,
      maxCachedSessions: 0, // every connection shows its certificate
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: addressLimit,
    });
    return this.#agent;
  }
}

/** One request and its answer. */
class Exchange {
  readonly answer: Promise<Answer>;
  /** Whether a kept connection broke before an answer came. */
  mayHaveBeenDead = false;
  #sentAt = now();

  constructor(options: RequestOptions, body: Buffer | undefined) {
    this.answer = new Promise((resolve, reject) => {
      const request = newRequest(options);
      let response: IncomingMessage | undefined;
      const parts: Buffer[] = [];
      const take = (from: IncomingMessage): void => {
        resolve(answerOf(from, parts, this.#sentAt));
      };
      const end = (fault: Error): void => {
        this.mayHaveBeenDead ||= request.reusedSocket && response === undefined;
        // The status alone says what becomes of a report that was not taken.
        if (response === undefined || response.statusCode === 200) {
          reject(fault);
        } else {
          take(response);
        }
      };
      request.on("socket", (socket) => {
        socket.once("secureConnect", () => {
          this.#sentAt = now(); // a kept connection is ready already
        });
      });
      request.on("response", (incoming) => {
        response = incoming;
        read(incoming, parts, take, end);
      });
      request.on("upgrade", (incoming, socket) => {
        socket.destroy();
        take(incoming);
      });
      request.on("error", end);
      request.on("close", () => {
        end(new Error("the connection was closed"));
      });
      request.end(body);
    });
  }
}

/** Reads as much of an answer as counts. */
function read(
  from: IncomingMessage,
  parts: Buffer[],
  take: (from: IncomingMessage) => void,
  fail: (fault: Error) => void,
): void {
  let size = 0;
  from.on("data", (part: Buffer) => {
    parts.push(part);
    size += part.length;
    if (size >= mostAnswer) {
      take(from);
      from.destroy();
    }
  });
  from.on("end", () => {
    take(from);
  });
  from.on("error", fail);
}

function answerOf(response: IncomingMessage, parts: readonly Buffer[], sentAt: number): Answer {
  const { headersDistinct } = response;
  return {
    sentAt,
    status: response.statusCode ?? 0,
    body: Buffer.concat(parts).subarray(0, mostAnswer).toString(),
    retryAfter: retryAfter(headersDistinct["retry-after"]?.[0], Date.now()),
    // Node reads headers as Latin-1; the server writes UTF-8.
    warnings: warningTexts((headersDistinct.warning ?? []).map((text) => Buffer.from(text, "latin1").toString())),
  };
}

function headersOf(token: string, body: Buffer | undefined): Record<string, string | number> {
  return {
    Authorization: `Bearer ${token}`,
    "User-Agent": `milepost-reporter-typescript/${version}`,
    ...(body !== undefined && { "Content-Type": "application/json", "Content-Length": body.length }),
  };
}

/** Where a URL leads. Proxies have no say in it. D17. */
function target(text: string): { host: string; port: number; path: string } {
  const url = new URL(text);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? 443 : Number(url.port),
    path: url.pathname + url.search,
  };
}

/** Finds the addresses of a name for a connection. */
function lookupUntil(signal: AbortSignal): LookupFunction {
  const lookup = (name: string, options: LookupOptions, callback: (...result: unknown[]) => void): void => {
    addressesOf(name, signal).then(
      (found) => {
        if (options.all) {
          callback(null, found);
        } else {
          callback(null, found[0]?.address, found[0]?.family);
        }
      },
      (fault: unknown) => {
        callback(fault);
      },
    );
  };
  return lookup as LookupFunction; // its type knows of one address alone
}

/** The certificates in a text, without what stands around them and without what is none. */
function certificatesIn(text: string): string[] {
  return (text.match(certificate) ?? []).filter((block) => {
    try {
      return new X509Certificate(block) instanceof X509Certificate;
    } catch {
      return false;
    }
  });
}

/** Reads the token anew, because it is replaced before it expires. D15. */
function readToken(path: string): string {
  const token = tokenIn(readFileSync(path));
  if (token === undefined) {
    throw new Error(`${path} holds no token`);
  }
  return token;
}

/** Removes blanks around a token and refuses what cannot stand in a header. */
export function tokenIn(content: Buffer): string | undefined {
  return /^\s*([\x21-\x7e]+)\s*$/.exec(content.toString())?.[1];
}
