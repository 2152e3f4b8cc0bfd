# SPDX-License-Identifier: Apache-2.0
"""What all integrations share: who may report, and what is reported.

An integration turns the events of its framework into calls of a :class:`Session` and has nothing else
to take care of::

    session = Session("lightning", automatic=True)  # when the callback is made; starts nothing
    session.begin(rank=trainer.global_rank)  # when training begins, and again for the next training
    session.report(step, total, {"loss": loss})  # at every event, as often as it comes
    session.report(metrics={"val_loss": loss}, keep=["val_loss"])  # step and total are known already
    session.complete()  # when the framework says that training ran to its end
    session.stop()  # when it ended in any other way
    session.pause()  # in place of both where much may follow, as after one of many progress bars

No call raises. `report` and `pause` do not wait; `complete` and `stop` wait at most 5 seconds for the
last report.

* **One reports.** The process has one claim. A reporter that the program started itself with
  :func:`milepost.start` wins over every integration; an integration that the program asked for (a
  callback it made, a class it used) wins over one that registered itself (`automatic`); among equals
  the one that began first reports until it ends. The others are silent, with one log line. So call
  `begin` where the framework calls, and do not ask who else is there. An automatic session is also
  silent when `DISABLE_KUBEFLOW_INTEGRATION` is TRUE.
* **Metrics add up.** Frameworks log the loss at one event and the evaluation at another, and a report
  replaces the one before. A session remembers the newest value of every name and sends them all. Names
  given as `keep` stay when there are more than 256: use it for evaluation metrics and the objective.
* **Values are cleaned.** What is no number, boolean or short text is left out without a log line, as the
  program did not choose it. Tensors become numbers at once, so that none is kept alive; ask `due()`
  first where that is costly.
* **Completion.** Call `complete` when the call of the framework that trains ends normally. An early stop is a
  normal end: whoever stops early has what was wanted. An exception, an interrupt, a signal, and a stop because
  the loss or the watched metric is no finite number are not: call `stop`, where the framework calls at all.
* **Resume.** Pass the step of the checkpoint as it is; the time remaining counts the steps of this
  process alone. Where the framework keeps state of callbacks in its checkpoints, keep `state()` there and
  give it to `restore()` before `begin`: the evaluation metrics are then there from the first report on.
* **Forks.** A child of a process that reports is silent, such as a worker of a data loader. One that is
  forked before may train and report.
* **Copies.** A copied or unpickled session is a new one with the same settings, and reports nothing until
  it begins.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, Callable, Optional, Union

from .. import own
from .._wire import TRAINER_STATUS_PROGRESS_PERCENTAGE_MAXIMUM as COMPLETE
from ..environment import URL
from ..guard import harmless
from ..lines import INFO, Lines, Once
from ..metrics import Collected, kept_names
from ..pacing import DEFAULT_INTERVAL, seconds_between
from ..reporter import Metrics, Reporter, Settings
from ..values import Number, plain_text
from .claim import CLAIM

#: Turns off what registers itself, as the callback of Transformers does.
DISABLE = "DISABLE_KUBEFLOW_INTEGRATION"

#: Seconds between two reports of an integration, for programs that have no line where to say it.
INTERVAL = "MILEPOST_REPORT_INTERVAL"

#: Names that a session remembers. Only 256 are sent; a framework may make up new ones for ever.
MOST_NAMES = 1024

#: The most seconds between two steps of which costly metrics are read.
MOST_PAUSE = 0.5

_SAID = Once()


def wanted() -> bool:
    """Whether integrations that register themselves should do so in this process."""
    return bool(os.environ.get(URL)) and not switched_off()


def switched_off() -> bool:
    """Whether the environment wants no reports from integrations that register themselves."""
    return os.environ.get(DISABLE, "").strip().upper() in ("1", "ON", "TRUE", "YES")


def clean(metrics: object) -> dict[str, Union[str, Number]]:
    """The entries of a map that can be sent, flattened, as plain numbers and texts."""
    return dict(Collected(metrics).items)


class Session:
    """The reports of one training after the other, made by one integration."""

    def __init__(
        self,
        name: str,
        *,
        automatic: bool = False,
        interval: Optional[float] = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Starts nothing.

        Args:
            name: The name of the integration, for log lines.
            automatic: Whether the integration registered itself, without a line in the program.
            interval: The least seconds between two reports, when the program said so.
            clock: Seconds of a clock that never goes back, for the estimate of the time remaining.
        """
        self._settings = name, automatic, interval
        self._clock = clock
        self._lines = Lines()
        self._reporter: Optional[Reporter] = None  # while it holds the claim
        self._resting: Optional[Reporter] = None  # after a pause
        self._thread = 0
        self._counted = self._pause = 0.0
        self._step: Optional[float] = None
        self._total: Optional[float] = None
        self._metrics: dict[str, Union[str, Number]] = {}
        self._keep: dict[str, None] = {}
        self._spent = False  # whether the metrics are those of a training that began

    @property
    def reporting(self) -> bool:
        """Whether reports of this session go out: it began, on rank 0, and nobody with a better claim reports."""
        reporter = self._reporter
        return reporter is not None and reporter.active and CLAIM.holder is self and not own.reporting()

    @property
    def latest(self) -> bool:
        """Whether no other session has reported since this one began."""
        return CLAIM.latest is self

    @harmless
    def begin(self, *, rank: Optional[int] = None, anew: bool = True) -> bool:
        """Begins the reports of a training, unless somebody with a better claim reports.

        Args:
            rank: The global rank of this process, where the framework knows it. By default the
                environment says it.
            anew: Whether metrics of the training before are forgotten.
        """
        name, automatic, interval = self._settings
        if CLAIM.of_a_parent or (automatic and not wanted()):
            return False
        self._step = self._total = None
        if anew and self._spent:
            self._forget()
        self._spent = True
        self._counted, self._pause = -math.inf, min(_interval(interval) / 10, MOST_PAUSE)
        self._thread = threading.get_ident()
        other, self._reporter = CLAIM.take(self)
        if other:
            if _SAID.first(f"{name} {other}"):
                self._lines.write(INFO, f"{name} reports nothing: {other}")
            return False
        if self._reporter is None:
            resting, self._resting = self._resting, None
            self._reporter = resting or Reporter(Settings(rank=rank, interval=_interval(interval), clock=self._clock))
        return self._reporter.active

    def due(self) -> bool:
        """Whether a step should be reported with metrics that are costly to read: the first, and then now and then.

        Each report replaces the one before, so that most of those of a fast loop are made for nothing.
        """
        return self.reporting and time.monotonic() - self._counted >= self._pause

    @harmless
    def report(
        self,
        step: Optional[float] = None,
        total: Optional[float] = None,
        metrics: Optional[Metrics] = None,
        *,
        progress: Optional[float] = None,
        eta: Optional[float] = None,
        keep: Iterable[str] = (),
    ) -> None:
        """Reports what is new and repeats the rest.

        Args:
            step: Steps that are done, of the whole training.
            total: Steps of the whole training.
            metrics: New values by name.
            progress: Percent in this report, in place of what the step says.
            eta: Seconds remaining in this report, in place of what the step says.
            keep: Names among them that must stay when there are more than 256.
        """
        reporter = self._reporter
        if reporter is None or not self.reporting:
            return
        if step is not None:
            self._step = step
        if total is not None:
            self._total = total
        self._remember(metrics, keep)
        if step is not None:
            self._counted = time.monotonic()
        reporter.report(self._step, self._total, self._metrics, progress=progress, eta=eta, keep=self._keep)

    @harmless
    def complete(self, metrics: Optional[Metrics] = None, *, keep: Iterable[str] = ()) -> None:
        """Reports that the training is complete, and ends the reports of this training."""
        reporter, reporting = self._reporter, self.reporting
        self._release()
        if reporter is not None and reporting:
            self._remember(metrics, keep)
            reporter.complete(self._metrics, keep=self._keep)

    @harmless
    def stop(self, message: object = None) -> None:
        """Ends the reports of this training without completion: the last report stays as it is.

        Args:
            message: Why the training failed, for the log.
        """
        reporter, reporting = self._reporter, self.reporting
        self._release()
        if reporter is not None and reporting:
            reporter.fail(message)

    @harmless
    def pause(self, *, complete: bool = False) -> None:
        """Ends the reports of this training without waiting. The next training uses the same connection.

        Args:
            complete: Whether the training is complete.
        """
        reporter, reporting = self._reporter, self.reporting
        self._release()
        if reporter is not None:
            self._resting = reporter
            if reporting and complete:
                reporter.report(self._step, self._total, self._metrics, progress=COMPLETE, keep=self._keep)

    def state(self) -> dict[str, Any]:
        """What a checkpoint should keep: texts in maps and lists."""
        metrics = {name: plain_text(value) for name, value in self._metrics.items()}
        return {"metrics": metrics, "keep": list(self._keep)}

    @harmless
    def restore(self, state: object) -> None:
        """Takes what a checkpoint kept. Anything else changes nothing."""
        if isinstance(state, Mapping):
            if self._spent and not self.reporting:
                self._forget()
            self._remember(state.get("metrics"), state.get("keep") or ())

    def _remember(self, metrics: object, keep: object) -> None:
        self._metrics.update(clean(metrics))
        self._keep.update(dict.fromkeys(kept_names(keep)))
        over = len(self._metrics) - MOST_NAMES
        if over > 0:
            for name in [name for name in self._metrics if name not in self._keep][:over]:
                del self._metrics[name]

    def _forget(self) -> None:
        self._metrics, self._keep, self._spent = {}, {}, False

    def _release(self) -> None:
        self._reporter = None
        CLAIM.give_back(self)

    @property
    def name(self) -> str:
        """The name of the integration."""
        return self._settings[0]

    def replaces(self, holder: Session) -> bool:
        """Whether this session may report in place of another."""
        name, automatic, _ = self._settings
        other_name, other_automatic, _ = holder._settings
        if automatic != other_automatic:
            return other_automatic
        # A new training of the same framework in the same thread: the one before ended without a word.
        return name == other_name and self._thread == holder._thread

    def hand_over(self) -> Optional[Reporter]:
        """Falls silent and gives its reporter away."""
        reporter, self._reporter = self._reporter, None
        return reporter

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (*self._settings, self.state())

    def __copy__(self) -> Session:
        return _again(*self._settings, self.state())

    def __deepcopy__(self, memo: object) -> Session:
        return self.__copy__()


def _again(name: str, automatic: bool, interval: Optional[float], state: object) -> Session:
    session = Session(name, automatic=automatic, interval=interval)
    session.restore(state)
    return session


def _interval(chosen: Optional[float]) -> float:
    if chosen is not None:
        return seconds_between(chosen)
    try:
        return seconds_between(float(os.environ[INTERVAL]))
    except (KeyError, ValueError):
        return DEFAULT_INTERVAL
