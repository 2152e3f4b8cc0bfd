// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * When the next attempt may begin, in nanoseconds of {@link System#nanoTime}. Only a success starts
 * the interval, so a failed attempt never delays a report by more than the back-off. D12, D13.
 */
final class Pacing {
  static final Duration DEFAULT_INTERVAL = Duration.ofSeconds(5);
  private static final long FIRST_BACKOFF = TimeUnit.SECONDS.toNanos(1);
  private static final long LONGEST_BACKOFF = TimeUnit.SECONDS.toNanos(60);
  private static final long LONGEST_RETRY_SECONDS = 300;
  private static final int MOST_DOUBLINGS = 6;

  private final long interval;
  private final Hooks hooks;

  /** Failures in a row. */
  private int failures;

  /** Not before this, unless the report is urgent. Null for at once. */
  private Long paced;

  /** Not before this, unless reporting ends. Null for at once. */
  private Long backoff;

  Pacing(long interval, Hooks hooks) {
    this.interval = hooks.time(interval);
    this.hooks = hooks;
  }

  /** How long until the next attempt may begin, 0 or less for at once. */
  long wait(long now, boolean urgent) {
    long forBackoff = backoff == null ? 0 : backoff - now;
    return urgent || paced == null ? forBackoff : Math.max(forBackoff, paced - now);
  }

  /** Notes that the server took or refused a report in an attempt that began at start. */
  void settled(long start) {
    failures = 0;
    backoff = null;
    paced = start + interval;
  }

  /** Notes a failure at end and how many nanoseconds the server asks for. */
  void failed(long end, long retryAfter) {
    failures = Math.min(failures, MOST_DOUBLINGS) + 1;
    long most = Math.min(LONGEST_BACKOFF, FIRST_BACKOFF << (failures - 1));
    double wait = most * ThreadLocalRandom.current().nextDouble(0.5, 1);
    backoff = end + hooks.time(Math.max((long) wait, retryAfter));
  }

  /** Reads a Retry-After header: whole seconds or a date. Null when it asks for nothing. D13. */
  static Duration retryAfter(String header, Instant now) {
    if (header == null) {
      return null;
    }
    String digits = Environment.wholeNumber(header);
    if (digits != null) {
      boolean few = digits.length() <= 3;
      return Duration.ofSeconds(
          few ? Math.min(LONGEST_RETRY_SECONDS, Long.parseLong(digits)) : LONGEST_RETRY_SECONDS);
    }
    try {
      Instant date =
          ZonedDateTime.parse(header.strip(), DateTimeFormatter.RFC_1123_DATE_TIME).toInstant();
      long millis = Math.max(0, Duration.between(now, date).toMillis());
      return Duration.ofMillis(Math.min(millis, TimeUnit.SECONDS.toMillis(LONGEST_RETRY_SECONDS)));
    } catch (DateTimeParseException e) {
      return null;
    }
  }
}
