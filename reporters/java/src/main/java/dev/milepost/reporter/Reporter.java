// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import dev.milepost.reporter.wire.Wire;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * Reports the progress of this process to Milepost. Its methods may be called from several threads.
 *
 * <pre>{@code
 * try (Reporter m = Reporter.start()) {
 *   for (int step = 1; step <= total; step++) {
 *     double loss = train(step);
 *     m.report(Report.step(step, total).metric("loss", loss));
 *   }
 *   m.complete();
 * }
 * }</pre>
 *
 * <p>Inside a TrainJob, {@link #start} finds everything it needs in the environment. Anywhere else,
 * and on every rank but 0, the reporter does nothing. No call throws, and none waits for the
 * network, except {@link #complete()}, {@link #fail}, {@link #close} and the end of the program,
 * which wait at most 5 seconds for the last report to arrive, and {@link #stored}, which waits at
 * most 5 seconds for an answer.
 */
public final class Reporter implements AutoCloseable {
  /** The version of this library, as it stands in the User-Agent header. */
  public static final String VERSION = "0.1.0";

  private final Log log;
  private final Hooks hooks;

  /** Null when the reporter does nothing. */
  private final Environment env;

  /** Null when the reporter does nothing. */
  private final Sender sender;

  // All below are guarded by this object.
  private final Rate rate = new Rate();
  private MetricList metrics = new MetricList();
  private Set<String> keep = Set.of();

  /** Progress of the last report, 0 when it had none. */
  private int lastProgress;

  private boolean ended;

  /** Whether a report after the end was logged. */
  private boolean ignored;

  private Reporter(Builder with, Function<String, String> get) {
    log = new Log(with.log);
    hooks = with.hooks;
    List<String> problems = new ArrayList<>();
    Environment found = Environment.read(get, problems);
    String other = found == null ? null : Environment.otherRank(get, with.rank);
    if (found == null) {
      String line = "nothing is reported outside a TrainJob: " + String.join(", ", problems);
      log.line(Level.INFO, line);
    } else if (other != null) {
      log.line(Level.INFO, "nothing is reported by this rank: " + other);
    }
    boolean active = found != null && other == null;
    env = active ? found : null;
    sender = active ? new Sender(env, log, hooks, with.interval) : null;
    if (active) {
      Live.add(sender);
    }
  }

  /**
   * Makes a reporter from the environment. Outside a TrainJob, and on other ranks than 0, it does
   * nothing, and one log line says why.
   *
   * @return the reporter
   */
  public static Reporter start() {
    return builder().start();
  }

  /**
   * Begins with a reporter that differs from the usual one.
   *
   * @return a builder with the defaults
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Tells whether this reporter sends anything.
   *
   * @return false outside a TrainJob and on other ranks than 0
   */
  public boolean isActive() {
    return sender != null;
  }

  /**
   * Stores what the training has to say and returns at once. A worker sends the newest report in
   * the background: the first at once, later ones every 5 seconds. A report replaces the one
   * before; what it leaves out becomes unknown. After the end of reporting it is ignored.
   *
   * @param report what the training has to say
   */
  public void report(Report report) {
    if (!isActive() || report == null) {
      return;
    }
    explain(report.metrics.unfit);
    if (!store(report)) {
      log.line(Level.WARNING, "reports after the end of reporting are ignored");
    }
  }

  /** False when it is the first one that is ignored. */
  private synchronized boolean store(Report report) {
    if (ended) {
      boolean before = ignored;
      ignored = true;
      return before;
    }
    Integer[] numbers = numbers(report);
    boolean complete = isComplete(numbers[0]);
    boolean urgent = complete && lastProgress < Numbers.COMPLETE;
    lastProgress = numbers[0] == null ? 0 : numbers[0];
    metrics = report.metrics;
    keep = report.keep;
    put(numbers[0], numbers[1], urgent);
    return true;
  }

  /** Works out progress and time remaining. D4, D5, D6. */
  Integer[] numbers(Report report) {
    Integer progress = null;
    Integer remaining = null;
    if (report.step != null) {
      rate.add(hooks.rateClock.getAsLong(), report.step);
      if (report.total > 0) {
        progress = Numbers.computedProgress(report.step, report.total);
        remaining = rate.remaining(report.step, report.total);
      }
    }
    if (report.progress != null) {
      progress = Numbers.explicitProgress(report.progress);
      remaining = isComplete(progress) ? Integer.valueOf(0) : remaining;
    }
    if (report.remaining != null) {
      remaining = Numbers.explicitSeconds(report.remaining);
    }
    return new Integer[] {progress, remaining};
  }

  private static boolean isComplete(Integer progress) {
    return progress != null && progress == Numbers.COMPLETE;
  }

  private void put(Integer progress, Integer remaining, boolean urgent) {
    sender.put(new Outgoing(progress, remaining, metrics, keep, Stamps.next(), urgent));
  }

  /**
   * Reports that the training is complete: progress 100 and no time remaining. Waits at most 5
   * seconds for the report to arrive. The metrics of the last report are sent again. Later reports
   * are ignored.
   */
  public void complete() {
    complete(null);
  }

  /**
   * Like {@link #complete()}, with the metrics of a report.
   *
   * @param report metrics; its other parts do not count
   */
  public void complete(Report report) {
    if (!isActive()) {
      return;
    }
    if (report != null) {
      explain(report.metrics.unfit);
    }
    synchronized (this) {
      if (!ended) {
        ended = true;
        if (report != null && report.metrics.size() > 0) {
          metrics = report.metrics;
          keep = report.keep;
        }
        put(Numbers.COMPLETE, 0, true);
      }
    }
    end();
  }

  /**
   * Ends reporting without completion: the last report is sent as it is, and the reason goes to the
   * log. Waits at most 5 seconds.
   *
   * @param reason why the training failed; may be null
   */
  public void fail(String reason) {
    if (!isActive()) {
      return;
    }
    if (isFirstEnd()) {
      boolean said = reason != null && !reason.isEmpty();
      String colon = said ? ": " + Log.cut(reason, Log.MAX_MESSAGE) : "";
      log.line(Level.ERROR, "the training failed" + colon);
    }
    end();
  }

  /**
   * Ends reporting and waits at most 5 seconds for the last report to arrive. That does not make
   * the training complete: only {@link #complete()} does.
   */
  @Override
  public void close() {
    if (isActive()) {
      isFirstEnd();
      end();
    }
  }

  private synchronized boolean isFirstEnd() {
    boolean first = !ended;
    ended = true;
    return first;
  }

  /** Sends what is left and gives up what the reporter holds. */
  private void end() {
    sender.close();
    Live.remove(sender);
  }

  /**
   * Asks the server for the report that is stored, so that a restarted training can go on from it.
   * Waits at most 5 seconds.
   *
   * @return empty when nothing is stored, nothing could be learned, or this reporter does nothing
   */
  public Optional<Stored> stored() {
    if (!isActive()) {
      return Optional.empty();
    }
    long limit = hooks.limit(Sender.ATTEMPT);
    CompletableFuture<Optional<Stored>> found = new CompletableFuture<>();
    try {
      Threads.daemon("milepost-stored", () -> found.complete(ask(limit))).start();
      return found.get(limit, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    } catch (ExecutionException | TimeoutException | OutOfMemoryError e) {
      return Optional.empty();
    }
  }

  private Optional<Stored> ask(long limit) {
    try (Transport own = new Transport(env);
        Attempt attempt = new Attempt(limit)) {
      return Stored.from(own.send("GET", null, attempt));
    } catch (IOException | RuntimeException e) {
      return Optional.empty();
    }
  }

  /**
   * Passes items through and reports how many of them the loop is done with, 0 before the first. At
   * the normal end of the loop the training is complete; after a break, a return or an error it is
   * not, and the last report stays.
   *
   * <pre>{@code
   * for (Batch batch : m.track(batches)) {
   *   train(batch);
   * }
   * }</pre>
   *
   * @param items what to loop over; the size of a collection is the total
   * @param <T> the type of the items
   * @return the same items
   */
  public <T> Track<T> track(Iterable<T> items) {
    return new Track<>(this, items);
  }

  /** Says once per name that a metric was left out. D7. */
  private void explain(List<String> unfit) {
    for (String one : unfit) {
      String name = Log.cut(one, Wire.METRIC_NAME_MAX_LENGTH);
      if (Log.METRICS.first(name)) {
        log.line(
            Level.WARNING,
            "the metric \""
                + name
                + "\" is left out: name and value have 1 to 64 characters, and a value is a number,"
                + " a boolean or text");
      }
    }
  }

  /** Changes how a reporter is made. */
  public static final class Builder {
    private Long rank;
    private long interval = Pacing.DEFAULT_INTERVAL.toNanos();
    private BiConsumer<Level, String> log;
    private Hooks hooks = new Hooks();

    private Builder() {}

    /**
     * States the global rank of this process instead of reading it from the environment.
     *
     * @param rank the rank; only 0 reports
     * @return this builder
     */
    public Builder rank(long rank) {
      this.rank = rank;
      return this;
    }

    /**
     * Sets the least time between the starts of two reports that arrive, 5 seconds by default.
     *
     * @param interval at least 0; the server slows down who sends more often than once a second
     * @return this builder
     */
    public Builder interval(Duration interval) {
      if (interval != null) {
        boolean huge = interval.compareTo(Duration.ofDays(365)) > 0;
        this.interval = huge ? Duration.ofDays(365).toNanos() : Math.max(0, interval.toNanos());
      }
      return this;
    }

    /**
     * Gets the few log lines of the reporter, which go to the system logger {@code
     * dev.milepost.reporter} otherwise. It is called from several threads; what it throws is
     * ignored.
     *
     * @param to takes level and text of a line
     * @return this builder
     */
    public Builder log(BiConsumer<Level, String> to) {
      log = to;
      return this;
    }

    Builder hooks(Hooks changed) {
      hooks = changed;
      return this;
    }

    /**
     * Makes the reporter from the environment. See {@link Reporter#start}.
     *
     * @return the reporter
     */
    public Reporter start() {
      return start(System::getenv);
    }

    Reporter start(Function<String, String> get) {
      return new Reporter(this, get);
    }
  }
}
