# SPDX-License-Identifier: Apache-2.0
"""What all reporters of a process share: who they are, and that their times increase. D19, D26.

Owns what has to change in a forked child. Does not own the other ends of a process.
"""

from __future__ import annotations

import os
import threading
import time


class Process:
    """This process. There is one object for all reporters."""

    def __init__(self) -> None:
        self._last = 0
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        #: Another object in a forked child. Comparing it costs less than to ask for the process id at every call.
        self.identity = object()
        self.id = os.getpid()
        # A lock that another thread holds at a fork stays taken in the child for ever. A signal handler may interrupt
        # the thread that holds it, and call in.
        self._lock = threading.RLock()

    def stamp(self) -> int:
        """Now in microseconds since 1970, later than every time before even if the clock was set back.

        The server takes an older time for an older report.
        """
        with self._lock:
            self._last = stamp_after(self._last, time.time_ns() // 1000)
            return self._last


def stamp_after(before: int, now: int) -> int:
    """The later of now and a microsecond after before."""
    return now if now > before else before + 1


THIS = Process()
