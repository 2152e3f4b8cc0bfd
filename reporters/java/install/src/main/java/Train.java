// SPDX-License-Identifier: Apache-2.0

import dev.milepost.reporter.Report;
import dev.milepost.reporter.Reporter;

/** Reports from a project that has nothing but the published package. */
public final class Train {
  private Train() {}

  public static void main(String[] arguments) {
    try (Reporter m = Reporter.start()) {
      m.report(Report.step(1, 2).metric("loss", 0.5));
      m.complete(Report.of().metric("language", "java"));
    }
  }
}
