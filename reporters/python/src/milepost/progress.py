# SPDX-License-Identifier: Apache-2.0
"""Progress and time remaining, from steps or as the program says. D4, D5, D6.

Owns the rate of steps of this process. Does not own the clock.
"""

from __future__ import annotations

import math
from typing import Optional

from ._wire import TRAINER_STATUS_PROGRESS_PERCENTAGE_MAXIMUM as COMPLETE
from .values import Number, number_of

#: As far as steps lead: only the program knows that it is complete.
MOST_COMPUTED = COMPLETE - 1

MOST_SECONDS = 2**31 - 1

#: Seconds in which old steps lose weight in the rate.
MEMORY = 60.0


class Rate:
    """The smoothed speed of this process, from its own steps only.

    After a resume the step counter is high and the process is young, so a rate over all steps would
    be far too fast. D6.
    """

    def __init__(self) -> None:
        self._last: Optional[tuple[float, Number]] = None  # time and step of the last sample
        self._time = 0.0  # weighted seconds
        self._steps = 0.0  # weighted steps

    def add(self, now: float, step: Number) -> None:
        """Notes that the training is at a step at a time of a clock that never goes back."""
        if self._last is not None:
            steps = step - self._last[1]
            if steps == 0:
                return
            if steps > 0:
                passed = max(0.0, now - self._last[0])
                weight = math.exp(-passed / MEMORY)
                self._time = self._time * weight + passed
                self._steps = self._steps * weight + steps
            else:  # a resume within the process
                self._time = self._steps = 0.0
        self._last = now, step

    def remaining(self, step: Number, total: Number) -> Optional[int]:
        """Estimates the seconds until total, None as long as nothing is known."""
        if self._steps <= 0 or self._time <= 0:
            return None
        return _whole_seconds(max(0, total - step) * self._time / self._steps + 0.5)


def computed_progress(step: Number, total: Number) -> int:
    """The progress that steps show. The total is above 0. D4."""
    if step <= 0:
        return 0
    if step >= total:
        return MOST_COMPUTED
    if isinstance(step, int) and isinstance(total, int):
        return step * 100 // total
    return min(MOST_COMPUTED, math.floor(step * 100 / total))


def explicit_progress(percent: object) -> Optional[int]:
    """The progress that the program states. None when that is no number. D4."""
    number = number_of(percent)
    if number is None or number != number:
        return None
    return int(min(max(number, 0), COMPLETE))


def explicit_seconds(seconds: object) -> Optional[int]:
    """The time remaining that the program states. None when that is unknown. D6."""
    number = number_of(seconds)
    if number is None or number != number or number == math.inf:
        return None
    return _whole_seconds(number)


def _whole_seconds(seconds: Number) -> int:
    return int(min(max(seconds, 0), MOST_SECONDS))


def known(value: object) -> Optional[Number]:
    """A step or a total as a number that one can count with. None when it is none."""
    number = number_of(value)
    return None if isinstance(number, float) and not math.isfinite(number) else number


class Progress:
    """Turns the arguments of one report after the other into what is sent."""

    def __init__(self) -> None:
        self._rate = Rate()

    def numbers(
        self, now: Optional[float], step: object, total: object, progress: object, eta: object
    ) -> tuple[Optional[int], Optional[int]]:
        """Progress and time remaining. A time of None leaves the rate alone. Explicit ones win."""
        percent, seconds = self._from_steps(now, known(step), known(total))
        if progress is not None:
            percent = explicit_progress(progress)
            if percent == COMPLETE:
                seconds = 0
        if eta is not None:
            seconds = explicit_seconds(eta)
        return percent, seconds

    def _from_steps(
        self, now: Optional[float], step: Optional[Number], total: Optional[Number]
    ) -> tuple[Optional[int], Optional[int]]:
        if step is None:
            return None, None
        try:
            if now is not None:
                self._rate.add(now, step)
            if total is None or total <= 0:
                return None, None
            return computed_progress(step, total), self._rate.remaining(step, total)
        except OverflowError:  # whole numbers may be larger than any float
            return None, None
