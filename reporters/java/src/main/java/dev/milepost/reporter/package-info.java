// SPDX-License-Identifier: Apache-2.0

/**
 * Reports the progress of a training program to Milepost. {@link dev.milepost.reporter.Reporter} is
 * where to begin.
 *
 * <p>The package owns what happens between a call and an answer of the server. It does not own the
 * form of requests: that is generated from the OpenAPI document. What it does in detail is written
 * in BEHAVIOUR.md of the repository, duty by duty; D1, D2 and so on in comments refer to it.
 */
package dev.milepost.reporter;
