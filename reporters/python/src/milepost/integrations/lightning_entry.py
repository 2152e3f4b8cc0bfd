# SPDX-License-Identifier: Apache-2.0
"""What Lightning calls when a program makes a Trainer, through an entry point of the package.

Owns whether a Trainer gets a callback of ours. Imports Lightning only where it does.
"""

from __future__ import annotations

from typing import Any

from .shared import wanted


def for_lightning() -> list[Any]:
    """Callbacks for a Trainer of `lightning.pytorch`."""
    return _callbacks("lightning.pytorch")


def for_pytorch_lightning() -> list[Any]:
    """Callbacks for a Trainer of `pytorch_lightning`."""
    return _callbacks("pytorch_lightning")


def _callbacks(package: str) -> list[Any]:
    try:
        if not wanted():
            return []
        from .bases import bases
        from .lightning import MilepostCallback

        # A program that began with one of the packages may go on with the other, which does not know the callback.
        (base,) = bases(f"{package}:Callback")
        return [MilepostCallback(_automatic=True)] if issubclass(MilepostCallback, base) else []
    except Exception:  # a Trainer without reports is better than none
        return []
