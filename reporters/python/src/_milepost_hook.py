# SPDX-License-Identifier: Apache-2.0
"""Registers Milepost with frameworks that offer no way to do so from outside, once a program imports them.

Owns the moment. Does not own what is registered. The file `milepost_hook.pth` calls `install` when Python
starts inside a TrainJob, in every process: this module imports nothing that is not there already.
"""

from __future__ import annotations

import os
import sys

#: What runs after the import of a module: a module and a function of ours, which gets that module.
_AFTER = {
    "transformers.integrations": ("milepost.integrations.transformers_hook", "offer"),
    "transformers.trainer": ("milepost.integrations.transformers_hook", "register"),
}


def install() -> None:
    """Watches imports inside a TrainJob. What is registered looks itself whether it is switched off."""
    if not os.environ.get("KUBEFLOW_TRAINER_SERVER_URL"):
        return
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())  # type: ignore[arg-type]  # the protocol names more than is called


class Finder:
    """Finds nothing itself: it lets the others find a module, and asks to be called when that has run."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        """What importing asks of every finder, for every module."""
        if name not in _AFTER:
            return None
        try:
            for finder in sys.meta_path:
                find = None if isinstance(finder, Finder) else getattr(finder, "find_spec", None)
                spec = find and find(name, path, target)
                if spec:
                    _call_after(spec.loader, name)
                    return spec
        except Exception:  # then it is as if this finder were not here
            pass
        return None


def _call_after(loader: object, name: str) -> None:
    """Has the loader of a module call us once, after the module has run."""
    run = loader.exec_module  # type: ignore[attr-defined]

    def exec_module(module: object) -> None:
        del loader.exec_module  # type: ignore[attr-defined]  # which brings the one of its class back
        run(module)
        try:
            _integrate(name)
        except Exception:  # an integration that does not fit costs reports, never the training
            pass

    loader.exec_module = exec_module  # type: ignore[attr-defined]


def _integrate(name: str) -> None:
    module, function = _AFTER[name]
    __import__(module)
    getattr(sys.modules[module], function)(sys.modules[name])  # a module may have put another in its place
