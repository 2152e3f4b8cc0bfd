// SPDX-License-Identifier: Apache-2.0
// The program of the worker. Sending goes on in it while the training computes, because it has a thread and an event loop of
// its own. The build puts it, with what it imports, into one text; see worker-source.ts.

import { isMainThread, parentPort, workerData, type MessagePort } from "node:worker_threads";

import { storedStatus } from "./answers.js";
import { cut, describe, longestMessage, standardError, type Log } from "./log.js";
import type { News, Order, ReadAnswer, ReadTask, SendTask } from "./messages.js";
import { Sender } from "./sender.js";
import { SignalTaker } from "./signal-taker.js";
import { SlotReader } from "./slot.js";
import * as times from "./times.js";
import { Transport } from "./transport.js";

/** Sends reports until it is told to end. */
function send(task: SendTask): void {
  const tell = (news: News): void => {
    task.port.postMessage(news);
  };
  const log: Log = task.isLogDirect
    ? standardError
    : (level, message) => {
        tell({ op: "log", level, message });
      };
  const slot = new SlotReader(task.slot);
  const sender = new Sender(task.settings, slot, new Transport(task.endpoint), log, (text) => {
    tell({ op: "warned", text });
  });
  const signals = new SignalTaker(task.signals, (over) => {
    sender.flush(times.now() + times.flushLimit * task.settings.limitScale, over);
  });
  task.port.on("message", (order: Order) => {
    if (order.op === "wake") {
      sender.wake();
      return;
    }
    sender.flush(order.until, () => {
      if (order.end) {
        sender.close();
        signals.end(); // before the program goes on: a signal that comes then is no business of the worker
      }
      slot.flushed(order.number);
      tell({ op: "flushed", number: order.number });
      if (order.end) {
        task.port.close();
      }
    });
  });
  // Whatever goes wrong here is a failed attempt at most, and never the end of reporting.
  process.on("uncaughtException", (fault) => {
    log("error", `a fault in the reporter: ${cut(describe(fault), longestMessage)}`);
    sender.wake();
  });
  if (task.isDeaf || !signals.start()) {
    tell({ op: "deaf" });
  }
  sender.wake();
}

/** Reads the stored report and ends. D27. */
async function read(task: ReadTask, answerTo: MessagePort): Promise<void> {
  const transport = new Transport(task.endpoint);
  let status: ReadAnswer["status"];
  try {
    status = storedStatus(await transport.get(AbortSignal.timeout(task.limit)));
  } catch {
    status = undefined;
  }
  transport.close();
  answerTo.postMessage({ status } satisfies ReadAnswer);
}

if (!isMainThread && parentPort !== null) {
  process.removeAllListeners("warning"); // Node's advice for programmers; the handle of signals has one
  const task = workerData as SendTask | ReadTask;
  if (task.task === "send") {
    send(task);
  } else {
    void read(task, parentPort);
  }
}
