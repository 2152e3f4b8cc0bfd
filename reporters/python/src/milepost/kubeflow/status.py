# SPDX-License-Identifier: Apache-2.0
"""`update_trainjob_status` with the signature of the Kubeflow SDK, sent by a reporter.

Owns when the process gets that reporter, and what the returned value means. Does not own how a report is sent.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any, Optional

from .. import environment, own
from ..lines import FAULTS, WARNING, Lines
from ..reporter import Reporter, Settings


class OnFirstUse:
    """The reporter of this process, made by the first call that finds an endpoint.

    A forked child that calls gets one of its own: whoever calls a function that reports wants to report.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._reporter: Optional[Reporter] = None
        # Another thread may hold it at a fork. A signal handler may interrupt its holder, and call in.
        self._lock = threading.RLock()

    def reporter(self) -> Optional[Reporter]:
        """The reporter. None outside a TrainJob, where the SDK says nothing, and while there is no token file."""
        if self._reporter is None:
            if not os.environ.get(environment.URL) or not _token_is_there():
                return None
            with self._lock:
                if self._reporter is None:
                    self._reporter = Reporter(self._settings)
                    own.note(self._reporter)  # callbacks that register themselves are silent then
        return self._reporter


def _token_is_there() -> bool:
    """Whether the file is there that the environment names. That it names none is for the reporter to say."""
    name = os.environ.get(environment.TOKEN)
    if not name or os.path.exists(name):
        return True
    line = f"nothing is reported as long as there is no token file {name}"
    if FAULTS.first(line):
        Lines().write(WARNING, line)
    return False


SHARED = OnFirstUse(Settings())


def update_trainjob_status(
    progress_percent: Optional[float] = None,
    estimated_remaining_seconds: Optional[float] = None,
    metrics: Optional[Mapping[str, Any]] = None,
) -> bool:
    """Reports the progress of the training, and returns at once. Never raises.

    A report replaces the one before; what it leaves out becomes unknown. Reports leave in the background: the first
    and a first 100 at once, others every 5 seconds, the newest of those that wait. One that does not get through is
    sent again. At the end of the program the last one is sent, for at most 5 seconds.

    Args:
        progress_percent: Percent, 0 to 100. Fractions are dropped.
        estimated_remaining_seconds: Seconds until the training is complete. Fractions are dropped.
        metrics: Numbers, booleans and text by name, as for :meth:`milepost.Reporter.report`.

    Returns:
        Whether this process sends the report, or a newer one in its place: nobody need call again for it. It does
        not say that the server has stored it, as that would take until the server has answered. False outside a
        TrainJob, on other ranks than 0, and while the token file is missing: then nothing is sent.
    """
    reporter = SHARED.reporter()
    if reporter is None or not reporter.active:
        return False
    reporter.report(progress=progress_percent, eta=estimated_remaining_seconds, metrics=metrics)
    return True
