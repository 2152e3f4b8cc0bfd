// SPDX-License-Identifier: Apache-2.0
// A training program that reports twice and then ends, or goes on, in the way its argument says. Tests run it as a process.

import { startWith } from "../src/reporter.js";

const way = process.argv[2] ?? "";
const limitScale = Number(process.env.LIMIT_SCALE ?? 1);

/** A step that keeps the event loop busy. */
function compute(millis: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis);
}

if (way === "handler") {
  process.on("SIGTERM", () => process.exit(7));
}
const reporter = startWith(
  { signals: way !== "no-signals" },
  { limitScale, deafWorker: way === "deaf" || way === "deaf-handler" },
);
reporter.report({ step: 1, totalSteps: 10 });
reporter.report({ step: 7, totalSteps: 10, metrics: { loss: 0.5 } });

switch (way) {
  case "return":
    break;
  case "exit":
    process.exit(3);
  case "throw":
    throw new Error("nobody catches this");
  case "reject":
    void Promise.reject(new Error("nobody catches this"));
    break;
  case "complete":
    void reporter.complete();
    break;
  case "complete-exit":
    void reporter.complete();
    process.exit(0);
  case "await-complete":
    await reporter.complete();
    console.log("completed");
    break;
  case "using": {
    using scope = reporter;
    scope.report({ step: 9, totalSteps: 10 });
    break;
  }
  case "await-using": {
    await using scope = reporter;
    scope.report({ step: 9, totalSteps: 10 });
    break;
  }
  case "using-throw": {
    using scope = reporter;
    scope.report({ step: 9, totalSteps: 10 });
    throw new Error("nobody catches this");
  }
  case "busy":
    // Never lets the event loop turn, as a synchronous training does.
    for (let step = 8; ; step++) {
      compute(20);
      reporter.report({ progress: 70, metrics: { step } });
    }
  case "complete-idle":
    void reporter.complete();
    setInterval(() => undefined, 1_000);
    break;
  case "two":
    startWith({}, { limitScale }).report({ step: 3, totalSteps: 10 });
    setInterval(() => undefined, 1_000);
    break;
  case "deaf": {
    // Says when the reporter listens in this thread.
    const waiting = setInterval(() => {
      if (process.listenerCount("SIGTERM") > 0) {
        clearInterval(waiting);
        console.log("ready");
        setInterval(() => undefined, 1_000);
      }
    }, 10);
    break;
  }
  case "handler-later":
  case "deaf-handler":
    process.on("SIGTERM", () => process.exit(7));
    setInterval(() => undefined, 1_000);
    break;
  case "handler-gone": {
    const listener = (): void => undefined;
    process.on("SIGTERM", listener);
    process.off("SIGTERM", listener);
    setInterval(() => undefined, 1_000);
    break;
  }
  default:
    setInterval(() => undefined, 1_000);
}
