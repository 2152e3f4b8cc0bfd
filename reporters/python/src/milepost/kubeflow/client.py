# SPDX-License-Identifier: Apache-2.0
"""The client of the Kubeflow SDK, whose TrainJobs say how far they are.

Owns the field `trainer_status`. Everything else is the SDK's: its client is extended, not replaced.
"""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Callable, Optional

try:
    from kubeflow.trainer import TrainerClient as SDKClient
    from kubeflow.trainer.backends.kubernetes.backend import KubernetesBackend
    from kubeflow.trainer.types.types import TrainJob as SDKTrainJob
    from kubeflow_trainer_api.models import TrainerV1alpha1TrainerStatus
except ImportError as missing:
    raise ImportError(
        f"milepost.kubeflow.TrainerClient needs the Kubeflow SDK: pip install 'kubeflow>=0.5.0' ({missing})",
        name=missing.name,
        path=missing.path,
    ) from missing

_logger = logging.getLogger("milepost")

FIELD = "trainer_status"

#: Makes a TrainJob of the SDK from the object that the API server sent. It is private, but all calls come by here, and
#: nowhere else is the whole object known. To ask the API server again would be one more request per job.
CONVERSION = "_KubernetesBackend__get_trainjob_from_cr"


@dataclass
class TrainJob(SDKTrainJob):
    """A TrainJob of the SDK that says how far it is."""

    trainer_status: Optional[TrainerV1alpha1TrainerStatus] = None
    """What the training reported: `progress_percentage`, `estimated_remaining_seconds`, `metrics` with `name` and
    `value` each, `last_updated_time`. None when nothing was reported."""


class TrainerClient(SDKClient):
    """The SDK's client. TrainJobs that it returns have the field `trainer_status`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if FIELD not in {field.name for field in fields(SDKTrainJob)}:
            extend(self.backend)

    if TYPE_CHECKING:  # what these calls of the SDK return from now on

        def get_job(self, name: str) -> TrainJob:
            """As in the SDK, with the field."""

        def list_jobs(self, runtime: Any = None) -> list[Any]:
            """As in the SDK, with the field."""

        def wait_for_job_status(
            self,
            name: str,
            status: set[str] = ...,
            timeout: int = 600,
            polling_interval: int = 2,
            callbacks: Optional[list[Callable[[Any], None]]] = None,
        ) -> TrainJob:
            """As in the SDK, with the field."""


functools.update_wrapper(TrainerClient.__init__, SDKClient.__init__)  # it takes what the SDK's takes


def extend(backend: Any) -> None:
    """Makes a backend return TrainJobs with the field. Its waiting and its callbacks get them from the same place."""
    if not isinstance(backend, KubernetesBackend):  # nobody reports to an API server there
        _change(backend, "get_job", lambda job, *_: with_status(job, None))
        _change(backend, "list_jobs", lambda jobs, *_: [with_status(job, None) for job in jobs])
    elif hasattr(backend, CONVERSION):
        _change(backend, CONVERSION, lambda job, found: with_status(job, reported(found)))
    else:
        _logger.warning("milepost: TrainJobs have no trainer_status with this version of the package kubeflow")


def reported(found: Any) -> Optional[TrainerV1alpha1TrainerStatus]:
    """The report in an object of the API server."""
    return getattr(found.status, FIELD, None)


def with_status(job: SDKTrainJob, status: Optional[TrainerV1alpha1TrainerStatus]) -> TrainJob:
    """The same TrainJob with the field."""
    known = {field.name: getattr(job, field.name) for field in fields(job) if field.name != FIELD}
    return TrainJob(**known, trainer_status=status)


def _change(backend: Any, name: str, change: Callable[..., Any]) -> None:
    """Changes what a method of this one object returns, knowing what it was called with."""
    method = getattr(backend, name)

    @functools.wraps(method)
    def changed(*arguments: Any, **options: Any) -> Any:
        return change(method(*arguments, **options), *arguments, *options.values())

    setattr(backend, name, changed)
