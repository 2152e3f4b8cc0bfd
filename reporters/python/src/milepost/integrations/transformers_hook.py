# SPDX-License-Identifier: Apache-2.0
"""Makes the callback known to Transformers, without a line in the program.

Owns what is changed in the modules of Transformers, which is what their own integrations use: names, and
lists of callbacks. Called by `_milepost_hook` inside a TrainJob. Imports Transformers only when called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Optional

from .. import own

#: The name under which guides know the callback, in `transformers.integrations`.
NAME = "KubeflowTrainerCallback"

#: The name by which `report_to` knows it, from Transformers 5.4.0 on.
KEY = "kubeflow"

_silent = False  # whether the program made a callback of ours


def offer(integrations: ModuleType) -> None:
    """Lets `transformers.integrations` have the callback too, loaded when somebody asks for it."""
    given = vars(integrations).get("__getattr__")

    def __getattr__(name: str) -> Any:  # noqa: N807  # the name that Python looks for in a module
        if name == NAME:
            from .transformers import KubeflowTrainerCallback

            return KubeflowTrainerCallback
        if given is not None:
            return given(name)
        raise AttributeError(f"module {integrations.__name__!r} has no attribute {name!r}")

    setattr(integrations, "__getattr__", __getattr__)  # noqa: B010  # mypy takes it for a method otherwise


def register(trainer: ModuleType) -> None:
    """Gives every Trainer the callback, unless this version of Transformers has one of its own."""
    from transformers.integrations import integration_utils

    if _builtin() is not None:
        _make_yield()
        return
    from .transformers import _Automatic, _Named

    if _Automatic not in trainer.DEFAULT_CALLBACKS:
        trainer.DEFAULT_CALLBACKS.append(_Automatic)
        integration_utils.INTEGRATION_TO_CALLBACK.setdefault(KEY, _Named)


def silence_builtin() -> None:
    """Lets the callback of Transformers itself, where there is one, report nothing from now on."""
    global _silent
    _silent = True
    _make_yield()


def _builtin() -> Optional[type]:
    module = sys.modules.get("transformers.integrations.integration_utils")
    return getattr(module, "KubeflowCallback", None)


def _make_yield() -> None:
    """Puts a question before each event of the callback of Transformers: whether somebody else reports."""
    builtin = _builtin()
    if builtin is None or hasattr(builtin, "_milepost"):
        return
    builtin._milepost = True  # type: ignore[attr-defined]
    for name, event in list(vars(builtin).items()):
        if name.startswith("on_"):
            setattr(builtin, name, _unless_another_reports(event))


def _unless_another_reports(event: Any) -> Any:
    def yielding(*arguments: Any, **options: Any) -> Any:
        return None if _silent or own.reporting() else event(*arguments, **options)

    return yielding
