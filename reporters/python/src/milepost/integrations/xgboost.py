# SPDX-License-Identifier: Apache-2.0
"""Reports the training of XGBoost.

One line, and nothing happens outside a TrainJob::

    from milepost.integrations.xgboost import MilepostCallback

    xgboost.train(params, data, num_boost_round=200, evals=[(held_out, "valid")], callbacks=[MilepostCallback()])

Estimators with the interface of scikit-learn take it as `callbacks` too, and so does `xgboost.cv`.
"""

# ruff: noqa: ARG002  # XGBoost calls with arguments that are of no use here

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Optional

import xgboost
from xgboost.callback import TrainingCallback

from .shared import Session

#: The data sets whose metrics may give way when there are more than 256.
_OF_TRAINING = ("train", "training", "dtrain")


class MilepostCallback(TrainingCallback):
    """Reports rounds, time remaining and evaluation results.

    The training is complete when XGBoost ends it, early stopping included. After an error the last report
    stays as it is. A training that goes on from `xgb_model` counts the rounds of that model as done.
    """

    def __init__(self, total: Optional[int] = None, *, interval: Optional[float] = None) -> None:
        """Starts nothing.

        Args:
            total: How many rounds this call of XGBoost trains, when it cannot be found.
            interval: The least seconds between two reports, 5 by default.
        """
        super().__init__()
        self._given = total
        self._session = Session("xgboost", interval=interval)
        self._before = 0  # rounds of the model that this training goes on from
        self._total: Optional[int] = None
        self._results: Mapping[str, Any] = {}

    def before_training(self, model: Any) -> Any:
        """Begins the reports."""
        if self._session.begin(rank=_rank()):
            self._before, self._results = _rounds(model), {}
            rounds = self._given if self._given is not None else _planned_rounds()
            self._total = None if rounds is None else self._before + rounds
            self._session.report(self._before, self._total)
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        """Reports a round."""
        if self._session.reporting:
            self._results = evals_log  # XGBoost adds to it, also in a round that ends before it comes to this callback
            self._report(self._before + epoch + 1)
        return False

    def after_training(self, model: Any) -> Any:
        """Completes the training."""
        if self._session.reporting:
            self._report(None)
            self._session.complete()
        return model

    def __getstate__(self) -> dict[str, Any]:
        """Estimators are pickled with their callbacks."""
        return {**self.__dict__, "_results": {}}

    def _report(self, step: Optional[int]) -> None:
        metrics, keep = _newest(self._results)
        self._session.report(step, self._total, metrics, keep=keep)


def _newest(results: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The newest results of all data sets, and the names of those that matter most."""
    metrics: dict[str, Any] = {}
    keep: list[str] = []
    try:
        for data, of_data in results.items():
            for metric, values in of_data.items():
                name, newest = f"{data}/{metric}", values[-1]
                if isinstance(newest, tuple):  # cross-validation: mean and standard deviation
                    newest, metrics[name + "/std"] = newest
                metrics[name] = newest
                if data not in _OF_TRAINING:
                    keep.append(name)
    except Exception:  # results that look like none of any version so far
        pass
    return metrics, keep


def _rounds(model: Any) -> int:
    """The rounds of the model that a training begins with."""
    try:
        return int(model.num_boosted_rounds())
    except Exception:  # those of a cross-validation do not say
        return 0


def _planned_rounds() -> Optional[int]:
    """How many rounds the call of XGBoost above this one trains. It tells its callbacks no other way."""
    try:
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_globals.get("__name__") == "xgboost.training" and "num_boost_round" in frame.f_locals:
                return int(frame.f_locals["num_boost_round"])
            frame = frame.f_back  # type: ignore[assignment]
    except Exception:  # an interpreter without frames, say
        pass
    return None


def _rank() -> Optional[int]:
    """The rank in a group of workers that XGBoost made. None when there is no group."""
    try:
        if xgboost.collective.get_world_size() > 1:
            return int(xgboost.collective.get_rank())
    except Exception:  # versions without groups
        pass
    return None
