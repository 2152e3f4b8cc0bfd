// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.util.List;

/** What the server said. */
final class Answer {
  final int status;
  final String body;

  /** Null when the server asks for nothing. */
  final String retryAfter;

  final List<String> warnings;

  Answer(int status, String body, String retryAfter, List<String> warnings) {
    this.status = status;
    this.body = body;
    this.retryAfter = retryAfter;
    this.warnings = warnings;
  }

  /** The server's own words about a refusal; empty when there are none. D14. */
  String message() {
    try {
      var said = dev.milepost.reporter.wire.Status.fromJson(Json.read(body));
      return said == null || said.message == null ? "" : Log.cut(said.message, Log.MAX_MESSAGE);
    } catch (IllegalArgumentException e) {
      return "";
    }
  }
}
