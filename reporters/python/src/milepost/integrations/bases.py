# SPDX-License-Identifier: Apache-2.0
"""The classes of a framework that has several names, or lives in several packages.

Owns which of them count. A callback has to derive from the class of the package that calls it.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def bases(*names: str) -> tuple[Any, ...]:
    """The classes that are in use: those of imported modules, else all that can be imported.

    Args:
        names: Module and class, as `package.module:Class`.

    Raises:
        ImportError: None of them is installed.
    """
    loaded = [name for name in names if name.partition(":")[0] in sys.modules]
    found = []
    for name in loaded or names:
        module, _, attribute = name.partition(":")
        try:
            found.append(getattr(importlib.import_module(module), attribute))
        except (ImportError, AttributeError):  # not installed, or not whole
            continue
    if not found:
        raise ImportError("none of these is installed: " + ", ".join(name.partition(":")[0] for name in names))
    return tuple(found)
