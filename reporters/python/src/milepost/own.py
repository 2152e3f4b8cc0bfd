# SPDX-License-Identifier: Apache-2.0
"""The reporters that the program itself started.

Owns the answer to whether there is one now. Integrations are silent then: the program knows better.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .reporter import Reporter

_started: list[weakref.ref[Reporter]] = []  # replaced as a whole, so that no lock is needed to read it


def note(reporter: Reporter) -> None:
    """Remembers a reporter that the program started."""
    global _started
    _started = [*(known for known in _started if _reports(known())), weakref.ref(reporter)]


def reporting() -> bool:
    """Whether the program reports by itself now."""
    return any(_reports(reporter) for reporter in _all())


def inherited() -> bool:
    """Whether the process that this one was just forked from reports by itself."""
    return any(reporter is not None and reporter._sender is not None and not reporter.ended for reporter in _all())


def _all() -> list[Reporter | None]:
    return [known() for known in _started]


def _reports(reporter: Reporter | None) -> bool:
    return reporter is not None and reporter.active and not reporter.ended
