// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Times of reports, in microseconds since 1970. */
final class Stamps {
  private static final AtomicLong LAST = new AtomicLong();

  private static final DateTimeFormatter FORMAT =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSS'Z'").withZone(ZoneOffset.UTC);

  private Stamps() {}

  /**
   * Now, or a microsecond after the last report if the clock stands or was set back: the server
   * takes an older time for an older report. D19.
   */
  static long next() {
    long now = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    return LAST.updateAndGet(before -> after(before, now));
  }

  static long after(long before, long now) {
    return Math.max(now, before + 1);
  }

  /** RFC 3339 with six fraction digits. */
  static String format(long micros) {
    return FORMAT.format(Instant.EPOCH.plus(micros, ChronoUnit.MICROS));
  }
}
