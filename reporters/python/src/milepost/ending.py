# SPDX-License-Identifier: Apache-2.0
"""The ends of a process: exit, signals, fork. D24, D25, D26.

Owns the hooks that exist once per process. Does not own how the last report is sent.
"""

from __future__ import annotations

import atexit
import os
import signal
from types import FrameType
from typing import Optional

from .process import THIS
from .sender import Sender

#: Senders that may have something to send at the end, and whether each of them cares about signals. Its
#: keys are strong: a program may forget its reporter and still wants its last report to arrive.
_live: dict[Sender, bool] = {}

#: Where their default action ends the process. The default of Python for SIGINT is an exception, which
#: leads to the exit hook by itself.
_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_hooked = False


def add(sender: Sender, signals: bool) -> None:
    """Makes a sender known to the ends of the process."""
    global _hooked
    if not _hooked:
        _hooked = True
        atexit.register(_at_exit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_after_fork)
    _live[sender] = signals
    if signals:
        for number in _SIGNALS:
            if _handler(number) == signal.SIG_DFL:
                _handle(number, _on_signal)


def remove(sender: Sender) -> None:
    """Forgets a sender that has ended, and gives signals back with the last of them."""
    _live.pop(sender, None)
    if not any(_live.values()):
        _give_back()


def _give_back() -> None:
    for number in _SIGNALS:
        if _handler(number) is _on_signal:
            _handle(number, signal.SIG_DFL)


def _handler(number: int) -> object:
    try:
        return signal.getsignal(number)
    except (ValueError, OSError):
        return None


def _handle(number: int, handler: object) -> None:
    """Sets a handler. Only the main thread may; elsewhere things stay as they are."""
    try:
        signal.signal(number, handler)  # type: ignore[arg-type]
    except (ValueError, OSError):
        pass


def _flush(senders: list[Sender]) -> None:
    """Flushes all at the same time, so that it takes 5 seconds however many they are."""
    ends = [sender.begin_flush() for sender in senders]
    for sender, end in zip(senders, ends):
        sender.end_flush(end)


def _senders() -> list[Sender]:
    """The senders of this process: none in a child that was forked past Python's knowledge."""
    return list(_live) if THIS.id == os.getpid() else []


def _at_exit() -> None:
    senders = _senders()
    _flush(senders)
    for sender in senders:
        sender.stop()
        remove(sender)


def _on_signal(number: int, _frame: Optional[FrameType]) -> None:
    """Sends the last report, and lets the signal do what it would have done without the reporter."""
    if _handler(number) is not _on_signal:
        return  # called by the handler that took its place, which decides
    _flush(_senders())
    _handle(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    # Process 1 of a container lives on: the kernel keeps signals without handler from it.
    _handle(number, _on_signal)


def _after_fork() -> None:
    """Leaves everything to the parent. A signal ends the child at once, as it would have."""
    _live.clear()
    _give_back()
