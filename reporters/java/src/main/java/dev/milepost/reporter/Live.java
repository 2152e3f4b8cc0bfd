// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Reporters that may have something to send when the JVM ends: at the end of the last thread, at
 * System.exit, after an uncaught error, at SIGTERM and SIGINT. D24, D25.
 */
final class Live {
  private static final Set<Sender> SENDERS = new LinkedHashSet<>();
  private static boolean hooked;

  private Live() {}

  static synchronized void add(Sender sender) {
    SENDERS.add(sender);
    if (!hooked) {
      hooked = true;
      try {
        Runtime.getRuntime()
            .addShutdownHook(new Thread(null, Live::flush, "milepost-exit", 0, false));
      } catch (IllegalStateException e) {
        // The JVM is ending already.
      }
    }
  }

  static synchronized void remove(Sender sender) {
    SENDERS.remove(sender);
  }

  private static synchronized List<Sender> all() {
    return new ArrayList<>(SENDERS);
  }

  /** Sends the newest reports of all reporters at the same time, in at most 5 seconds. */
  private static void flush() {
    List<Thread> others = new ArrayList<>();
    List<Sender> all = all();
    for (Sender sender : all.subList(Math.min(1, all.size()), all.size())) {
      Thread other = Threads.daemon("milepost-exit", sender::flush);
      other.start();
      others.add(other);
    }
    if (!all.isEmpty()) {
      all.get(0).flush();
    }
    for (Thread other : others) {
      try {
        other.join();
      } catch (InterruptedException e) {
        return;
      }
    }
  }
}
