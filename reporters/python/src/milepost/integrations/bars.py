# SPDX-License-Identifier: Apache-2.0
"""What is reported of a bar of tqdm, whatever its class.

Owns which bar reports, how far it is, and when it is through. Does not own how a bar comes to call in here.
"""

from __future__ import annotations

import atexit
import functools
import sys
import time
import weakref
from collections.abc import Iterator
from typing import Any, Callable, Optional, TypeVar, cast

from ..guard import explain
from ..lines import Lines
from .shared import Session

#: Seconds between two looks at a bar. Loops over bars are fast, and most reports would be replaced at once.
_PAUSE = 0.05

_Call = TypeVar("_Call", bound=Callable[..., Any])

_lines = Lines()

#: The bar that reports.
_outermost: Optional[weakref.ref[Any]] = None


def _quietly(call: _Call) -> _Call:
    """Keeps what goes wrong in a look at a bar from the program."""

    @functools.wraps(call)
    def guarded(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as fault:
            explain(_lines, f"tqdm {call.__name__}", fault)
            return None

    return cast(_Call, guarded)


class Watch:
    """What is known of the outermost bar."""

    def __init__(self, bar: Any, source: Source) -> None:
        self.source = source
        self.done = bar.n  # bars that show nothing do not count
        self.looping = False  # the loop over the bar counts
        self.metrics: dict[str, Any] = {}
        self._next = 0.0

    def look(self, total: Any, now: bool = False) -> None:
        """Reports how far the bar is, if the last time was not just before."""
        moment = time.monotonic()
        if not now and moment < self._next:
            return
        self._next = moment + _PAUSE
        metrics, self.metrics = self.metrics, {}
        self.source.session.report(self.done, total or None, metrics)


class Source:
    """Where bars come from: a class in place of that of tqdm, or the patch."""

    def __init__(self, session: Session, completes: bool) -> None:
        self.session = session
        self.completes = completes  # whether the end of a bar is the end of the training
        self.complete = False  # whether the last bar came to its end


@_quietly
def opened(bar: Any, source: Source) -> None:
    """A bar was made."""
    global _outermost
    if (_outermost is not None and _outermost() is not None) or not source.session.begin():
        return
    source.complete = False
    bar._milepost = Watch(bar, source)
    _outermost = weakref.ref(bar)
    bar._milepost.look(bar.total, now=True)
    if not source.completes:
        _complete_at_exit(source)


@_quietly
def moved(bar: Any, steps: Any) -> None:
    """A bar was told of steps that are done."""
    watch = getattr(bar, "_milepost", None)
    if watch is not None and not watch.looping:
        watch.done = watch.done + steps if bar.disable else bar.n
        watch.look(bar.total)


@_quietly
def labelled(texts: Any, values: dict[str, Any]) -> None:
    """A bar, maybe one within the outermost, was given a postfix."""
    outermost = _outermost() if _outermost is not None else None
    if outermost is not None:
        watch = outermost._milepost
        watch.metrics.update(texts or {}, **values)
        watch.look(outermost.total)


@_quietly
def closed(bar: Any) -> None:
    """A bar was closed. One that is looped over ends with its loop."""
    watch = getattr(bar, "_milepost", None)
    if watch is not None and not watch.looping:
        _ended(bar, bar.total is not None and watch.done >= bar.total > 0)


@_quietly
def _ended(bar: Any, complete: bool) -> None:
    """The outermost bar is through. The last report stays as it is unless the bar came to its end."""
    global _outermost
    watch, bar._milepost = bar._milepost, None
    _outermost = None
    source = watch.source
    source.complete = complete
    watch.look(bar.total, now=True)
    source.session.pause(complete=complete and source.completes)


def iterate(bar: Any, items: Iterator[Any]) -> Iterator[Any]:
    """Passes items through. How many the loop is done with, a bar itself knows now and then only."""
    watch = getattr(bar, "_milepost", None)
    if watch is None or watch.looping:
        yield from items
        return
    watch.looping = True
    complete = False
    try:
        for item in items:
            yield item
            watch.done += 1
            watch.look(bar.total)
        complete = True
    finally:
        watch.looping = False
        if bar._milepost is watch:
            _ended(bar, complete)


def _complete_at_exit(source: Source) -> None:
    """Once the hook of the reporter is there: the last one that is registered runs first."""
    atexit.unregister(_at_exit)
    atexit.register(_at_exit, source)


@_quietly
def _at_exit(source: Source) -> None:
    if getattr(sys, "last_value", None) is None:  # no exception ended the program
        complete(source)


def complete(source: Source) -> None:
    """Completes the training if the last bar came to its end, and nobody else reported since."""
    was_complete, source.complete = source.complete, False
    if was_complete and source.session.latest and source.session.begin(anew=False):
        source.session.complete()
