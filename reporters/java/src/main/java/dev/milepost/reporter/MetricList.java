// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import dev.milepost.reporter.wire.Metric;
import dev.milepost.reporter.wire.Wire;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

/** The metrics of one call, and the names of those that cannot be sent. D7, D8. */
final class MetricList {
  private static final int MAX_BODY = 64 << 10;

  /** Room for everything but the metrics. */
  private static final int REST_OF_BODY = 256;

  /** Bytes of a metric without name and value, and of the comma behind it. */
  private static final int AROUND = "{\"name\":\"\",\"value\":\"\"},".length();

  /** The longest escape of a sign that JSON has, in bytes. */
  private static final int ESCAPE = 6;

  /** A whole number of more bits has surely too many digits, and is slow to write. */
  private static final int MOST_BITS = 4 * Wire.METRIC_VALUE_MAX_LENGTH;

  /**
   * Entries of nested maps that one call looks at: maps that share maps can have more than there is
   * time to see.
   */
  private static final int MOST_ENTRIES = 1 << 16;

  private static final List<Class<?>> WHOLE =
      List.of(
          Byte.class,
          Short.class,
          Integer.class,
          Long.class,
          AtomicInteger.class,
          AtomicLong.class,
          LongAdder.class,
          LongAccumulator.class);

  private static final List<Class<?>> WITHOUT_ORDER =
      List.of(
          HashMap.class,
          Hashtable.class,
          ConcurrentHashMap.class,
          WeakHashMap.class,
          IdentityHashMap.class,
          Map.of().getClass(),
          Map.of("", "").getClass());

  private final List<Entry> items = new ArrayList<>(4);
  final List<String> unfit = new ArrayList<>(0);
  private int seen;

  /** Maps that the present value is an entry of. */
  private final List<Object> around = new ArrayList<>(0);

  /**
   * A metric whose value is text, or a Double or Float that becomes text when it is sent: the
   * shortest digits take longer to find than the caller should wait.
   */
  private static final class Entry {
    final String name;
    final Object value;

    Entry(String name, Object value) {
      this.name = name;
      this.value = value;
    }

    Metric metric() {
      if (value instanceof Double) {
        return new Metric(name, Numbers.format((double) value));
      }
      return new Metric(
          name, value instanceof Float ? Numbers.format((float) value) : (String) value);
    }
  }

  int size() {
    return items.size();
  }

  /** Adds a metric, or the entries of a map. Whatever the value does costs the metric alone. */
  void add(String name, Object value) {
    int before = items.size();
    int depth = around.size();
    try {
      addValue(name, value);
    } catch (RuntimeException | StackOverflowError e) { // of the caller's object
      around.subList(depth, around.size()).clear();
      items.subList(before, items.size()).clear();
      unfit.add(String.valueOf(name));
    }
  }

  /** Adds the entries of a map. */
  void addAll(Map<String, ?> entries) {
    try {
      if (entries != null) {
        around.add(entries);
        ordered(entries).forEach((name, value) -> add((String) name, value));
      }
    } catch (RuntimeException | StackOverflowError e) { // of the caller's map
      unfit.add(entries.getClass().getSimpleName());
    }
    around.clear();
  }

  private void addValue(String name, Object value) {
    if (name == null) {
      unfit.add("null");
      return;
    }
    if (value instanceof Map) {
      addMap(name, (Map<?, ?>) value);
      return;
    }
    Object fit = value(value);
    boolean sent = fits(name, Wire.METRIC_NAME_MIN_LENGTH) && fit != null;
    if (sent && fit instanceof String) {
      sent = fits((String) fit, Wire.METRIC_VALUE_MIN_LENGTH);
    }
    if (sent) {
      items.add(new Entry(name, fit));
    } else {
      unfit.add(name);
    }
  }

  private void addMap(String name, Map<?, ?> map) {
    if (!fits(name, 0) || isAround(map)) { // a map that holds itself ends here
      unfit.add(name);
      return;
    }
    around.add(map);
    ordered(map)
        .forEach(
            (key, inner) -> {
              if (++seen <= MOST_ENTRIES) {
                addValue(name + "/" + key, inner);
              }
            });
    around.remove(around.size() - 1);
  }

  private boolean isAround(Map<?, ?> map) {
    for (Object outer : around) {
      if (outer == map) {
        return true;
      }
    }
    return false;
  }

  private static Map<?, ?> ordered(Map<?, ?> map) {
    if (!WITHOUT_ORDER.contains(map.getClass())) {
      return map;
    }
    Map<String, Object> sorted = new TreeMap<>();
    map.forEach((key, value) -> sorted.put(String.valueOf(key), value));
    return sorted;
  }

  /** The value as text, Double or Float; null when it is none of these. D7. */
  private static Object value(Object value) {
    if (value instanceof Double || value instanceof Float || value == null) {
      return value;
    }
    if (value instanceof Boolean) {
      return (boolean) value ? "1" : "0";
    }
    if (value instanceof CharSequence || value instanceof Character) {
      return value.toString();
    }
    if (value instanceof BigInteger) {
      return ((BigInteger) value).bitLength() > MOST_BITS ? null : value.toString();
    }
    if (value instanceof Number) {
      Number number = (Number) value;
      return WHOLE.contains(value.getClass())
          ? (Object) Long.toString(number.longValue())
          : (Object) number.doubleValue();
    }
    return null;
  }

  /** Most names and values have 64 code points alike. */
  private static boolean fits(String text, int least) {
    int most = Wire.METRIC_NAME_MAX_LENGTH;
    int length = text.length();
    if (length > 2 * most) {
      return false;
    }
    return length >= least && (length <= most || text.codePointCount(0, length) <= most);
  }

  /**
   * The metrics that the server takes. What is marked to be kept comes first; the order stays. D9.
   */
  List<Metric> select(Set<String> keep) {
    List<Metric> all = new ArrayList<>(items.size());
    int size = 0;
    for (Entry item : items) {
      Metric metric = item.metric();
      all.add(metric);
      size += AROUND + ESCAPE * (metric.name.length() + metric.value.length());
    }
    if (all.size() <= Wire.TRAINER_STATUS_METRICS_MAX_ITEMS && size <= MAX_BODY - REST_OF_BODY) {
      return all;
    }
    Map<Integer, Metric> taken = new TreeMap<>(); // by place
    int room = MAX_BODY - REST_OF_BODY;
    for (boolean marked : new boolean[] {true, false}) {
      for (int i = 0; i < all.size(); i++) {
        Metric metric = all.get(i);
        if (keep.contains(metric.name) != marked
            || taken.size() == Wire.TRAINER_STATUS_METRICS_MAX_ITEMS) {
          continue;
        }
        int needed = encodedSize(metric);
        if (needed <= room) {
          taken.put(i, metric);
          room -= needed;
        }
      }
    }
    return List.copyOf(taken.values());
  }

  private static int encodedSize(Metric metric) {
    StringBuilder out = new StringBuilder();
    metric.writeJson(out);
    return out.toString().getBytes(StandardCharsets.UTF_8).length + 1;
  }
}
