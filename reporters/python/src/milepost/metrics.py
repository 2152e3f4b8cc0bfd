# SPDX-License-Identifier: Apache-2.0
"""The metrics of a call as the list that is sent. D7, D8, D9.

Owns names, nesting and limits. Does not own how a value becomes text.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Mapping
from typing import Optional

from ._wire import (
    METRIC_NAME_MAX_LENGTH,
    METRIC_NAME_MIN_LENGTH,
    METRIC_VALUE_MAX_LENGTH,
    METRIC_VALUE_MIN_LENGTH,
    TRAINER_STATUS_METRICS_MAX_ITEMS,
)
from .values import clean, value_text

Pair = tuple[str, str]

#: The most bytes of a body that a server reads.
MOST_BODY = 64 << 10

#: Entries that one call looks at. Maps that hold the same map many times grow without bound.
_MOST_VISITED = 1 << 16

#: `{"name":"","value":""}` and a comma.
_FRAME = 23

#: The most bytes that JSON needs for one code point.
_MOST_BYTES = 6


class Collected:
    """Metrics of one call: those that can be sent, and the names of those that cannot."""

    __slots__ = ("items", "unfit", "visited")

    def __init__(self, metrics: object = None) -> None:
        self.items: list[Pair] = []
        self.unfit: list[str] = []
        self.visited = 0
        if metrics is not None:
            self._nested("metrics", "", metrics, frozenset())

    def _nested(self, name: str, prefix: str, metrics: object, path: frozenset[int]) -> None:
        """Adds the entries of a map. The path holds the maps around it."""
        try:
            if not isinstance(metrics, Mapping) or id(metrics) in path:
                self.unfit.append(name)
                return
            path |= {id(metrics)}
            for key, value in list(metrics.items()):
                self.visited += 1
                if self.visited > _MOST_VISITED:
                    return
                self._entry(prefix, key, value, path)
        except Exception:  # a map of somebody else's making; it costs itself alone
            self.unfit.append(name)

    def _entry(self, prefix: str, key: object, value: object, path: frozenset[int]) -> None:
        """Adds one entry of a map."""
        text = _key_text(key)
        if text is None:
            self.unfit.append(f"{prefix}a key of type {type(key).__name__}")
            return
        name = prefix + text
        if len(name) > METRIC_NAME_MAX_LENGTH:
            self.unfit.append(name)
        elif type(value) is not float and _is_map(value):
            self._nested(name, name + "/", value, path)
        else:
            text = value_text(value)
            fits = text is not None and METRIC_VALUE_MIN_LENGTH <= len(text) <= METRIC_VALUE_MAX_LENGTH
            if text is not None and fits and len(name) >= METRIC_NAME_MIN_LENGTH:
                self.items.append((name, text))
            else:
                self.unfit.append(name)


def _is_map(value: object) -> bool:
    try:
        return isinstance(value, Mapping)
    except Exception:  # an object may even refuse to say what it is
        return False


def _key_text(key: object) -> Optional[str]:
    """The name that a key gives. Numbers of classes and layers are keys as good as text."""
    if isinstance(key, str):
        return clean(key)
    if isinstance(key, int):
        return int.__repr__(key) if key.bit_length() < 64 else None
    return None


def kept_names(keep: object) -> Collection[str]:
    """The names that a call marks: a list of them or a single one."""
    if isinstance(keep, str):
        return (keep,)
    try:
        most = itertools.islice(keep, _MOST_VISITED)  # type: ignore[call-overload]
        return tuple(name for name in most if isinstance(name, str))
    except Exception:  # not a list of anything
        return ()


def select(items: list[Pair], keep: Collection[str], room: int) -> list[Pair]:
    """Drops what the server would not take: over 256 metrics, and over the room in bytes.

    What is marked comes first. The order stays. D9.
    """
    if len(items) <= TRAINER_STATUS_METRICS_MAX_ITEMS and _surely_fit(items, room):
        return items
    marked = set(keep)
    taken: set[int] = set()
    for of_marked in (True, False):
        for at, (name, value) in enumerate(items):
            if (name in marked) is not of_marked:
                continue
            size = encoded_size(name, value)
            if len(taken) < TRAINER_STATUS_METRICS_MAX_ITEMS and size <= room:
                taken.add(at)
                room -= size
    return [item for at, item in enumerate(items) if at in taken]


def _surely_fit(items: list[Pair], room: int) -> bool:
    """Tells cheaply that all items have room."""
    signs = sum(len(name) + len(value) for name, value in items)
    return signs * _MOST_BYTES + len(items) * _FRAME <= room


def encoded_size(name: str, value: str) -> int:
    """Bytes of a metric in a body, with the comma behind it."""
    return len(json.dumps({"name": name, "value": value}, ensure_ascii=False, separators=(",", ":")).encode()) + 1
