// SPDX-License-Identifier: Apache-2.0

/**
 * Tells Milepost how far a training is. One line to start, safe at every step: no call fails, blocks or prints, and outside a
 * TrainJob nothing happens at all.
 *
 * @packageDocumentation
 */

export type { Environment } from "./environment.js";
export type { Log, LogLevel } from "./log.js";
export type { Options } from "./options.js";
export type { Metrics, Report, Stored } from "./report.js";
export { start, track } from "./reporter.js";
export type { Reporter } from "./reporter.js";
export type { TrackOptions } from "./track.js";
export { version } from "./version.js";
