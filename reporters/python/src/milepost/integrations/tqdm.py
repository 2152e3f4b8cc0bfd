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

import functools
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Optional

from tqdm.auto import tqdm as _auto
from tqdm.std import tqdm as _std

from .bars import Source, closed, complete, iterate, labelled, moved, opened
from .shared import Session

_DROP_IN = Source(Session("tqdm"), completes=True)


class Reporting:
    """Makes any class of bars report: `class MyBar(Reporting, tqdm.rich.tqdm): pass`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Takes what the class of bars takes."""
        super().__init__(*arguments, **options)
        opened(self, _DROP_IN)

    def __iter__(self) -> Iterator[Any]:
        return iterate(self, super().__iter__())  # type: ignore[misc]

    def update(self, n: Any = 1) -> Any:
        """Moves the bar on."""
        shown = super().update(n)  # type: ignore[misc]
        moved(self, n)
        return shown

    def refresh(self, *arguments: Any, **options: Any) -> Any:
        """Shows the bar as it is."""
        shown = super().refresh(*arguments, **options)  # type: ignore[misc]
        moved(self, 0)
        return shown

    def close(self) -> None:
        """Ends the bar."""
        super().close()  # type: ignore[misc]
        closed(self)

    def set_postfix(self, ordered_dict: Any = None, refresh: Any = True, **values: Any) -> None:
        """Shows values behind the bar, and reports them as metrics."""
        super().set_postfix(ordered_dict, refresh, **values)  # type: ignore[misc]
        labelled(ordered_dict, values)


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
        self._source = Source(Session("tqdm", automatic=True), completes=False)
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
            complete(self._source)


def _patched_init(before: Any, source: Source) -> Any:
    def begin(self: Any, *arguments: Any, **options: Any) -> None:
        before(self, *arguments, **options)
        if not isinstance(self, Reporting):
            opened(self, source)

    return begin


def _patched_iter(before: Any, _: Source) -> Any:
    return lambda self: before(self) if isinstance(self, Reporting) else iterate(self, before(self))


def _patched_update(before: Any, _: Source) -> Any:
    def update(self: Any, n: Any = 1) -> Any:
        shown = before(self, n)
        if not isinstance(self, Reporting):
            moved(self, n)
        return shown

    return update


def _patched_refresh(before: Any, _: Source) -> Any:
    def refresh(self: Any, *arguments: Any, **options: Any) -> Any:
        shown = before(self, *arguments, **options)
        if not isinstance(self, Reporting):
            moved(self, 0)
        return shown

    return refresh


def _patched_close(before: Any, _: Source) -> Any:
    def close(self: Any) -> None:
        before(self)
        if not isinstance(self, Reporting):
            closed(self)

    return close


def _patched_set_postfix(before: Any, _: Source) -> Any:
    def set_postfix(self: Any, ordered_dict: Any = None, refresh: Any = True, **values: Any) -> None:
        before(self, ordered_dict, refresh, **values)
        if not isinstance(self, Reporting):
            labelled(ordered_dict, values)

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
