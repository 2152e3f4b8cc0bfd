# SPDX-License-Identifier: Apache-2.0
"""One report between the call that made it and the wire. D9, D19.

Owns its bytes and its time. Does not own when it is sent.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Collection
from datetime import datetime, timedelta, timezone
from typing import Optional

from ._wire import Metric, TrainerStatus, TrainJobStatusUpdate
from .metrics import MOST_BODY, Pair, select

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Report:
    """What waits in the slot."""

    __slots__ = ("eta", "keep", "metrics", "micros", "progress", "urgent")

    def __init__(
        self,
        progress: Optional[int],
        eta: Optional[int],
        metrics: list[Pair],
        keep: Collection[str],
        micros: int,
        urgent: bool = False,
    ) -> None:
        self.progress = progress
        self.eta = eta
        self.metrics = metrics
        self.keep = keep
        self.micros = micros  # time of the call, since 1970
        self.urgent = urgent  # skips the interval


def encode(report: Report) -> tuple[bytes, int]:
    """The body of a report, and how many metrics had no place in it."""
    metrics = select(report.metrics, report.keep, MOST_BODY - len(_body(report, [("", "")])))
    return _body(report, metrics), len(report.metrics) - len(metrics)


def _body(report: Report, metrics: list[Pair]) -> bytes:
    status = TrainerStatus(
        progress_percentage=report.progress,
        estimated_remaining_seconds=report.eta,
        metrics=tuple(Metric(name, value) for name, value in metrics),
        last_updated_time=time_text(report.micros),
    )
    update = TrainJobStatusUpdate(trainer_status=status).to_json()
    return json.dumps(update, ensure_ascii=False, separators=(",", ":")).encode()


def time_text(micros: int) -> str:
    """The text of a time in microseconds since 1970."""
    return (_EPOCH + timedelta(microseconds=micros)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Stamps:
    """Times of reports, each later than the one before, even if the clock is set back.

    The server takes an older time for an older report. All reporters of a process share one of these.
    """

    def __init__(self) -> None:
        self._last = 0
        self._new_lock()
        if hasattr(os, "register_at_fork"):
            # A lock that another thread holds at a fork stays taken in the child for ever.
            os.register_at_fork(after_in_child=self._new_lock)

    def _new_lock(self) -> None:
        self._lock = threading.RLock()  # a signal handler may interrupt who holds it

    def next(self) -> int:
        """Now, or a microsecond after the last one."""
        with self._lock:
            self._last = stamp_after(self._last, time.time_ns() // 1000)
            return self._last


def stamp_after(before: int, now: int) -> int:
    """The later of now and a microsecond after before."""
    return max(now, before + 1)


STAMPS = Stamps()
