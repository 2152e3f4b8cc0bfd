# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ARG002  # the framework decides what a hook gets
"""Reports trainings of Keras: Keras 3 with any of its backends, Keras 2, and `tf_keras`.

Owns how far a call of `fit` is, and which of its ends is a completion. Importing this module imports Keras::

    from milepost.integrations.keras import MilepostCallback

    model.fit(x, y, epochs=10, callbacks=[MilepostCallback()])

A training is complete when `fit` returns, after an early stop too. It is not when an exception ended it, or
when a callback stopped it while the loss was no finite number, as `TerminateOnNaN` does. `evaluate` and
`predict` report nothing.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Mapping
from typing import Any, Optional

from ..guard import harmless
from ..lines import Lines
from ..progress import MOST_COMPUTED, known
from ..values import number_of
from .bases import bases
from .shared import Session

_Callback: Any = bases("keras.callbacks:Callback", "tf_keras.callbacks:Callback")[0]

Logs = Optional[Mapping[str, Any]]


class MilepostCallback(_Callback):
    """Reports one call of `fit` after the other."""

    # Keras 3 may then call from threads of its own, and does not wait for the accelerator after each batch.
    async_safe = True
    # Keras 2 then passes tensors as they are, for the same reason.
    _supports_tf_logs = True
    _lines = Lines()

    def __init__(self, *, rank: Optional[int] = None, interval: Optional[float] = None) -> None:
        """Starts nothing.

        Args:
            rank: The global rank of this process, in place of what Keras and the environment say.
            interval: The least seconds between two reports.
        """
        super().__init__()
        self._rank = rank
        self._interval = interval
        self._session = Session("keras", interval=interval)
        self._fit = _Fit()
        self._loss: object = None

    @harmless
    def on_train_begin(self, logs: Logs = None) -> None:
        """Begins the reports of a call of `fit`."""
        params = getattr(self, "params", None) or {}
        self._fit = _Fit(known(params.get("epochs")), known(params.get("steps")))
        self._loss = None
        # Metrics of another training do not belong here. The session before may still hold the claim.
        session = Session("keras", interval=self._interval)
        session.begin(rank=_rank() if self._rank is None else self._rank)
        self._session = session

    @harmless
    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Says where a training begins or resumes, before the first batch, which may take minutes."""
        self._fit.begin_epoch(epoch)
        if not self._fit.done:
            self._session.report(progress=self._fit.percent())

    @harmless
    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Counts a batch, and reports now and then."""
        if self._fit.end_batch(batch) and self._session.due():
            self._report(logs)

    @harmless
    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Reports an epoch with its evaluation."""
        self._fit.end_epoch(epoch, stopped=self._stopped())
        self._loss = (logs or {}).get("loss")
        self._report(logs)

    @harmless
    def on_train_end(self, logs: Logs = None) -> None:
        """Completes the training, or says why it is not complete."""
        loss = number_of(self._loss)
        if loss is not None and not math.isfinite(loss) and self._stopped():
            self._session.stop(f"Keras stopped the training while the loss was {loss}")
        else:
            self._session.complete(logs, keep=_evaluations(logs))

    def _stopped(self) -> bool:
        return bool(getattr(self.model, "stop_training", False))

    def _report(self, logs: Logs) -> None:
        fit = self._fit
        self._session.report(fit.done, fit.total(), logs, keep=_evaluations(logs), progress=fit.percent())

    # What Keras 2 asks, also when this class derives from the callback of Keras 3.

    def _implements_train_batch_hooks(self) -> bool:
        return True

    def _implements_test_batch_hooks(self) -> bool:
        return False

    def _implements_predict_batch_hooks(self) -> bool:
        return False


class _Fit:
    """How far one call of `fit` is. Threads of Keras may say so late and in any order."""

    def __init__(self, epochs: Optional[float] = None, steps: Optional[float] = None) -> None:
        self._epochs = int(epochs) if epochs and epochs > 0 else None
        self._given = int(steps) if steps and steps > 0 else None
        self._steps = self._given  # batches of an epoch; a generator's are known when the first epoch is over
        self._epoch = 0  # epochs that are over, with those before a resume
        self._batches = 0  # batches of the present one that are over, with those before a resume
        self._lock = threading.Lock()
        self.done = 0  # batches of this process

    def begin_epoch(self, epoch: int) -> None:
        self._epoch, self._batches = epoch, 0

    def end_batch(self, batch: int) -> bool:
        """Counts batches up to one, and tells whether there were any."""
        with self._lock:
            new = batch + 1 - self._batches
            if new <= 0:
                return False
            self._batches += new
            self.done += new
            return True

    def end_epoch(self, epoch: int, stopped: bool) -> None:
        """Counts an epoch, unless a callback stopped the training before its last batch."""
        if stopped and (not self._given or self._batches < self._given):
            return
        if not self._given and self._batches:
            self._steps = self._batches
        self._epoch, self._batches = epoch + 1, 0

    def total(self) -> Optional[int]:
        """Batches of this process when the training is complete."""
        if not self._epochs or not self._steps:
            return None
        return self.done + max(0, (self._epochs - self._epoch) * self._steps - self._batches)

    def percent(self) -> Optional[int]:
        """Progress of the training as a whole. By epochs as long as nobody knows how long they are."""
        if not self._epochs:
            return None
        steps = self._steps or 1
        done = self._epoch * steps + (min(self._batches, steps) if self._steps else 0)
        return min(done * 100 // (self._epochs * steps), MOST_COMPUTED)

    def __reduce__(self) -> tuple[type[_Fit], tuple[()]]:
        """A copy has counted nothing."""
        return _Fit, ()


def _evaluations(logs: Logs) -> list[str]:
    return [name for name in logs or () if name.startswith("val_")]


def _rank() -> Optional[int]:
    """The rank that Keras knows, if it knows more than the environment: it says 0 where nothing is distributed."""
    try:
        rank = int(sys.modules["keras"].distribution.process_id())
    except Exception:  # Keras 2 has no such thing, nor have some backends
        return None
    return rank or None
