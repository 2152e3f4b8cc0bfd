// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.util.ArrayList;
import java.util.List;

/** Reads Warning headers of the server, one at a time. */
final class Warnings {
  private final String header;
  private int at;

  private Warnings(String header) {
    this.header = header;
  }

  /** Texts of headers of the form 299 - "text", several to a header. D20. */
  static List<String> texts(List<String> headers) {
    List<String> texts = new ArrayList<>();
    for (String header : headers) {
      Warnings warnings = new Warnings(header);
      while (warnings.next(texts)) {}
    }
    return texts;
  }

  /** Takes one warning. What follows one that cannot be read makes no sense: false. */
  private boolean next(List<String> texts) {
    while (at < header.length() && " ,".indexOf(header.charAt(at)) >= 0) {
      at++;
    }
    String code = word();
    String agent = word();
    String text = agent == null ? null : quoted();
    if (text == null) {
      return false;
    }
    if (code.equals("299") && !text.isEmpty()) {
      texts.add(text);
    }
    int behind = at;
    while (at < header.length() && header.charAt(at) == ' ') {
      at++;
    }
    if (quoted() == null) { // no date
      at = behind;
    }
    return true;
  }

  /** What stands before the next blank; null without one. */
  private String word() {
    int end = header.indexOf(' ', at);
    if (end < 0) {
      return null;
    }
    String word = header.substring(at, end);
    at = end + 1;
    return word;
  }

  /** A quoted text, in which a backslash makes the next sign plain; null when there is none. */
  private String quoted() {
    if (at >= header.length() || header.charAt(at) != '"') {
      return null;
    }
    StringBuilder text = new StringBuilder();
    for (int i = at + 1; i < header.length(); i++) {
      char c = header.charAt(i);
      if (c == '"') {
        at = i + 1;
        return text.toString();
      }
      if (c == '\\' && i + 1 < header.length()) {
        c = header.charAt(++i);
      }
      text.append(c);
    }
    return null;
  }
}
