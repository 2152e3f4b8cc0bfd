// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

/** Threads that never keep a program alive. */
final class Threads {
  private Threads() {}

  static Thread daemon(String name, Runnable work) {
    Thread thread = new Thread(null, work, name, 0, false); // inherits nothing from the caller
    thread.setDaemon(true);
    return thread;
  }
}
