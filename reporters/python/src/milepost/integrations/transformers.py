# SPDX-License-Identifier: Apache-2.0
"""Reports trainings of the Trainer of Hugging Face Transformers, and of trainers derived from it.

Owns what a training of the Trainer says. Does not own how the callback gets into a Trainer that does not
name it, see `transformers_hook`. Importing this module imports Transformers::

    from milepost.integrations.transformers import KubeflowTrainerCallback

    trainer = Trainer(..., callbacks=[KubeflowTrainerCallback()])
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, Callable, Optional, TypeVar, cast

from transformers import TrainerCallback

from .._wire import TRAINER_STATUS_PROGRESS_PERCENTAGE_MAXIMUM as COMPLETE
from ..guard import explain
from ..lines import Lines
from ..progress import MOST_COMPUTED, computed_progress
from ..values import number_of
from .shared import Session, switched_off
from .transformers_hook import silence_builtin

_Event = TypeVar("_Event", bound=Callable[..., None])

#: Beginnings of the names of metrics that an evaluation or a prediction gave.
_JUDGED = ("eval_", "test_")

#: How many of those must stay. The rest of the room is for the position, the objective and the like.
_MOST_JUDGED = 200


def _harmless(event: _Event) -> _Event:
    """Keeps what goes wrong in an event from the training."""

    @functools.wraps(event)
    def guarded(*arguments: Any, **options: Any) -> None:
        try:
            event(*arguments, **options)
        except Exception as fault:
            explain(Lines(), event.__name__, fault)

    return cast(_Event, guarded)


class KubeflowTrainerCallback(TrainerCallback):
    """Reports the trainings of a Trainer: progress, time remaining, and every number that the Trainer logs.

    It does nothing outside a TrainJob, in every process but the first of the world, and when
    `DISABLE_KUBEFLOW_INTEGRATION` is `TRUE`. Where Transformers has a callback of its own for TrainJobs,
    that one is silent from the moment a program makes one of these.
    """

    _automatic = False

    def __init__(self, *, complete_when_stopped: bool = True) -> None:
        """Starts nothing.

        Args:
            complete_when_stopped: Whether a training is complete that a callback stopped before its last
                step, as early stopping does. Say no where a callback stops trainings that go on later.
        """
        self._complete_when_stopped = complete_when_stopped
        self._session: Optional[Session] = None  # while there is something to report
        self._training = False
        self._stepped = False  # whether this process has finished a step of this training
        self._progress: Optional[int] = None
        self._past: Optional[dict[str, Any]] = None  # what the last training said, for an evaluation after it
        if not self._automatic:
            silence_builtin()

    def __getstate__(self) -> dict[str, Any]:
        """A copy, here or in another process, reports only what it sees itself."""
        return {**vars(self), "_session": None}

    @_harmless
    def on_train_begin(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        """A training begins, or goes on from a checkpoint, whose metrics the state holds."""
        self._training, self._stepped, self._past = True, False, None
        self._begin(args, state)
        past = {name: value for entry in state.log_history or () for name, value in entry.items()}
        past.pop("step", None)  # which reports call current_step
        self._report(args, state, past)

    @_harmless
    def on_step_end(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        """An optimizer step is done."""
        self._stepped = True
        self._report(args, state)

    @_harmless
    def on_log(self, args: Any, state: Any, *_: Any, logs: Optional[Mapping[str, Any]] = None, **__: Any) -> None:
        """The Trainer logs, in a training or around it."""
        self._report(args, state, logs)

    @_harmless
    def on_predict(self, args: Any, state: Any, *_: Any, metrics: Any = None, **__: Any) -> None:
        """A prediction is over. Unlike an evaluation, it is not logged."""
        self._report(args, state, metrics)

    @_harmless
    def on_train_end(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        """The Trainer ended normally. An exception leads past this event."""
        session, self._session, self._training = self._session, None, False
        if session is None:
            return
        self._past = session.state()
        if self._is_complete(args, state):
            self._progress = COMPLETE
            session.complete()
        else:
            session.stop()

    def _is_complete(self, args: Any, state: Any) -> bool:
        """Whether nothing is left to do after a training that ended without an error."""
        if state.is_hyper_param_search:
            return False  # a trial ended, or was pruned, and others follow
        if state.global_step >= state.max_steps:
            return True
        if _diverged(args, state):
            return False
        # The Trainer can be told to save a checkpoint and end at SIGTERM, which looks like any other stop.
        return self._complete_when_stopped and not getattr(args, "enable_jit_checkpoint", False)

    def _begin(self, args: Any, state: Any) -> None:
        """Starts reporting, in place of a training that ended with an error before."""
        before, self._session = self._session, None
        if not state.is_world_process_zero or switched_off():
            return
        session = Session("transformers", automatic=self._automatic)
        session.restore(self._past)
        # The Trainer knows the ranks of processes that it connected. A lone one may still be one of many.
        session.begin(rank=0 if args.world_size > 1 else None)
        self._session = session
        del before  # it had to live until now, to hand over its reporter

    def _report(self, args: Any, state: Any, metrics: Optional[Mapping[str, Any]] = None) -> None:
        if self._session is None:  # an evaluation without a training, or after it
            self._begin(args, state)
        if self._session is None:
            return
        if self._training:
            self._progress = _progress(args, state)
        values = {**(metrics or {}), **_position(state)}
        self._session.report(
            # The first step takes longer than others: it loads data, compiles, and skips what a resumed
            # training has seen. The time remaining counts from its end.
            state.global_step if self._stepped else None,
            state.max_steps if state.max_steps > 0 else None,
            values,
            progress=self._progress,
            keep=_kept(args, state, values),
        )


class _Automatic(KubeflowTrainerCallback):
    """The one that a Trainer gets without being told. A reporter that the program asked for wins."""

    _automatic = True


class _Named(TrainerCallback):
    """What `report_to="kubeflow"` stands for. The callback that reports is there in any case."""


def _position(state: Any) -> dict[str, Any]:
    """Where a training is. Empty when there was none."""
    if not state.global_step and state.max_steps <= 0:
        return {}
    position = {"current_step": state.global_step}
    if state.max_steps > 0:
        position["total_steps"] = state.max_steps
    if state.epoch is not None:
        position["current_epoch"] = round(state.epoch, 2)
    return position


def _diverged(args: Any, state: Any) -> bool:
    """Whether the newest loss, or what the training watches, is no finite number: whoever stops then gives up."""
    for name in ("loss", "eval_loss", *_objectives(args)):
        newest = next((entry[name] for entry in reversed(state.log_history or ()) if name in entry), None)
        number = number_of(newest)
        if number is not None and not math.isfinite(number):
            return True
    return False


def _objectives(args: Any) -> list[str]:
    """The names of the metric by which the best model is chosen, if there is one."""
    objective = args.metric_for_best_model
    return [objective, f"eval_{objective}"] if objective else []


def _kept(args: Any, state: Any, values: Mapping[str, Any]) -> list[str]:
    """Names of metrics that must stay when there are more than a report can hold."""
    kept = [*_position(state), "loss", "learning_rate", "eval_loss", *_objectives(args)]
    return kept + [name for name in values if name.startswith(_JUDGED)][:_MOST_JUDGED]


def _progress(args: Any, state: Any) -> Optional[int]:
    """Progress by steps, or by epochs where the number of steps is unknown."""
    if state.max_steps > 0:
        return computed_progress(state.global_step, state.max_steps)
    epochs = args.num_train_epochs
    if state.epoch is None or not 0 < epochs < math.inf:
        return None
    return min(MOST_COMPUTED, computed_progress(state.epoch, epochs))
