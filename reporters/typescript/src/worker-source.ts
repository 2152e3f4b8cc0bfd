// SPDX-License-Identifier: Apache-2.0

/**
 * The program of the worker. `scripts/build.mjs` fills it in from worker.ts and what that imports. As a text it is found
 * wherever this package ends up: in a bundle, in an archive, or in a program of one file.
 */
export const workerSource = "" as string;
