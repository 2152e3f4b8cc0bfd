# SPDX-License-Identifier: Apache-2.0
"""Reports what a program logs with Accelerate.

Owns the tracker. Importing this module imports Accelerate::

    from milepost.integrations.accelerate import MilepostTracker

    accelerator = Accelerator(log_with=MilepostTracker(total_steps=1000))
    accelerator.init_trackers("my-training")
    for step in range(1000):
        ...
        accelerator.log({"loss": loss}, step=step + 1)
    accelerator.end_training()
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Optional

from accelerate.state import PartialState
from accelerate.tracking import GeneralTracker

from .shared import Session

#: Where the scripts of Hugging Face keep the number of steps in the configuration of a run.
_TOTALS = ("max_train_steps", "total_steps", "max_steps", "num_training_steps")

#: Beginnings of the names of metrics that an evaluation gave.
_JUDGED = ("eval", "val", "test")


class MilepostTracker(GeneralTracker):
    """A tracker for `Accelerator(log_with=…)`, alone or in a list with others.

    Progress is known when `accelerator.log` is given a step and the tracker knows how many there are. The
    process with index 0 reports. `accelerator.end_training()` reports that the training is complete, unless
    an exception is on its way through the block from which it is called.

    `accelerator.register_for_checkpointing(tracker)` keeps the metrics of evaluations for a resumed training.
    """

    name = "milepost"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, total_steps: Optional[float] = None, *, interval: Optional[float] = None) -> None:
        """Starts nothing.

        Args:
            total_steps: Steps of the whole training, as `accelerator.log` counts them. By default the
                configuration given to `accelerator.init_trackers` is asked for `max_train_steps`,
                `total_steps`, `max_steps` or `num_training_steps`.
            interval: The least seconds between two reports.
        """
        super().__init__()
        self.total_steps = total_steps
        self._session = Session("accelerate", interval=interval)
        self._begun = False

    @property
    def tracker(self) -> Session:
        """What the tracker reports with."""
        return self._session

    def start(self) -> None:
        """Called by `accelerator.init_trackers`."""
        self._begin()

    def store_init_configuration(self, values: Any) -> None:
        """Looks for the number of steps. The rest of a configuration is no metric."""
        if self.total_steps is None and isinstance(values, Mapping):
            self.total_steps = next((values[name] for name in _TOTALS if _is_total(values.get(name))), None)

    def log(self, values: Any, step: Optional[float] = None, **_: Any) -> None:
        """Reports values, and the step that is done."""
        if self._begin():
            keep = [name for name in values if str(name).startswith(_JUDGED)] if isinstance(values, Mapping) else []
            self._session.report(step, self.total_steps, values, keep=keep)

    def finish(self) -> None:
        """Called by `accelerator.end_training`: the training is complete, if it did not fail."""
        begun, self._begun = self._begun, False
        if not begun:
            return
        if sys.exc_info()[0] is None:
            self._session.complete()
        else:
            self._session.stop()

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return self._session.state()

    def load_state_dict(self, state: Any) -> None:
        """Takes what a checkpoint kept."""
        self._session.restore(state)

    def _begin(self) -> bool:
        """Begins at the first call, as older versions do not call `start`."""
        if not self._begun:
            process = PartialState()
            if not process.is_main_process:
                return False
            # A lone process may still be one of many that Accelerate did not connect: the environment knows.
            self._session.begin(rank=0 if process.num_processes > 1 else None)
            self._begun = True
        return True


def _is_total(value: object) -> bool:
    return isinstance(value, (int, float)) and value > 0
