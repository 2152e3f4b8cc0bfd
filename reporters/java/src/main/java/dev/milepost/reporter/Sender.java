// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Owns the slot and the worker that empties it. D11. */
final class Sender {
  /** Limit of one attempt. D18. */
  static final long ATTEMPT = TimeUnit.SECONDS.toNanos(5);

  /** Limit of a flush. D22. */
  private static final long FLUSH = TimeUnit.SECONDS.toNanos(5);

  private static final long FLUSH_PAUSE = TimeUnit.MILLISECONDS.toNanos(500);

  /** For an attempt with an older value that is under way when a flush begins. */
  private static final long STALE = TimeUnit.SECONDS.toNanos(2);

  /** Between log lines about the same trouble. D21. */
  private static final long TROUBLE_EVERY = TimeUnit.SECONDS.toNanos(60);

  /** Stands for no end when nothing is due. */
  private static final long IDLE = TimeUnit.HOURS.toNanos(1);

  private final Environment env;
  private final Log log;
  private final Hooks hooks;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // All below are guarded by the lock. Times are of System.nanoTime.
  private final Pacing pacing;
  private final Log.Trouble trouble = new Log.Trouble();

  /** Newest unsent report, null when everything is sent or dropped. */
  private Outgoing slot;

  /** Whether pacing does not count, until when, and when the next attempt of the flush begins. */
  private boolean flushing;

  private long flushUntil;
  private long flushDue;

  /** The report that is being sent, and its attempt; null between attempts. */
  private Outgoing current;

  private Attempt attempt;

  /** The worker that counts; one that was given up for another finds that out and ends. */
  private Thread worker;

  private boolean closed;

  Sender(Environment env, Log log, Hooks hooks, long interval) {
    this.env = env;
    this.log = log;
    this.hooks = hooks;
    this.pacing = new Pacing(interval, hooks);
  }

  /** Replaces the report in the slot, and starts the worker with the first. */
  void put(Outgoing report) {
    lock.lock();
    try {
      // A worker that waits for its time with a report need not be woken for a newer one.
      boolean wake = slot == null || report.urgent;
      slot = report;
      if (worker == null) {
        startWorker();
      } else if (wake) {
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Starts a worker; where the system refuses a thread, the next report tries again. */
  private void startWorker() {
    Thread thread = Threads.daemon("milepost", this::work);
    worker = thread;
    try {
      thread.start();
    } catch (OutOfMemoryError e) {
      worker = null;
    }
  }

  /** Flushes and ends the worker. D22. */
  void close() {
    flush();
    lock.lock();
    try {
      closed = true;
      giveUp();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void giveUp() {
    if (attempt != null) {
      attempt.abandon();
    }
    current = null;
    attempt = null;
  }

  /** Waits until the slot is empty, at most 5 seconds, whether interrupted or not. D22. */
  void flush() {
    boolean interrupted = false;
    boolean sent;
    lock.lock();
    try {
      long begin = System.nanoTime();
      beginFlush(begin);
      long patience = begin + hooks.limit(STALE);
      boolean stale = isStale();
      for (long now = begin; isWaiting() && now - flushUntil < 0; now = System.nanoTime()) {
        stale = stale && isStale();
        if (stale && now - patience >= 0) {
          // Its connection may be dead, or the look-up of the name may hang; the newest report must
          // have its chance.
          giveUp();
          startWorker();
          stale = false;
        }
        long until = stale ? Math.min(patience - now, flushUntil - now) : flushUntil - now;
        interrupted |= await(until);
      }
      sent = !isWaiting();
    } finally {
      lock.unlock();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (!sent) {
      log.line(Level.WARNING, "the last report was not sent in time");
    }
  }

  private void beginFlush(long begin) {
    if (isWaiting()) {
      flushing = true;
      flushDue = begin;
      flushUntil = begin + hooks.limit(FLUSH);
      changed.signalAll();
    }
  }

  private boolean isWaiting() {
    return slot != null && !closed;
  }

  /** Whether an attempt with an older report than the newest is under way. */
  private boolean isStale() {
    return current != null && current != slot;
  }

  /** Lets go of the lock until something changes or the time is over. True when interrupted. */
  private boolean await(long nanos) {
    try {
      changed.awaitNanos(nanos);
      return false;
    } catch (InterruptedException e) {
      return true;
    }
  }

  /** Sends what is in the slot until the sender is closed or this worker is given up. */
  private void work() {
    try (Transport transport = new Transport(env)) {
      transport.prepare();
      for (Outgoing report = next(); report != null; report = next()) {
        long start = System.nanoTime();
        Answer answer = null;
        String why = null;
        try (Attempt own = begin(report)) {
          answer = send(transport, report, own);
        } catch (IOException e) {
          why = Log.cut(String.valueOf(e.getMessage()), Log.MAX_MESSAGE);
        } catch (RuntimeException | Error e) { // never the end of the program. D3.
          why = "sending: " + e.getClass().getSimpleName();
        }
        settle(report, start, answer, why);
      }
    }
  }

  /** Waits until a report is due; null when the worker has to end. */
  private Outgoing next() {
    lock.lock();
    try {
      while (!closed && worker == Thread.currentThread()) {
        long now = System.nanoTime();
        long wait = untilDue(now);
        if (wait <= 0) {
          current = slot;
          return slot;
        }
        await(wait);
      }
      return null;
    } finally {
      lock.unlock();
    }
  }

  /** How long until the slot is due. */
  private long untilDue(long now) {
    if (slot == null) {
      return IDLE;
    }
    flushing = flushing && now - flushUntil < 0;
    return flushing ? flushDue - now : pacing.wait(now, slot.urgent);
  }

  /** Makes the attempt known to a flush. */
  private Attempt begin(Outgoing report) {
    Attempt own = new Attempt(hooks.limit(ATTEMPT));
    lock.lock();
    try {
      if (current == report) {
        attempt = own;
      } else {
        own.abandon(); // a flush gave it up before it began
      }
    } finally {
      lock.unlock();
    }
    return own;
  }

  private Answer send(Transport transport, Outgoing report, Attempt own) throws IOException {
    String body = report.body();
    int left = report.leftOut();
    if (left > 0 && Log.METRICS.first("")) {
      log.line(
          Level.WARNING,
          "more than 256 metrics or 64 KiB: "
              + left
              + " metrics left out; keep() marks those that must stay");
    }
    return transport.send("POST", body, own);
  }

  /** Acts on the end of an attempt. Either the answer or the reason why there is none is null. */
  private void settle(Outgoing report, long start, Answer answer, String why) {
    long end = System.nanoTime();
    Outcome became = answer == null ? Outcome.FAILED : Outcome.of(answer.status);
    String line;
    lock.lock();
    try {
      if (worker != Thread.currentThread() || closed) {
        return;
      }
      current = null;
      attempt = null;
      if (became == Outcome.FAILED) {
        pacing.failed(end, retryAfter(answer));
        flushDue = end + hooks.limit(FLUSH_PAUSE);
      } else {
        pacing.settled(start);
      }
      if (slot != report) {
        flushDue = end; // a newer one goes at once in a flush
      } else if (became != Outcome.FAILED) {
        slot = null;
      }
      line = line(became, end, answer, why);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    speak(became == Outcome.TAKEN ? Level.INFO : Level.WARNING, line, answer);
  }

  private static long retryAfter(Answer answer) {
    Duration asked = answer == null ? null : Pacing.retryAfter(answer.retryAfter, Instant.now());
    return asked == null ? 0 : asked.toNanos();
  }

  /** What is to be said about an attempt; null when nothing is. D14, D21. */
  private String line(Outcome became, long end, Answer answer, String why) {
    if (became == Outcome.TAKEN) {
      long failures = trouble.end();
      return failures == 0 ? null : "reports get through again after " + failures + " failures";
    }
    if (!trouble.add(end, hooks.time(TROUBLE_EVERY))) {
      return null;
    }
    String what =
        became == Outcome.REFUSED ? "the server refuses a report" : "no report gets through";
    String because = answer == null ? why : "status " + answer.status;
    String message = answer == null ? "" : answer.message();
    String colon = message.isEmpty() ? "" : ": ";
    return String.format(
        "%s at %s (failures: %d): %s%s%s",
        what, env.authority, trouble.count, because, colon, message);
  }

  /** Writes log lines, without the lock, because the program may take its time with them. D20. */
  private void speak(Level level, String line, Answer answer) {
    if (answer != null) {
      for (String text : answer.warnings) {
        if (Log.WARNINGS.first(text)) {
          log.line(Level.WARNING, "the server warns: " + Log.cut(text, Log.MAX_MESSAGE));
        }
      }
    }
    if (line != null) {
      log.line(level, line);
    }
  }
}
