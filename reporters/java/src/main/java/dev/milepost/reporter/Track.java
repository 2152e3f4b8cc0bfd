// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.util.Collection;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.UnaryOperator;

/**
 * Passes items through and reports how many of them the loop is done with. Made by {@link
 * Reporter#track}.
 *
 * @param <T> the type of the items
 */
public final class Track<T> implements Iterable<T> {
  private final Reporter reporter;
  private final Iterable<T> items;
  private long total;
  private UnaryOperator<Report> more = UnaryOperator.identity();

  Track(Reporter reporter, Iterable<T> items) {
    this.reporter = reporter;
    this.items = items;
    this.total = items instanceof Collection ? ((Collection<T>) items).size() : 0;
  }

  /**
   * States how many items there are, where they are no collection.
   *
   * @param items the number of items; 0 or less is unknown
   * @return this loop
   */
  public Track<T> total(long items) {
    total = items;
    return this;
  }

  /**
   * Adds to every report but the first, such as metrics of the item that is done.
   *
   * @param addition gets a report and returns it with more in it
   * @return this loop
   */
  public Track<T> with(UnaryOperator<Report> addition) {
    more = addition == null ? UnaryOperator.identity() : addition;
    return this;
  }

  @Override
  public Iterator<T> iterator() {
    return new Loop(items.iterator());
  }

  /** Reports when it is asked for an item, which is when the body is done with the one before. */
  private final class Loop implements Iterator<T> {
    private final Iterator<T> inner;
    private long handed;

    /** Whether the body is at an item that was not reported as done. */
    private boolean pending;

    private boolean begun;
    private boolean ended;

    Loop(Iterator<T> inner) {
      this.inner = inner;
    }

    @Override
    public boolean hasNext() {
      if (!begun) {
        reporter.report(Report.step(0, total));
      } else if (pending) {
        reporter.report(done());
      }
      begun = true;
      pending = false;
      boolean more = inner.hasNext();
      if (!more && !ended) {
        ended = true;
        reporter.complete();
      }
      return more;
    }

    @Override
    public T next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      T item = inner.next();
      handed++;
      pending = true;
      return item;
    }

    /** What is done. A fault of the caller's addition costs the addition alone. D3. */
    private Report done() {
      try {
        Report report = more.apply(Report.step(handed, total));
        return report == null ? Report.step(handed, total) : report;
      } catch (RuntimeException e) {
        return Report.step(handed, total);
      }
    }
  }
}
