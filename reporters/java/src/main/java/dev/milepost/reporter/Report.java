// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * What the training has to say in one call: progress, time remaining and metrics. What is not said
 * is unknown. A report is made by one thread and given away with the call.
 *
 * <pre>{@code
 * Report.step(450, 1000).metric("loss", 0.2).metric("eval/accuracy", 0.9).keep("eval/accuracy")
 * }</pre>
 */
public final class Report {
  Long step;
  long total;
  Double progress;
  Double remaining;
  final MetricList metrics = new MetricList();
  Set<String> keep = Set.of();

  private Report() {}

  /**
   * Makes a report that says nothing yet.
   *
   * @return the report
   */
  public static Report of() {
    return new Report();
  }

  /**
   * Says that steps are done. Progress and time remaining follow from it. Progress from steps ends
   * at 99; {@link Reporter#complete()} makes it 100.
   *
   * @param done the number of steps that are done
   * @param total the number of all steps; 0 or less is unknown, then metrics alone are sent
   * @return the report
   */
  public static Report step(long done, long total) {
    Report report = new Report();
    report.step = done;
    report.total = total;
    return report;
  }

  /**
   * States the progress, which wins over steps. 100 says that the training is complete.
   *
   * @param percent 0 to 100; the fraction is dropped, NaN leaves progress out
   * @return this report
   */
  public Report progress(double percent) {
    progress = percent;
    return this;
  }

  /**
   * States the time remaining, which wins over the estimate.
   *
   * @param seconds at least 0; the fraction is dropped, NaN and infinity make it unknown
   * @return this report
   */
  public Report remainingSeconds(double seconds) {
    remaining = seconds;
    return this;
  }

  /**
   * Adds a metric. It is left out, with one log line per name, when it does not fit.
   *
   * @param name 1 to 64 characters
   * @param value a number, a boolean, text of 1 to 64 characters, or a map of them, whose entries
   *     become metrics named {@code name/key}
   * @return this report
   */
  public Report metric(String name, Object value) {
    metrics.add(name, value);
    return this;
  }

  /**
   * Adds metrics. Their order is that of the map where it has one, otherwise that of their names.
   *
   * @param entries names and values as for {@link #metric}
   * @return this report
   */
  public Report metrics(Map<String, ?> entries) {
    metrics.addAll(entries);
    return this;
  }

  /**
   * Names metrics that must not be left out when there are more than 256.
   *
   * @param names names of metrics; those of nested ones are given in full
   * @return this report
   */
  public Report keep(String... names) {
    if (names != null) {
      keep = new HashSet<>(keep);
      for (String name : names) {
        keep.add(name);
      }
    }
    return this;
  }
}
