# SPDX-License-Identifier: Apache-2.0
"""Reports the progress of a training program to Milepost.

Inside a TrainJob, :func:`start` finds everything it needs in the environment. Anywhere else, and on every
rank but 0, the reporter does nothing, so the same program runs on a laptop::

    import milepost

    with milepost.start() as m:
        for step in range(total):
            loss = train(step)
            m.report(step + 1, total, {"loss": loss})
        m.complete()

No call raises or waits for the network, except the ones that end reporting: they wait at most 5 seconds
for the last report to arrive.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Callable, Optional, TypeVar, Union

from . import own
from .lines import Log
from .reporter import Metrics, Reporter, Settings
from .stored import Stored
from .version import VERSION as __version__

__all__ = ["Reporter", "Stored", "__version__", "start", "track"]

_T = TypeVar("_T")


def start(
    *,
    rank: Optional[int] = None,
    interval: float = 5.0,
    log: Optional[Log] = None,
    signals: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> Reporter:
    """Makes a reporter from the environment.

    Outside a TrainJob, and on other ranks than 0, it does nothing, and one log line says why.

    Args:
        rank: The global rank of this process, in place of what the environment says. Only 0 reports.
        interval: The least seconds between the starts of two reports that arrive.
        log: Gets log lines, called with a level of the module `logging` and a text. The logger
            `milepost` gets them by default.
        signals: Whether the last report is sent when SIGTERM ends the program. A handler of the
            program wins in any case.
        clock: Seconds of a clock that never goes back, for the estimate of the time remaining.
    """
    reporter = Reporter(Settings(rank=rank, interval=interval, log=log, signals=signals, clock=clock))
    own.note(reporter)
    return reporter


def track(
    items: Iterable[_T],
    total: Optional[float] = None,
    metrics: Union[Metrics, Callable[[], Metrics], None] = None,
) -> Iterator[_T]:
    """Loops over items with a reporter of its own. See :meth:`Reporter.track`.

    The reporter starts with the first item.
    """
    yield from start().track(items, total, metrics)
