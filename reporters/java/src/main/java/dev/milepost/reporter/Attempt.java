// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.io.Closeable;
import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The limit of one attempt. Time-outs of sockets count from the last byte; here the socket is
 * closed when the time is over, however slowly bytes arrive. D18.
 */
final class Attempt implements Closeable {
  private static final ScheduledThreadPoolExecutor CLOCK = clock();

  private final long deadline;
  private final Future<?> end;
  private Socket socket;
  private boolean over;

  /** Begins an attempt that ends after some nanoseconds. */
  Attempt(long limit) {
    deadline = System.nanoTime() + limit;
    end = CLOCK.schedule(this::abandon, limit, TimeUnit.NANOSECONDS);
  }

  private static ScheduledThreadPoolExecutor clock() {
    ScheduledThreadPoolExecutor clock =
        new ScheduledThreadPoolExecutor(1, work -> Threads.daemon("milepost-limit", work));
    clock.setRemoveOnCancelPolicy(true);
    return clock;
  }

  long left() {
    return deadline - System.nanoTime();
  }

  /** Makes the socket known that the attempt uses. It must not be used when the time is over. */
  synchronized void watch(Socket used) throws IOException {
    socket = used;
    if (over) {
      used.close();
      throw new IOException("no answer in time");
    }
  }

  synchronized boolean isOver() {
    return over;
  }

  /** Ends the attempt now. */
  synchronized void abandon() {
    over = true;
    if (socket != null) {
      try {
        socket.close();
      } catch (IOException e) {
        // It is of no use any more.
      }
    }
  }

  /** Ends the watch over the attempt; the socket stays open. */
  @Override
  public synchronized void close() {
    end.cancel(false);
    socket = null;
  }
}
