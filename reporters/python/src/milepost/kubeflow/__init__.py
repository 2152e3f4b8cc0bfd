# SPDX-License-Identifier: Apache-2.0
"""Names of the Kubeflow SDK with what its guide promises.

Change the import, and nothing else::

    from milepost.kubeflow import TrainerClient, update_trainjob_status

:func:`update_trainjob_status` needs nothing but this package. :class:`TrainerClient` is the client of the package
`kubeflow`, which has to be installed for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .status import update_trainjob_status

if TYPE_CHECKING:
    from .client import TrainerClient

__all__ = ["TrainerClient", "update_trainjob_status"]


def __getattr__(name: str) -> Any:
    """Imports the SDK for whoever asks for its client, so that training pods need not have it."""
    if name != "TrainerClient":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .client import TrainerClient

    return TrainerClient
