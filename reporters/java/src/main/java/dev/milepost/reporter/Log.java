// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.lang.System.Logger.Level;
import java.util.HashSet;
import java.util.Set;
import java.util.function.BiConsumer;

/** Few log lines, and none twice. */
final class Log {
  /** How much of a text from elsewhere stands in a log line, in code points. */
  static final int MAX_MESSAGE = 300;

  /** Metrics that were left out. The empty name stands for those beyond the limits. */
  static final Once METRICS = new Once();

  /** Warnings of the server. */
  static final Once WARNINGS = new Once();

  private final BiConsumer<Level, String> to;

  Log(BiConsumer<Level, String> to) {
    this.to = to;
  }

  /** Writes a line and survives a callback that does not. D3. */
  void line(Level level, String message) {
    try {
      if (to != null) {
        to.accept(level, message);
      } else {
        System.getLogger("dev.milepost.reporter").log(level, "milepost: " + message);
      }
    } catch (RuntimeException | Error e) {
      // There is nowhere to say it.
    }
  }

  /** Shortens text to a number of code points and puts it on one line. */
  static String cut(String text, int most) {
    StringBuilder out = new StringBuilder();
    text.codePoints().limit(most).forEach(c -> out.appendCodePoint(c < ' ' || c == 0x7f ? ' ' : c));
    return out.toString();
  }

  /** Remembers for the life of the process what was said. */
  static final class Once {
    /**
     * Beyond it nothing new is said, so that names which change at every step fill neither memory
     * nor the log. D21.
     */
    private static final int REMEMBERED = 1000;

    private final Set<String> said = new HashSet<>();

    synchronized boolean first(String key) {
      return said.size() < REMEMBERED && said.add(key);
    }
  }

  /** Decides which failures get a line: the first, one a minute, and the end of it. D21. */
  static final class Trouble {
    /** Failures since the last success. */
    long count;

    private long last;

    /** Notes a failure and tells whether it gets a line. */
    boolean add(long now, long every) {
      count++;
      boolean speak = count == 1 || now - last >= every;
      if (speak) {
        last = now;
      }
      return speak;
    }

    /** Notes a success and returns how many failures came before it. */
    long end() {
      long failures = count;
      count = 0;
      return failures;
    }
  }
}
