# SPDX-License-Identifier: Apache-2.0
"""One report between the call that made it and the wire. D9, D19.

Owns its bytes. Does not own when it is sent.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime, timedelta, timezone
from typing import Optional

from ._wire import Metric, TrainerStatus, TrainJobStatusUpdate
from .metrics import MOST_BODY, Item, Pair, pairs, select

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Report:
    """What waits in the slot."""

    __slots__ = ("eta", "keep", "metrics", "micros", "progress", "urgent")

    def __init__(
        self,
        progress: Optional[int],
        eta: Optional[int],
        metrics: list[Item],
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
    metrics = select(pairs(report.metrics), report.keep, MOST_BODY - len(_body(report, [("", "")])))
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
