// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

/** What becomes of a report after an answer. */
enum Outcome {
  /** The server has it. */
  TAKEN,
  /** To be sent again. */
  FAILED,
  /** To be dropped. */
  REFUSED;

  /** Decides by the status. 401 counts as failed: the token was read again already. D13, D14. */
  static Outcome of(int status) {
    if (status == Transport.OK) {
      return TAKEN;
    }
    boolean again = status == 401 || status == 408 || status == 429 || status >= 500;
    return again ? FAILED : REFUSED;
  }
}
