// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.util.function.LongSupplier;

/** What tests of this repository may change in a reporter. */
final class Hooks {
  /** Multiplies the interval, the back-off, Retry-After and the minute between log lines. */
  double timeScale = 1;

  /** Multiplies the limit of an attempt, the limits of a flush and the pause between attempts. */
  double limitScale = 1;

  /** The clock of the rate of steps, in nanoseconds. */
  LongSupplier rateClock = System::nanoTime;

  /** Scales a time of pacing, in nanoseconds. */
  long time(long nanos) {
    return (long) (nanos * timeScale);
  }

  /** Scales a limit, in nanoseconds. */
  long limit(long nanos) {
    return (long) (nanos * limitScale);
  }
}
