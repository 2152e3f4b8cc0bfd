// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import dev.milepost.reporter.wire.TrainJobStatusUpdate;
import dev.milepost.reporter.wire.TrainerStatus;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;

/** A report as the server holds it. */
public final class Stored {
  private final TrainerStatus status;

  private Stored(TrainerStatus status) {
    this.status = status;
  }

  /** Reads an answer to GET. D27. */
  static Optional<Stored> from(Answer answer) {
    if (answer.status != Transport.OK) {
      return Optional.empty();
    }
    try {
      TrainJobStatusUpdate update = TrainJobStatusUpdate.fromJson(Json.read(answer.body));
      return Optional.ofNullable(update)
          .map(found -> found.trainerStatus)
          .map(found -> new Stored(found));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  /**
   * The progress.
   *
   * @return 0 to 100, empty when unknown
   */
  public OptionalInt progress() {
    return optional(status.progressPercentage);
  }

  /**
   * The time remaining when the report was made.
   *
   * @return seconds, empty when unknown
   */
  public OptionalInt remainingSeconds() {
    return optional(status.estimatedRemainingSeconds);
  }

  /**
   * The metrics.
   *
   * @return names and values in the order of the report
   */
  public List<Map.Entry<String, String>> metrics() {
    return status.metrics.stream()
        .map(metric -> new SimpleImmutableEntry<>(metric.name, metric.value))
        .collect(Collectors.toUnmodifiableList());
  }

  /**
   * When the report was made.
   *
   * @return the time, empty when unknown
   */
  public Optional<Instant> updated() {
    try {
      return Optional.ofNullable(status.lastUpdatedTime).map(Instant::parse);
    } catch (DateTimeParseException e) {
      return Optional.empty();
    }
  }

  private static OptionalInt optional(Integer value) {
    return value == null ? OptionalInt.empty() : OptionalInt.of(value);
  }
}
