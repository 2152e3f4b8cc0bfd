// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One line of the runner, or an object in it. */
final class Request {
  private final Map<?, ?> fields;

  Request(Object fields) {
    this.fields = fields instanceof Map ? (Map<?, ?>) fields : Map.of();
  }

  Object get(String name) {
    return fields.get(name);
  }

  String text(String name) {
    return get(name) instanceof String ? (String) get(name) : "";
  }

  double number(String name, double otherwise) {
    Object value = value(get(name));
    return value instanceof Number ? ((Number) value).doubleValue() : otherwise;
  }

  long whole(String name, long otherwise) {
    Object value = value(get(name));
    return value instanceof Number ? ((Number) value).longValue() : otherwise;
  }

  Request inner(String name) {
    return new Request(get(name));
  }

  List<Request> list(String name) {
    List<Request> list = new ArrayList<>();
    if (get(name) instanceof List) {
      for (Object item : (List<?>) get(name)) {
        list.add(new Request(item));
      }
    }
    return list;
  }

  /** What a report says. A total without step is nothing that a program of Java can say. */
  Report report() {
    Report report =
        get("step") == null ? Report.of() : Report.step(whole("step", 0), whole("totalSteps", 0));
    if (get("progress") != null) {
      report.progress(number("progress", Double.NaN));
    }
    if (get("eta") != null) {
      report.remainingSeconds(number("eta", Double.NaN));
    }
    if (get("metrics") instanceof Map) {
      ((Map<?, ?>) get("metrics"))
          .forEach((name, value) -> report.metric((String) name, value(value)));
    }
    if (get("keep") instanceof List) {
      report.keep(((List<?>) get("keep")).toArray(new String[0]));
    }
    return report;
  }

  /** The value as the protocol means it. */
  static Object value(Object json) {
    if (!(json instanceof Map)) {
      return json;
    }
    Map<?, ?> map = (Map<?, ?>) json;
    if (map.get("$float") instanceof String) {
      return Double.valueOf((String) map.get("$float"));
    }
    if (map.get("$int") instanceof String) {
      return new BigInteger((String) map.get("$int"));
    }
    if (map.containsKey("$opaque")) {
      return new Object();
    }
    if (map.get("$self") instanceof List) {
      return holdsItself((List<?>) map.get("$self"));
    }
    if (map.get("$twice") instanceof Number) {
      return holdsTwice(((Number) map.get("$twice")).intValue());
    }
    Map<String, Object> nested = new LinkedHashMap<>();
    map.forEach((name, value) -> nested.put((String) name, value(value)));
    return nested;
  }

  /** A map that holds itself under each of the names. */
  private static Map<String, Object> holdsItself(List<?> names) {
    Map<String, Object> graph = new LinkedHashMap<>();
    names.forEach(name -> graph.put((String) name, graph));
    graph.put("x", 1);
    return graph;
  }

  /** Maps within each other, each of which holds the next one twice. */
  private static Object holdsTwice(int depth) {
    Object graph = 1;
    for (int level = 0; level < depth; level++) {
      Map<String, Object> outer = new LinkedHashMap<>();
      outer.put("a", graph);
      outer.put("b", graph);
      graph = outer;
    }
    return graph;
  }
}
