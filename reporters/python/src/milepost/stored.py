# SPDX-License-Identifier: Apache-2.0
"""The report that the server has stored. D27.

Owns the question and its time limit. Does not own the connection that reports use.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from datetime import datetime
from typing import Optional

from ._wire import TrainJobStatusUpdate
from .answers import TAKEN, Answer, outcome
from .environment import Endpoint


@dataclass(frozen=True)
class Stored:
    """A report as the server holds it. What it does not say is None or empty."""

    progress: Optional[int] = None
    """Percent, 0 to 100."""
    eta: Optional[int] = None
    """Seconds remaining when the report was made."""
    metrics: dict[str, str] = field(default_factory=dict)
    """Texts of metrics by name, in the order of the report."""
    updated: Optional[datetime] = None
    """When the report was made, in UTC and whole seconds."""


def ask(endpoint: Endpoint, limit_scale: float) -> Optional[Stored]:
    """Asks the server, and gives up after 5 seconds even if a name look-up goes on."""
    # Programs that report nothing need not wait for TLS and HTTP to be imported.
    from .connection import Attempt
    from .transport import ATTEMPT_LIMIT, Transport

    limit = ATTEMPT_LIMIT * limit_scale
    attempt = Attempt(limit)
    found: list[Optional[Stored]] = []

    def work() -> None:
        transport = Transport(endpoint)  # that of the worker is in use
        try:
            found.append(read(transport.get(attempt)))
        except Exception:  # there is nothing to go on from, for whatever reason
            pass
        finally:
            transport.close()

    thread = threading.Thread(target=work, name="milepost-stored", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # there are too many threads, or the interpreter ends
        work()
    else:
        thread.join(limit)
    return found[0] if found else None


def read(answer: Answer) -> Optional[Stored]:
    """Reads an answer to GET."""
    if outcome(answer.status) != TAKEN:
        return None
    update = TrainJobStatusUpdate.from_json(json.loads(answer.body))
    if update is None or update.trainer_status is None:
        return None
    status = update.trainer_status
    return Stored(
        progress=status.progress_percentage,
        eta=status.estimated_remaining_seconds,
        metrics={metric.name: metric.value for metric in status.metrics},
        updated=_time(status.last_updated_time),
    )


def _time(text: Optional[str]) -> Optional[datetime]:
    """Reads a time. Python knows Z for UTC from 3.11 on only."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None
    except ValueError:
        return None
