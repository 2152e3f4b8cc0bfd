# SPDX-License-Identifier: Apache-2.0
"""Keeps what goes wrong in a call from the training. D3.

Owns the last line of defence. Does not own the checks of arguments, which come before it.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Protocol, TypeVar, cast

from .lines import FAULTS, WARNING, Lines, cut

_Call = TypeVar("_Call", bound=Callable[..., Any])


class Guarded(Protocol):
    """Has somewhere to say that a call went wrong."""

    _lines: Lines


def harmless(call: _Call) -> _Call:
    """Makes a method return None where it would raise, wrong arguments included."""

    @functools.wraps(call)
    def guarded(self: Guarded, *arguments: object, **options: object) -> object:
        try:
            return call(self, *arguments, **options)
        except Exception as fault:
            explain(self._lines, call.__name__, fault)
            return None

    return cast(_Call, guarded)


def explain(lines: Lines, call: str, fault: Exception) -> None:
    """Says once what went wrong in a call."""
    line = f"{call} went wrong, and the training goes on: {type(fault).__name__}: {text_of(fault)}"
    if FAULTS.first(line):
        lines.write(WARNING, line)


def text_of(value: object) -> str:
    """A text of somebody else's on one line. Never raises."""
    try:
        return cut(str(value)) or type(value).__name__
    except Exception:
        return type(value).__name__
