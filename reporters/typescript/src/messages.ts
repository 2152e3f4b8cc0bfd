// SPDX-License-Identifier: Apache-2.0
// What the thread of the program and the worker say to each other.

import type { MessagePort } from "node:worker_threads";

import type { Endpoint } from "./environment.js";
import type { LogLevel } from "./log.js";
import type { SenderSettings } from "./sender.js";
import type { TrainerStatus } from "./wire/index.js";

/** What a worker that sends reports is started with. */
export interface SendTask {
  readonly task: "send";
  readonly endpoint: Endpoint;
  readonly settings: SenderSettings;
  /** Memory of the slot. */
  readonly slot: SharedArrayBuffer;
  readonly port: MessagePort;
  /** Whether log lines go to standard error and not to the program. */
  readonly isLogDirect: boolean;
  /** Memory for signals, if they are wanted. */
  readonly signals: SharedArrayBuffer | undefined;
  /** Whether the worker is to behave as one that Node gives no signals. */
  readonly isDeaf: boolean;
}

/** What a worker that reads the stored report is started with. It answers on the port of its thread. */
export interface ReadTask {
  readonly task: "read";
  readonly endpoint: Endpoint;
  /** In milliseconds. */
  readonly limit: number;
}

/** What a worker that reads says, once. */
export interface ReadAnswer {
  readonly status: TrainerStatus | undefined;
}

/** From the program to the worker. */
export type Order =
  /** There is a new report. */
  | { readonly op: "wake" }
  /** Send what is unsent until a time; end then, if that is asked for. */
  | { readonly op: "flush"; readonly number: number; readonly until: number; readonly end: boolean };

/** From the worker to the program. */
export type News =
  | { readonly op: "log"; readonly level: LogLevel; readonly message: string }
  /** A warning was logged. */
  | { readonly op: "warned"; readonly text: string }
  /** The worker cannot take signals. */
  | { readonly op: "deaf" }
  | { readonly op: "flushed"; readonly number: number };
