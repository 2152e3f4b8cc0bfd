# SPDX-License-Identifier: Apache-2.0
"""Reports the training of LightGBM.

One line, and nothing happens outside a TrainJob::

    from milepost.integrations.lightgbm import MilepostCallback

    lightgbm.train(params, data, num_boost_round=200, valid_sets=[held_out], callbacks=[MilepostCallback()])

Estimators with the interface of scikit-learn take it as `callbacks` of `fit`, and so does `lightgbm.cv`.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Iterable
from typing import Any, Optional

from lightgbm.callback import EarlyStopException

from .shared import Session

#: What LightGBM calls results of a cross-validation before version 4.6.
_OLD_CV = "cv_agg"

#: The session of the training that goes on in each thread.
_under_way: weakref.WeakValueDictionary[int, Session] = weakref.WeakValueDictionary()

_watching = False


class MilepostCallback:
    """Reports rounds, time remaining and evaluation results.

    The training is complete after its last round, and when early stopping ends it. After an error the last
    report stays as it is. A training that goes on from `init_model` counts the rounds of that model as done.
    """

    #: Behind the callbacks that log and record, and before early stopping, after which none is called.
    order = 25
    before_iteration = False

    def __init__(self, *, interval: Optional[float] = None) -> None:
        """Starts nothing.

        Args:
            interval: The least seconds between two reports, 5 by default.
        """
        self._session = Session("lightgbm", interval=interval)

    def __call__(self, env: Any) -> None:
        """Reports a round. LightGBM calls it after each."""
        session = self._session
        if env.iteration == env.begin_iteration:
            session.begin()
            _watch_early_stops()
            _under_way[threading.get_ident()] = session
        if not session.reporting:
            return
        metrics, keep = _results(env.evaluation_result_list)
        session.report(env.iteration + 1, env.end_iteration, metrics, keep=keep)
        if env.iteration + 1 >= env.end_iteration:
            session.complete()


def _results(results: Optional[Iterable[Any]]) -> tuple[dict[str, Any], list[str]]:
    """Results by name, and the names of those that matter most.

    They are tuples of data set, metric, value, whether more is better, and in a cross-validation the
    standard deviation. Since version 4.7 all have five fields, the last of which may be None.
    """
    metrics: dict[str, Any] = {}
    keep: list[str] = []
    try:
        for data, metric, value, _, *rest in results or ():
            if data == _OLD_CV:
                data, _, metric = metric.rpartition(" ")
            name = f"{data or 'valid'}/{metric}"
            metrics[name] = value
            if rest and rest[0] is not None:
                metrics[name + "/std"] = rest[0]
            if data not in ("train", "training"):
                keep.append(name)
    except Exception:  # results that look like none of any version so far
        pass
    return metrics, keep


def _watch_early_stops() -> None:
    """Notices that a training stops early.

    LightGBM tells its callbacks the end of no training. Early stopping, that of LightGBM as well as one that
    a program brings, makes this exception, which ends the training in good order.
    """
    global _watching
    if _watching:
        return
    _watching = True
    begin = EarlyStopException.__init__

    @functools.wraps(begin)
    def stop_early(self: Any, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        session = _under_way.pop(threading.get_ident(), None)
        if session is not None:
            session.complete()

    EarlyStopException.__init__ = stop_early
