# SPDX-License-Identifier: Apache-2.0
"""Who may report in this process: one at a time.

Owns the claim and who gives way to whom. Does not own what is reported.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Optional

from .. import own

if TYPE_CHECKING:
    from ..reporter import Reporter
    from .shared import Session


class Claim:
    """The claim of a process. A session that is forgotten loses it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holder: Optional[weakref.ref[Session]] = None
        self._latest: Optional[weakref.ref[Session]] = None  # the holder, or the one before when there is none
        self.of_a_parent = False  # whether the process that this one was forked from reports
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    @property
    def holder(self) -> Optional[Session]:
        """The session that reports."""
        return self._holder() if self._holder is not None else None

    @property
    def latest(self) -> Optional[Session]:
        """The session that reported last."""
        return self._latest() if self._latest is not None else None

    def take(self, session: Session) -> tuple[str, Optional[Reporter]]:
        """Gives the claim to a session, with the reporter of the one that had it. Else says who keeps it."""
        if own.reporting():
            self.give_back(session)
            return "the program has a reporter of its own", None
        with self._lock:
            holder = self.holder
            if holder is not None and holder is not session and not session.replaces(holder):
                return f"{holder.name} reports already", None
            self._holder = self._latest = weakref.ref(session)
            # One reporter goes on, as a second would have an older value of the first beside it.
            return "", None if holder is None else holder.hand_over()

    def give_back(self, session: Session) -> None:
        """Frees the claim if a session has it."""
        with self._lock:
            if self.holder is session:
                self._holder = None

    def _after_fork(self) -> None:
        self._lock = threading.RLock()  # another thread may have held it
        self.of_a_parent = self.of_a_parent or own.inherited() or self.holder is not None


CLAIM = Claim()
