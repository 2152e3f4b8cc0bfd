# SPDX-License-Identifier: Apache-2.0
"""Log lines: few, harmless, and never with a token in them.

Owns how a line is written, and what is remembered so as to say it once. Does not own what is said.
"""

from __future__ import annotations

import logging
from typing import Callable, Optional

#: What gets log lines: a level of the module logging and one line of text.
Log = Callable[[int, str], object]

DEBUG, INFO, WARNING, ERROR = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR

#: How many things are remembered to say them once. Beyond it nothing new is said, so that names
#: which change at every step fill neither memory nor the log. D21.
REMEMBERED = 1000

#: Code points of somebody else's text that a line repeats.
MOST_TEXT = 300

_logger = logging.getLogger("milepost")


class Lines:
    """Writes lines to the callback of the program, else to the logger `milepost`."""

    def __init__(self, to: Optional[Log] = None) -> None:
        self._to: Log = to if callable(to) else _to_logger

    def write(self, level: int, message: str) -> None:
        """Writes one line. A callback that fails is ignored. D3."""
        try:
            self._to(level, "milepost: " + message)
        except Exception:  # nothing a log does may reach the training
            pass


def _to_logger(level: int, message: str) -> None:
    _logger.log(level, "%s", message)


class Once:
    """Remembers for the life of the process what was said.

    There is no lock: a signal handler or a forked child could find it taken. A dictionary is enough,
    because `setdefault` happens at once.
    """

    def __init__(self) -> None:
        self._said: dict[str, object] = {}

    def first(self, key: str) -> bool:
        """Whether this is the first time, and there is room to remember it."""
        if key in self._said or len(self._said) >= REMEMBERED:
            return False
        mark = object()
        return self._said.setdefault(key, mark) is mark


#: What all reporters of the process said about metrics, about warnings of the server, and about
#: calls that went wrong.
METRICS, WARNINGS, FAULTS = Once(), Once(), Once()


class Trouble:
    """Decides which failures get a line: the first of a kind, one a minute, and the end. D21."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._last: dict[str, float] = {}  # when a kind got its last line
        self.count = 0  # failures since the last success

    def add(self, kind: str, now: float) -> bool:
        """Notes a failure and tells whether it gets a line."""
        self.count += 1
        last = self._last.get(kind)
        if last is not None and now - last < self._every:
            return False
        self._last[kind] = now
        return True

    def end(self) -> int:
        """Notes a success and returns how many failures came before it."""
        count, self.count = self.count, 0
        self._last.clear()
        return count


def cut(text: str, most: int = MOST_TEXT) -> str:
    """Shortens a text to a number of code points and puts it on one line."""
    return "".join(" " if sign < " " or sign == "\x7f" else sign for sign in text[:most])
