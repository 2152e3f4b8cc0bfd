# SPDX-License-Identifier: Apache-2.0
"""Reports what progress bars of tqdm show.

In place of `from tqdm import tqdm, trange`, for the loop over the whole training::

    from milepost.integrations.tqdm import tqdm, trange

    for epoch in trange(10):
        train()

For bars that exist already, also in libraries::

    import milepost.integrations.tqdm

    milepost.integrations.tqdm.patch()

Only the outermost bar reports; a bar that is opened while another one reports does not. What any of them
has as postfix is a metric.
"""

from __future__ import annotations

import atexit
import functools
import sys
import time
import weakref
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Callable, Optional, TypeVar, cast

from tqdm.auto import tqdm as _auto
from tqdm.std import tqdm as _std

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


class _Watch:
    """What is known of the outermost bar."""

    def __init__(self, bar: Any, source: _Source) -> None:
        self.bar = weakref.ref(bar)
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


class _Source:
    """Where bars come from: the class of this module, or the patch."""

    def __init__(self, session: Session, completes: bool) -> None:
        self.session = session
        self.completes = completes  # whether the end of a bar is the end of the training
        self.complete = False  # whether the last bar came to its end


_DROP_IN = _Source(Session("tqdm"), completes=True)


@_quietly
def _opened(bar: Any, source: _Source) -> None:
    """A bar was made."""
    global _outermost
    if (_outermost is not None and _outermost() is not None) or not source.session.begin():
        return
    source.complete = False
    bar._milepost = _Watch(bar, source)
    _outermost = weakref.ref(bar)
    bar._milepost.look(bar.total, now=True)
    if not source.completes:
        _complete_at_exit(source)


@_quietly
def _moved(bar: Any, steps: Any) -> None:
    """A bar was told of steps that are done."""
    watch = getattr(bar, "_milepost", None)
    if watch is not None and not watch.looping:
        watch.done = watch.done + steps if bar.disable else bar.n
        watch.look(bar.total)


@_quietly
def _labelled(texts: Any, values: dict[str, Any]) -> None:
    """A bar, maybe one within the outermost, was given a postfix."""
    outermost = _outermost() if _outermost is not None else None
    if outermost is not None:
        watch = outermost._milepost
        watch.metrics.update(texts or {}, **values)
        watch.look(outermost.total)


@_quietly
def _closed(bar: Any) -> None:
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


def _iterate(bar: Any, items: Iterator[Any]) -> Iterator[Any]:
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


class Reporting:
    """Makes any class of bars report: `class MyBar(Reporting, tqdm.rich.tqdm): pass`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Takes what the class of bars takes."""
        super().__init__(*arguments, **options)
        _opened(self, _DROP_IN)

    def __iter__(self) -> Iterator[Any]:
        return _iterate(self, super().__iter__())  # type: ignore[misc]

    def update(self, n: Any = 1) -> Any:
        """Moves the bar on."""
        shown = super().update(n)  # type: ignore[misc]
        _moved(self, n)
        return shown

    def refresh(self, *arguments: Any, **options: Any) -> Any:
        """Shows the bar as it is."""
        shown = super().refresh(*arguments, **options)  # type: ignore[misc]
        _moved(self, 0)
        return shown

    def close(self) -> None:
        """Ends the bar."""
        super().close()  # type: ignore[misc]
        _closed(self)

    def set_postfix(self, ordered_dict: Any = None, refresh: Any = True, **values: Any) -> None:
        """Shows values behind the bar, and reports them as metrics."""
        super().set_postfix(ordered_dict, refresh, **values)  # type: ignore[misc]
        _labelled(ordered_dict, values)


class tqdm(Reporting, _auto):  # noqa: N801  # the name that programs know
    """The bar of tqdm that suits the terminal or notebook. It reports, and its end completes the training."""


def trange(*arguments: Any, **options: Any) -> tqdm:
    """A bar over a range of numbers."""
    return tqdm(range(*arguments), **options)


class patch:  # noqa: N801  # reads as the function that it is
    """Makes all bars of tqdm report, those of libraries too.

    They report from now on, or within `with patch():`. As no bar says whether more will follow, progress
    comes to 100 % only at the end of the `with` block, or of the program, and only if that is no error and
    the last bar came to its end.
    """

    def __init__(self) -> None:
        """Begins. A patch upon a patch changes nothing."""
        self._source = _Source(Session("tqdm", automatic=True), completes=False)
        self._before = {name: vars(_std)[name] for name in _PATCHES}
        if not any(hasattr(call, "__milepost__") for call in self._before.values()):
            for name, make in _PATCHES.items():
                before = getattr(_std, name)  # which makes a function of what is none yet, as in `self._before`
                call = functools.wraps(before)(make(before, self._source))
                vars(call)["__milepost__"] = True
                setattr(_std, name, call)

    def undo(self) -> None:
        """Ends the patch."""
        for name, call in self._before.items():
            setattr(_std, name, call)

    def __enter__(self) -> patch:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.undo()
        if kind is None:
            _complete(self._source)


def _patched_init(before: Any, source: _Source) -> Any:
    def begin(self: Any, *arguments: Any, **options: Any) -> None:
        before(self, *arguments, **options)
        if not isinstance(self, Reporting):
            _opened(self, source)

    return begin


def _patched_iter(before: Any, _: _Source) -> Any:
    return lambda self: before(self) if isinstance(self, Reporting) else _iterate(self, before(self))


def _patched_update(before: Any, _: _Source) -> Any:
    def update(self: Any, n: Any = 1) -> Any:
        shown = before(self, n)
        if not isinstance(self, Reporting):
            _moved(self, n)
        return shown

    return update


def _patched_refresh(before: Any, _: _Source) -> Any:
    def refresh(self: Any, *arguments: Any, **options: Any) -> Any:
        shown = before(self, *arguments, **options)
        if not isinstance(self, Reporting):
            _moved(self, 0)
        return shown

    return refresh


def _patched_close(before: Any, _: _Source) -> Any:
    def close(self: Any) -> None:
        before(self)
        if not isinstance(self, Reporting):
            _closed(self)

    return close


def _patched_set_postfix(before: Any, _: _Source) -> Any:
    def set_postfix(self: Any, ordered_dict: Any = None, refresh: Any = True, **values: Any) -> None:
        before(self, ordered_dict, refresh, **values)
        if not isinstance(self, Reporting):
            _labelled(ordered_dict, values)

    return set_postfix


#: All classes of bars derive from the one that is patched, and call its methods.
_PATCHES = {
    "__init__": _patched_init,
    "__iter__": _patched_iter,
    "close": _patched_close,
    "refresh": _patched_refresh,
    "set_postfix": _patched_set_postfix,
    "update": _patched_update,
}


def _complete_at_exit(source: _Source) -> None:
    """Once the hook of the reporter is there: the last one that is registered runs first."""
    atexit.unregister(_at_exit)
    atexit.register(_at_exit, source)


@_quietly
def _at_exit(source: _Source) -> None:
    if getattr(sys, "last_value", None) is None:  # no exception ended the program
        _complete(source)


def _complete(source: _Source) -> None:
    """Completes the training if the last bar came to its end, and nobody else reported since."""
    complete, source.complete = source.complete, False
    if complete and source.session.latest and source.session.begin(anew=False):
        source.session.complete()
