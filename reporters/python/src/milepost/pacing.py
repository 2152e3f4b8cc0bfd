# SPDX-License-Identifier: Apache-2.0
"""When the next attempt may begin. D12, D13.

Owns the interval, the back-off and what a server asks for. Does not own clocks and threads.
"""

from __future__ import annotations

import math
import random
import re
import time
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import Callable, Optional

from .environment import whole_number
from .values import number_of

DEFAULT_INTERVAL = 5.0
FIRST_BACKOFF = 1.0
MOST_BACKOFF = 60.0
MOST_RETRY_AFTER = 300.0

#: Longer intervals are as good as endless, and clocks of the platform cannot wait for all of them.
_MOST_INTERVAL = 1e9

#: HTTP dates begin with the name of a day.
_DATE = re.compile(r"[A-Z][a-z]{2,8},? .*\d\d:\d\d:\d\d")


class Pacing:
    """Only a success starts the interval, so a failure delays a report by the back-off alone."""

    def __init__(self, interval: float, scale: float = 1.0, chance: Callable[[], float] = random.random) -> None:
        self._interval = interval * scale
        self._scale = scale
        self._chance = chance
        self._failures = 0  # in a row
        self._paced = -math.inf  # not before this, unless the report is urgent
        self._backoff = -math.inf  # not before this, unless reporting ends

    def due(self, urgent: bool) -> float:
        """The earliest time for the next attempt."""
        return self._backoff if urgent else max(self._backoff, self._paced)

    def settled(self, start: float) -> None:
        """Notes that the server took or refused a report in an attempt that began at start."""
        self._failures, self._backoff, self._paced = 0, -math.inf, start + self._interval

    def failed(self, end: float, asked: Optional[float] = None) -> None:
        """Notes a failure at end, and for how many seconds the server wants to be left alone."""
        self._failures += 1
        wait = backoff(self._failures, self._chance())
        self._backoff = end + max(wait, asked or 0.0) * self._scale


def backoff(failures: int, chance: float) -> float:
    """Seconds to wait after a number of failures in a row. The chance is between 0 and 1. D13."""
    doublings = min(failures - 1, 6)
    return min(FIRST_BACKOFF * (1 << doublings), MOST_BACKOFF) * (0.5 + 0.5 * chance)


def retry_after(header: Optional[str], now: Optional[float] = None) -> Optional[float]:
    """Seconds that a Retry-After header asks for: whole ones or a date. None for anything else."""
    if header is None:
        return None
    digits = whole_number(header)
    if digits is not None:
        return MOST_RETRY_AFTER if len(digits) > 3 else min(float(digits), MOST_RETRY_AFTER)
    if not _DATE.match(header.strip()):
        return None
    try:
        date = parsedate_to_datetime(header)
        then = (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(0.0, then - (time.time() if now is None else now)), MOST_RETRY_AFTER)


def seconds_between(interval: object) -> float:
    """The interval that a program chose, the default when it is no number. Below 0 counts as 0."""
    number = number_of(interval)
    if number is None or number != number:
        return DEFAULT_INTERVAL
    return float(min(max(number, 0), _MOST_INTERVAL))
