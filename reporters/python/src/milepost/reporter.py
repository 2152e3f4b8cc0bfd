# SPDX-License-Identifier: Apache-2.0
"""The reporter: what a training program calls.

Owns the order of things between a call and the slot of the sender. Does not own when and how a report
is sent. D1, D2 and so on in comments refer to BEHAVIOUR.md, which says what every reporter does.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, Union

from . import environment
from ._wire import TRAINER_STATUS_PROGRESS_PERCENTAGE_MAXIMUM as COMPLETE
from .guard import explain, harmless, text_of
from .lines import ERROR, INFO, METRICS, WARNING, Lines, Log, cut
from .metrics import Collected, kept_names
from .pacing import DEFAULT_INTERVAL, seconds_between
from .process import THIS
from .progress import Progress
from .slot import Report
from .values import number_of

if TYPE_CHECKING:
    from .sender import Scales, Sender
    from .stored import Stored

_T = TypeVar("_T")

_NO_NAMES: tuple[str, ...] = ()

#: Metrics of a report: numbers, booleans and text by name. Maps in it are flattened.
Metrics = Mapping[str, Any]


@dataclass(frozen=True)
class Settings:
    """What :func:`milepost.start` was told."""

    rank: Optional[int] = None
    interval: float = DEFAULT_INTERVAL
    log: Optional[Log] = None
    signals: bool = True
    clock: Callable[[], float] = time.monotonic
    scales: Optional[Scales] = None


class Reporter:
    """Reports for this process. Made by :func:`milepost.start`.

    Every method may be called from any thread, at any time, with any arguments. None of them raises.
    """

    def __init__(self, settings: Settings) -> None:
        """Use :func:`milepost.start` instead."""
        self._lines = Lines(settings.log)
        self._clock = settings.clock
        self._sender: Optional[Sender] = None  # None when nothing is reported
        self._process = THIS.identity
        # A signal handler may call in while this thread holds the lock.
        self._lock = threading.RLock()
        self._progress = Progress()
        self._last = Collected()  # metrics of the last report, for complete
        self._keep: Collection[str] = ()  # and its marks
        self._percent: Optional[int] = None  # and its progress
        self._ended = False
        self._ignored = False  # whether a report after the end was logged
        try:
            self._begin(settings)
        except Exception as fault:
            explain(self._lines, "start", fault)

    def _begin(self, settings: Settings) -> None:
        endpoint, problems = environment.read(os.environ)
        if endpoint is None:
            self._lines.write(WARNING, f"nothing is reported outside a TrainJob: {problems}")
            return
        other = environment.other_rank(os.environ, _rank(settings.rank))
        if other:
            self._lines.write(INFO, f"nothing is reported by this rank: {other}")
            return
        # Programs that report nothing need not wait for TLS and HTTP to be imported.
        from . import ending
        from .sender import Scales, Sender

        self._endpoint = endpoint
        self._scales = settings.scales or Scales()
        self._end_of_process = ending
        sender = Sender(endpoint, self._lines, seconds_between(settings.interval), self._scales)
        ending.add(sender, bool(settings.signals))
        self._sender = sender

    @property
    def active(self) -> bool:
        """Whether this reporter sends anything: inside a TrainJob, on rank 0, and not in a forked child."""
        return self._sender is not None and self._process is THIS.identity and THIS.id == os.getpid()

    @property
    def ended(self) -> bool:
        """Whether reporting has ended, by :meth:`complete`, :meth:`fail` or :meth:`close`."""
        return self._ended

    @harmless
    def report(
        self,
        step: Optional[float] = None,
        total: Optional[float] = None,
        metrics: Optional[Metrics] = None,
        *,
        progress: Optional[float] = None,
        eta: Optional[float] = None,
        keep: Union[str, Iterable[str]] = _NO_NAMES,
    ) -> None:
        """Stores what the training has to say and returns at once.

        A worker sends the newest report in the background: the first at once, later ones every 5
        seconds. A report replaces the one before; what it leaves out becomes unknown.

        Args:
            step: Steps that are done. Progress and time remaining follow from it, and end at 99 %.
            total: Steps of the whole training. Without it, or with 0 or less, both are unknown.
            metrics: Numbers, booleans or text by name. Tensors and scalars with one element are
                numbers. Maps are flattened, with names joined by `/`. Names and texts have 1 to 64
                characters; what cannot be sent is left out, with one log line per name.
            progress: Percent, 0 to 100, in place of what step says. 100 says that the training is
                complete.
            eta: Seconds remaining, in place of the estimate.
            keep: Names of metrics that must stay when there are more than 256.
        """
        if self._sender is None or self._process is not THIS.identity:
            return
        collected = Collected(metrics)
        marked = _NO_NAMES if keep is _NO_NAMES else kept_names(keep)
        with self._lock:
            if self._ended:
                self._ignore()
                return
            percent, seconds = self._progress.numbers(self._now(), step, total, progress, eta)
            urgent = percent == COMPLETE != self._percent
            self._percent = percent
            self._last, self._keep = collected, marked
            self._store(percent, seconds, urgent)
        if collected.unfit:
            self._name_unfit(collected.unfit)

    @harmless
    def complete(self, metrics: Optional[Metrics] = None, *, keep: Union[str, Iterable[str]] = _NO_NAMES) -> None:
        """Reports that the training is complete: 100 % and no time remaining.

        Waits at most 5 seconds for the report to arrive. Later reports are ignored.

        Args:
            metrics: The final metrics. Without them those of the last report are sent again.
            keep: Names of metrics that must stay when there are more than 256.
        """
        if not self.active:
            return
        collected = Collected(metrics)
        with self._lock:
            if self._ended:
                return
            self._ended = True
            if collected.items:
                self._last, self._keep = collected, kept_names(keep)
            self._store(COMPLETE, 0, urgent=True)
        if collected.unfit:
            self._name_unfit(collected.unfit)
        self._close()

    @harmless
    def fail(self, message: object = None) -> None:
        """Ends reporting without completion: the last report is sent as it is.

        Waits at most 5 seconds for it to arrive.

        Args:
            message: Why the training failed, a text or an exception. It goes to the log.
        """
        if self._end():
            if message is not None:
                self._lines.write(ERROR, f"the training failed: {text_of(message)}")
            self._close()

    @harmless
    def close(self) -> None:
        """Ends reporting, and waits at most 5 seconds for the last report to arrive.

        This is no completion: only :meth:`complete` says that the training is complete. The end of a
        `with` block and the end of the program do the same.
        """
        if self._end():
            self._close()

    @harmless
    def stored(self) -> Optional[Stored]:
        """Asks the server for the report that is stored, so that a restarted training can go on from it.

        Waits at most 5 seconds. None when nothing is stored, when nothing could be learned, and when
        this reporter reports nothing.
        """
        if not self.active or sys.is_finalizing():  # when modules are taken apart, it is too late to ask
            return None
        from .stored import ask

        return ask(self._endpoint, self._scales.limit)

    def track(
        self,
        items: Iterable[_T],
        total: Optional[float] = None,
        metrics: Union[Metrics, Callable[[], Metrics], None] = None,
    ) -> Iterator[_T]:
        """Passes items through, and reports how many of them the loop is done with.

        At the normal end of the loop the training is complete. After a break or an exception it is
        not, and the last report stays as it is.

        Args:
            items: What to loop over.
            total: How many items there are. Their length by default, where they have one.
            metrics: Metrics for every report, or something that returns them.
        """
        if total is None:
            total = _length(items)
        self.report(0, total)
        for done, item in enumerate(items, 1):
            yield item
            self.report(done, total, self._metrics_of(metrics))
        self.complete()

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        # An exception goes its own way; the last report stays as it is in any case. D23.
        self.close()

    def __reduce__(self) -> tuple[Callable[[], Reporter], tuple[()]]:
        """Reporters that travel to another process with the objects of a training do nothing there."""
        return silent, ()

    def __copy__(self) -> Reporter:
        return self

    def __deepcopy__(self, memo: object) -> Reporter:
        return self

    # Parts of the calls above.

    def _now(self) -> Optional[float]:
        """The time for the rate of steps. None when the clock of the program gives none."""
        try:
            return number_of(self._clock())
        except Exception:
            return None

    def _store(self, percent: Optional[int], seconds: Optional[int], urgent: bool) -> None:
        """Puts a report into the slot. The caller holds the lock."""
        if self._sender is not None:
            self._sender.put(Report(percent, seconds, self._last.items, self._keep, THIS.stamp(), urgent))

    def _end(self) -> bool:
        """Whether this is the first of the calls that end reporting."""
        if not self.active:
            return False
        with self._lock:
            first, self._ended = not self._ended, True
        return first

    def _close(self) -> None:
        """Sends what is left, and gives up what the reporter holds."""
        if self._sender is not None:
            self._sender.close()
            self._end_of_process.remove(self._sender)

    def _ignore(self) -> None:
        first, self._ignored = not self._ignored, True
        if first:
            self._lines.write(WARNING, "reports after the end of reporting are ignored")

    def _name_unfit(self, names: list[str]) -> None:
        """Says once per name that a metric was left out. D7."""
        for name in names:
            name = cut(name, 64)
            if METRICS.first("metric " + name):
                self._lines.write(
                    WARNING,
                    f"a metric is left out, as its value is no number, boolean or text, or its name or text "
                    f"does not have 1 to 64 characters: {name}",
                )

    def _metrics_of(self, metrics: Union[Metrics, Callable[[], Metrics], None]) -> Optional[Metrics]:
        if not callable(metrics):
            return metrics
        try:
            return metrics()
        except Exception as fault:
            explain(self._lines, "metrics", fault)
            return None


class _Silent(Reporter):
    """Does nothing and says nothing."""

    def _begin(self, settings: Settings) -> None:
        pass


def silent() -> Reporter:
    """A reporter that does nothing."""
    return _Silent(Settings())


def _rank(option: object) -> Optional[int]:
    """The explicit rank, None when there is none that can be read."""
    try:
        return None if option is None else int(option)  # type: ignore[call-overload]
    except Exception:
        return None


def _length(items: object) -> Optional[int]:
    try:
        return len(items)  # type: ignore[arg-type]
    except Exception:  # streams have none
        return None
