// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads JSON into maps, lists, text, booleans, null, and numbers as Long or Double. It is lenient
 * about what it need not understand, and strict about where things end.
 */
final class Json {
  /** Deeper answers are no answers. */
  private static final int DEEPEST = 64;

  private final String text;
  private int at;
  private int depth;

  private Json(String text) {
    this.text = text;
  }

  /** Reads one value. Throws IllegalArgumentException for what is none. */
  static Object read(String text) {
    Json json = new Json(text);
    Object value = json.value();
    json.blanks();
    if (json.at < text.length()) {
      throw json.fault();
    }
    return value;
  }

  private Object value() {
    blanks();
    switch (peek()) {
      case '{':
        return nested(this::object);
      case '[':
        return nested(this::list);
      case '"':
        return quoted();
      default:
        return plain();
    }
  }

  private Object nested(java.util.function.Supplier<Object> read) {
    if (++depth > DEEPEST) {
      throw fault();
    }
    at++;
    Object value = read.get();
    depth--;
    return value;
  }

  private Map<String, Object> object() {
    Map<String, Object> map = new LinkedHashMap<>();
    for (boolean first = true; !ends('}', first); first = false) {
      blanks();
      String name = quoted();
      blanks();
      expect(':');
      map.put(name, value());
    }
    return map;
  }

  private List<Object> list() {
    List<Object> list = new ArrayList<>();
    for (boolean first = true; !ends(']', first); first = false) {
      list.add(value());
    }
    return list;
  }

  /** Takes the end of a list or object, or the comma before its next item. */
  private boolean ends(char end, boolean first) {
    blanks();
    if (peek() == end) {
      at++;
      return true;
    }
    if (!first) {
      expect(',');
    }
    return false;
  }

  private String quoted() {
    expect('"');
    StringBuilder out = new StringBuilder();
    for (char c = next(); c != '"'; c = next()) {
      out.append(c == '\\' ? escaped() : c);
    }
    return out.toString();
  }

  private char escaped() {
    char c = next();
    int known = "bfnrt".indexOf(c);
    if (known >= 0) {
      return "\b\f\n\r\t".charAt(known);
    }
    if (c != 'u') {
      return c;
    }
    if (at + 4 > text.length()) {
      throw fault();
    }
    at += 4;
    return (char) Integer.parseInt(text.substring(at - 4, at), 16);
  }

  private Object plain() {
    int start = at;
    while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) {
      at++;
    }
    String word = text.substring(start, at);
    switch (word) {
      case "null":
        return null;
      case "true":
        return true;
      case "false":
        return false;
      default:
        return number(word);
    }
  }

  private Object number(String word) {
    if (word.isEmpty() || !word.chars().allMatch(c -> "+-.0123456789eE".indexOf(c) >= 0)) {
      throw fault();
    }
    try {
      return Long.valueOf(word);
    } catch (NumberFormatException e) {
      return Double.valueOf(word);
    }
  }

  private void blanks() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private char peek() {
    if (at >= text.length()) {
      throw fault();
    }
    return text.charAt(at);
  }

  private char next() {
    char c = peek();
    at++;
    return c;
  }

  private void expect(char wanted) {
    if (next() != wanted) {
      throw fault();
    }
  }

  private IllegalArgumentException fault() {
    return new IllegalArgumentException("no JSON at " + at);
  }
}
