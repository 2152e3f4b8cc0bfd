// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import dev.milepost.reporter.wire.Metric;
import dev.milepost.reporter.wire.TrainJobStatusUpdate;
import dev.milepost.reporter.wire.TrainerStatus;
import java.util.List;
import java.util.Set;

/** A report as it waits in the slot. It becomes text when it is sent. */
final class Outgoing {
  private final Integer progress;
  private final Integer remaining;
  private final MetricList metrics;
  private final Set<String> keep;
  private final long micros;

  /** Whether it skips the interval. */
  final boolean urgent;

  /** How many metrics did not fit; known once it was written. */
  private int leftOut;

  Outgoing(
      Integer progress,
      Integer remaining,
      MetricList metrics,
      Set<String> keep,
      long micros,
      boolean urgent) {
    this.progress = progress;
    this.remaining = remaining;
    this.metrics = metrics;
    this.keep = keep;
    this.micros = micros;
    this.urgent = urgent;
  }

  /** The body of the request. */
  String body() {
    List<Metric> selected = metrics.select(keep);
    leftOut = metrics.size() - selected.size();
    return body(new TrainerStatus(progress, remaining, selected, Stamps.format(micros)));
  }

  static String body(TrainerStatus status) {
    StringBuilder out = new StringBuilder();
    new TrainJobStatusUpdate(status).writeJson(out);
    return out.toString();
  }

  int leftOut() {
    return leftOut;
  }
}
