// SPDX-License-Identifier: Apache-2.0
// What answers of the server mean.

import { cut, longestMessage } from "./log.js";
import { readStatus, readTrainJobStatusUpdate, type TrainerStatus } from "./wire/index.js";

/** What the server said. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  /** When the request went out over a connection that was ready, on the clock of times.ts. */
  readonly sentAt: number;
  /** How long it asks to wait, in milliseconds. */
  readonly retryAfter: number | undefined;
  /** Texts of its warnings. */
  readonly warnings: readonly string[];
}

/** What becomes of a report after an answer: the server has it, it is to be sent again, or it is to be dropped. */
export type Outcome = "taken" | "failed" | "refused";

/** Decides by the status. 401 counts as failed: the transport has used the new token already. D13, D14. */
export function outcomeOf(status: number): Outcome {
  if (status === 200) {
    return "taken";
  }
  return status === 401 || status === 408 || status === 429 || status >= 500 ? "failed" : "refused";
}

/** The server's own words about a refusal. D14. */
export function serverMessage(body: string): string {
  return cut(readStatus(parse(body))?.message ?? "", longestMessage);
}

/** The report that an answer to GET holds. D27. */
export function storedStatus(answer: Answer): TrainerStatus | undefined {
  return outcomeOf(answer.status) === "taken" ? readTrainJobStatusUpdate(parse(answer.body))?.trainerStatus : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One warning at the front of a header: code, agent, text, and perhaps a date; then a comma or the end. */
const warning = /^[\s,]*(\d{3}) (\S+) "((?:[^"\\]|\\.)*)"(?: +"(?:[^"\\]|\\.)*")? *(?:,|$)/s;

/** Reads texts of Warning headers of the form 299 - "text", several to a header. D20. */
export function warningTexts(headers: readonly string[]): string[] {
  const texts: string[] = [];
  for (const header of headers) {
    let rest = header;
    // What follows a warning that cannot be read makes no sense, because nobody knows where it ends.
    for (let found = warning.exec(rest); found !== null; found = warning.exec(rest)) {
      const [all, code, , text = ""] = found;
      if (code === "299" && text !== "") {
        texts.push(text.replace(/\\(.)/gs, "$1"));
      }
      rest = rest.slice(all.length);
    }
  }
  return texts;
}
