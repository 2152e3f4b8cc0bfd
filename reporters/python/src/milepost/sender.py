# SPDX-License-Identifier: Apache-2.0
"""The slot with the newest report, and the worker that empties it. D11, D12, D13, D22.

Owns one thread and its waits. Does not own what a report says.

A signal handler may interrupt the program anywhere, also in the middle of a call to the reporter, and
then flushes. So nothing here may wait for a lock that the interrupted call holds. Each attribute is
written by one side: callers write the slot, the worker writes what it has settled, and whatever is in
the slot but not settled is unsent.
"""

from __future__ import annotations

import queue
import signal
import threading
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Optional

from .answers import FAILED, TAKEN, Answer, message, outcome, warning_texts
from .connection import Attempt
from .environment import Endpoint
from .guard import text_of
from .lines import INFO, METRICS, WARNING, WARNINGS, Lines, Trouble, cut
from .pacing import FIRST_BACKOFF, Pacing, retry_after
from .slot import Report, encode
from .transport import ATTEMPT_LIMIT, Transport

FLUSH_LIMIT = 5.0  # D22
FLUSH_PAUSE = 0.5
STALE_LIMIT = 2.0  # for an attempt with an older report that is under way when a flush begins
TROUBLE_EVERY = 60.0  # D21

#: How long the end of the program waits for a worker that has nothing left to do.
_JOIN_LIMIT = 0.3

#: The longest single wait; clocks of some platforms cannot wait for years.
_MOST_WAIT = 3600.0

#: How often a flush looks whether it is over, should the worker be held up by a log line.
_LOOK = 0.1

#: Signals that programs have handlers for.
_OF_THE_PROGRAM = {
    number
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD", "SIGWINCH")
    for number in [getattr(signal, name, None)]
    if number is not None
}


@dataclass(frozen=True)
class Scales:
    """Factors for times. They are for tests alone."""

    time: float = 1.0  # the interval, the back-off, Retry-After, and the minute between log lines
    limit: float = 1.0  # limits of attempts and flushes


class Sender:
    """Sends the newest report of one reporter."""

    def __init__(self, endpoint: Endpoint, lines: Lines, interval: float, scales: Scales) -> None:
        self._url = endpoint.url
        self._lines = lines
        self._scales = scales
        self._transport = Transport(endpoint)
        self._pacing = Pacing(interval, scales.time)
        self._trouble = Trouble(TROUBLE_EVERY * scales.time)
        # Written by callers.
        self._slot: Optional[Report] = None
        self._flush_due = 0.0  # when the next attempt of a flush begins; the worker moves it as well
        self._flush_end = 0.0  # end of the flush; pacing counts afterwards
        self._closed = False
        self._thread: Optional[threading.Thread] = None
        self._waiting: list[threading.Event] = []
        # Written by the worker.
        self._settled: Optional[Report] = None  # the last report that was sent or dropped
        self._under_way: Optional[Attempt] = None
        self._taken: Optional[Report] = None  # out of the slot by the attempt that is under way
        self._began = 0.0  # when it was taken; the interval counts from there
        self._idle = False  # whether it waits for a report
        # Unlike a condition, this queue may be used while a signal interrupts its use.
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()

    def put(self, report: Report) -> None:
        """Replaces the report in the slot, and starts the worker with the first."""
        self._slot = report
        if self._thread is None:
            self._start()
        elif self._idle or report.urgent:  # else the worker looks at the slot when its time has come
            self._rouse()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="milepost", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # there are too many threads, or the interpreter ends; a flush can do without
            self._thread = None

    def _rouse(self) -> None:
        if self._wake.empty():
            self._wake.put(None)

    @property
    def _unsent(self) -> bool:
        return self._slot is not self._settled

    # The end: what callers do.

    def begin_flush(self) -> float:
        """Lets the newest report be sent at once, whatever pacing says, and tells until when. D22."""
        if self._closed or not self._unsent:
            return 0.0
        now = monotonic()
        if now >= self._flush_end:  # one that is under way keeps its end
            self._flush_due = now
            self._flush_end = now + FLUSH_LIMIT * self._scales.limit
        under_way, taken = self._under_way, self._taken
        if under_way is not None and taken is not None and taken is not self._slot:
            under_way.shorten(STALE_LIMIT * self._scales.limit)
        self._rouse()
        return self._flush_end

    def flush(self) -> None:
        """Waits until nothing is unsent, at most 5 seconds. D22."""
        self.end_flush(self.begin_flush())

    def end_flush(self, end: float) -> None:
        """Waits until nothing is unsent, at most until the end of a flush that was begun."""
        if not end:
            return
        sent = threading.Event()
        self._waiting.append(sent)
        try:
            while self._unsent and not self._closed:
                left = end - monotonic()
                if left <= 0:
                    self._lines.write(WARNING, f"the last report was not sent in time to {self._url}")
                    return
                if self._thread is None or not self._thread.is_alive():
                    self._step(left)  # where there can be no worker
                else:
                    sent.wait(min(left, _LOOK))
        finally:
            self._waiting.remove(sent)
            if not self._unsent and not self._waiting:
                self._flush_end = 0.0

    def close(self) -> None:
        """Flushes and ends the worker.

        When an exception of a signal handler comes in between, the worker goes on, and the end of the program
        waits for the rest of the flush.
        """
        self.flush()
        self.stop()

    def stop(self) -> None:
        """Ends the worker, whatever is unsent."""
        self._closed = True
        under_way = self._under_way
        if under_way is not None:
            under_way.shorten(0)
        self._rouse()
        # A thread that is stopped by the end of the interpreter while it writes a log line would take the
        # lock of standard error with it.
        if self._thread is not None and self._thread is not threading.current_thread() and self._thread.is_alive():
            self._thread.join(_JOIN_LIMIT)

    # The worker.

    def _work(self) -> None:
        _leave_signals_to_others()
        while not self._closed:
            try:
                self._step(_MOST_WAIT)
            except BaseException:  # of a log callback, perhaps; it ends neither the worker nor its patience
                sleep(FIRST_BACKOFF)
        self._transport.close()

    def _step(self, most: float) -> None:
        """Sends what is due, or waits for it, for at most so many seconds."""
        wait = self._wait()
        if wait is None:
            self._sleep_idle()
        elif wait > 0:
            self._sleep(min(wait, most))
        else:
            self._attempt(min(ATTEMPT_LIMIT * self._scales.limit, most))

    def _wait(self) -> Optional[float]:
        """Seconds until the slot is due. None for an empty one."""
        report = self._slot
        if report is None or report is self._settled:
            return None
        now = monotonic()
        due = self._flush_due if now < self._flush_end else self._pacing.due(report.urgent)
        return due - now

    def _sleep_idle(self) -> None:
        """Waits for a report, however long it takes."""
        self._idle = True
        if not self._unsent and not self._closed:  # nothing came in between
            self._wake.get()
        self._idle = False

    def _sleep(self, wait: float) -> None:
        try:
            self._wake.get(timeout=wait)
        except queue.Empty:
            pass

    def _attempt(self, limit: float) -> None:
        self._taken = None
        self._under_way = attempt = Attempt(limit)
        try:
            answer, error = self._transport.post(self._take, attempt), ""
        except Exception as problem:  # a fault of any kind is a failed attempt
            answer, error = None, text_of(problem)
        self._under_way = None
        self._settle(answer, error)

    def _take(self) -> bytes:
        """The body of the newest report, now that there is a connection for it."""
        self._taken = report = self._slot
        self._began = monotonic()
        if report is None:
            return b"{}"  # which changes nothing; an attempt begins with a report in the slot
        body, left_out = encode(report)
        if left_out and METRICS.first(""):
            self._lines.write(
                WARNING, f"over 256 metrics or 64 KiB: {left_out} metrics left out; keep marks those that must stay"
            )
        return body

    def _settle(self, answer: Optional[Answer], error: str) -> None:
        """Acts on the end of an attempt."""
        end = monotonic()
        became = FAILED if answer is None else outcome(answer.status)
        if became == FAILED:
            self._pacing.failed(end, None if answer is None else retry_after(answer.retry_after))
            if self._taken in (None, self._slot):  # a newer one goes at once in a flush
                self._flush_due = end + FLUSH_PAUSE * self._scales.limit
        else:
            self._pacing.settled(self._began)
        if became != FAILED:
            self._settled = self._taken
        if not self._closed:
            self._speak(end, became, answer, error)
        if not self._unsent:
            for sent in tuple(self._waiting):
                sent.set()

    def _speak(self, now: float, became: str, answer: Optional[Answer], error: str) -> None:
        """Writes the log lines about an attempt. D14, D20, D21."""
        for text in warning_texts(answer.warnings) if answer is not None else ():
            if WARNINGS.first(cut(text)):
                self._lines.write(WARNING, f"the server warns: {cut(text)}")
        if became == TAKEN:
            count = self._trouble.end()
            if count:
                self._lines.write(INFO, f"reports get through again, after {count} that did not")
            return
        if not self._trouble.add(became, now):
            return
        if answer is not None:
            said = message(answer.body)
            error = f"status {answer.status}" + (f": {said}" if said else "")
        what = "no report gets through" if became == FAILED else "a report was refused"
        self._lines.write(WARNING, f"{what} to {self._url}, {self._trouble.count} so far: {error}")


def _leave_signals_to_others() -> None:
    """Only a signal that reaches the main thread wakes it out of a system call, for its handler to run."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, _OF_THE_PROGRAM)
