// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

/**
 * The smoothed speed of this process, from its own steps only: after a resume the step counter is
 * high and the process is young, so a rate over all steps would be far too fast. D6.
 */
final class Rate {
  /** Seconds in which old steps lose weight. */
  private static final double MEMORY = 60;

  private static final double NANOS = 1e9;

  private boolean known;
  private long lastNanos;
  private long lastStep;
  private double weightedSeconds;
  private double weightedSteps;

  /** Notes that the training is at a step at a time of a clock that never goes back. */
  void add(long nanos, long step) {
    if (!known || step < lastStep) { // the first one, or a resume within the process
      weightedSeconds = 0;
      weightedSteps = 0;
    } else if (step == lastStep) {
      return;
    } else {
      double passed = Math.max(0, nanos - lastNanos) / NANOS;
      double weight = Math.exp(-passed / MEMORY);
      weightedSeconds = weightedSeconds * weight + passed;
      weightedSteps = weightedSteps * weight + ((double) step - (double) lastStep);
    }
    known = true;
    lastNanos = nanos;
    lastStep = step;
  }

  /** Estimates the seconds until the total; null as long as nothing is known. */
  Integer remaining(long step, long total) {
    if (weightedSteps <= 0 || weightedSeconds <= 0) {
      return null;
    }
    double left = Math.max(0, (double) total - (double) step);
    return Numbers.cutSeconds(Math.floor(left * weightedSeconds / weightedSteps + 0.5));
  }
}
