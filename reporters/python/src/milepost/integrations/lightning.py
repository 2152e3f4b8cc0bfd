# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ARG002  # the framework decides what a hook gets
"""Reports trainings of PyTorch Lightning, as `lightning` and as `pytorch_lightning`.

Owns how far a call of `fit` is, and which of its ends is a completion. Importing this module imports Lightning.
A program inside a TrainJob needs no line: the package registers the callback with every Trainer through an
entry point of Lightning. To choose options, or after `DISABLE_KUBEFLOW_INTEGRATION=TRUE`::

    from milepost.integrations.lightning import MilepostCallback

    trainer = Trainer(max_epochs=10, callbacks=[MilepostCallback()])

A training is complete when `fit` returns, after an early stop or at `max_time` too. It is not when an exception
ended it, Ctrl-C included, or when EarlyStopping stopped it because its metric was no finite number. Sanity
checks, the tuner, `validate`, `test` and `predict` report nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Optional

from ..guard import harmless
from ..lines import Lines
from ..progress import MOST_COMPUTED
from ..values import number_of
from .bases import bases
from .shared import Session

_found = bases("lightning.pytorch:Callback", "pytorch_lightning:Callback")

#: Where a program uses both packages, the callback serves Trainers of both.
_Callback: Any = _found[0] if len(_found) == 1 else type("Callback", _found, {})

#: Under this name a checkpoint keeps the metrics. As state of a callback it would make Lightning warn when the
#: training goes on outside a TrainJob, and fail when a program has two of these callbacks.
_KEPT = "milepost"

_EVALUATION = re.compile(r"(^|[^a-z])(val|valid|validation|eval|evaluation|test)([^a-z]|$)")


class MilepostCallback(_Callback):
    """Reports one call of `fit` after the other."""

    _lines = Lines()

    def __init__(self, *, interval: Optional[float] = None, _automatic: bool = False) -> None:
        """Starts nothing.

        Args:
            interval: The least seconds between two reports.
        """
        super().__init__()
        self._settings = _automatic, interval
        self._session = self._new()
        self._begun = False
        self._batches = 0  # batches of the present epoch that are over

    def _new(self) -> Session:
        automatic, interval = self._settings
        return Session("lightning", automatic=automatic, interval=interval)

    # A training.

    @harmless
    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Forgets the training before, and comes before a checkpoint is restored."""
        if stage == "fit":
            self._session, before = self._new(), self._session
            before.stop()
            self._begun = False

    @harmless
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Says where a training begins or resumes, before the first batch, which may take minutes."""
        self._begin(trainer)
        at = trainer.fit_loop.batch_idx + 1
        self._batches = at if at < trainer.num_training_batches else 0
        done, total, percent, eta = self._numbers(trainer)
        if percent is None and total:
            percent = min(done * 100 // total, MOST_COMPUTED)
        self._session.report(progress=percent, eta=eta)

    @harmless
    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, *_: Any
    ) -> None:
        """Counts a batch, and reports now and then."""
        self._batches = batch_idx + 1
        if self._session.due():
            self._report(trainer)

    @harmless
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Reports an evaluation."""
        if not trainer.sanity_checking:
            self._report(trainer)

    # Not at the end of an epoch: Lightning gathers metrics of the epoch from all ranks when they are read there,
    # and one rank alone would wait for ever. They come with the next batch, or with the end.

    # Its end.

    @harmless
    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Completes the training, or says why it is not complete."""
        if not self._begun:  # the checkpoint was complete, and nothing was left to train
            self._begin(trainer)
        metrics = trainer.callback_metrics
        bad = next(_not_finite(trainer, metrics), None) if trainer.should_stop else None
        if bad is None:
            self._session.complete(metrics, keep=_keep(trainer, metrics))
        else:
            self._session.stop(f"Lightning stopped the training, as {bad} was no finite number")

    @harmless
    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Leaves the last report as it is."""
        self._session.stop(exception)

    # Checkpoints.

    @harmless
    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Keeps the metrics in a checkpoint, after the end of a training too. The callback that reports knows best."""
        state = self._session.state()
        if self._session.reporting or (state["metrics"] and _KEPT not in checkpoint):
            checkpoint[_KEPT] = state

    @harmless
    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Takes the metrics from a checkpoint."""
        self._session.restore(checkpoint.get(_KEPT))

    # Parts of the above.

    def _begin(self, trainer: Any) -> None:
        # Where every node trains alone, Lightning takes each for rank 0; the environment knows better.
        self._session.begin(rank=trainer.global_rank or None)
        self._begun = True

    def _report(self, trainer: Any) -> None:
        if not self._session.reporting:
            return
        metrics = trainer.callback_metrics
        done, total, percent, eta = self._numbers(trainer)
        self._session.report(done, total, metrics, keep=_keep(trainer, metrics), progress=percent, eta=eta)

    def _numbers(self, trainer: Any) -> tuple[int, Optional[int], Optional[int], Optional[float]]:
        """Batches that are done and their total; percent and seconds where time ends the training first."""
        done = trainer.fit_loop.total_batch_idx + 1
        left = _batches_left(trainer, done, self._batches)
        total = None if left is None else done + left
        passed, seconds = _time(trainer)
        share = passed / (passed + seconds) if passed > 0 else 0.0
        if seconds == math.inf or (total and done / total >= share):
            return done, total, None, None
        return done, total, min(int(share * 100), MOST_COMPUTED), seconds


def _time(trainer: Any) -> tuple[float, float]:
    """Seconds that the training took, with those before a resume, and seconds until time is up."""
    for callback in trainer.callbacks:
        if hasattr(callback, "time_elapsed") and hasattr(callback, "time_remaining"):
            left = callback.time_remaining()
            if left is not None:
                return callback.time_elapsed(), max(0.0, left)
    return 0.0, math.inf


def _batches_left(trainer: Any, done: int, of_epoch: int) -> Optional[int]:
    """Batches until the first limit is reached, None when there is no limit that one can count to."""
    left = []
    per_epoch = trainer.num_training_batches
    epochs, steps = trainer.max_epochs, trainer.max_steps
    if epochs is not None and epochs >= 0 and 0 < per_epoch < math.inf:
        left.append((epochs - trainer.current_epoch) * int(per_epoch) - of_epoch)
    if steps is not None and steps >= 0:
        left.append(math.ceil((steps - trainer.global_step) * _batches_per_step(trainer, done)))
    return max(0, min(left)) if left else None


def _batches_per_step(trainer: Any, done: int) -> float:
    """A module that steps its optimizers itself may do so at any time: what it did so far tells."""
    if trainer.lightning_module.automatic_optimization:
        return float(trainer.accumulate_grad_batches)
    return done / trainer.global_step if trainer.global_step and done else 1.0


def _monitored(trainer: Any) -> Iterator[tuple[Any, str]]:
    for callback in trainer.callbacks:
        name = getattr(callback, "monitor", None)
        if isinstance(name, str):
            yield callback, name


def _keep(trainer: Any, metrics: Any) -> list[str]:
    """Evaluations, and what decides about checkpoints and early stops."""
    return [name for _, name in _monitored(trainer)] + [name for name in metrics if _EVALUATION.search(name.lower())]


def _not_finite(trainer: Any, metrics: Any) -> Iterator[str]:
    """Names of metrics for which EarlyStopping stops when they are no finite numbers, and which are none."""
    for callback, name in _monitored(trainer):
        value = number_of(metrics.get(name)) if getattr(callback, "check_finite", False) else None
        if value is not None and not math.isfinite(value):
            yield name
