# SPDX-License-Identifier: Apache-2.0
"""The metrics of a call as the list that is sent. D7, D8, D9.

Owns names, nesting and limits. Does not own how a value becomes text.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Mapping
from typing import Optional, Union

from ._wire import (
    METRIC_NAME_MAX_LENGTH,
    TRAINER_STATUS_METRICS_MAX_ITEMS,
)
from .values import Number, clean, plain_text, plain_value

#: A name and its text, as they are sent.
Pair = tuple[str, str]

#: A name and its value, as a call leaves them. Their text is made when they are sent, as most never are.
Item = tuple[str, Union[str, Number]]

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
        self.items: list[Item] = []
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
            entries = list(metrics.items())
            self.visited += len(entries)
            if self.visited > _MOST_VISITED:
                del entries[_MOST_VISITED:]
            for key, value in entries:
                text = key if type(key) is str else _key_text(key)
                if text is None:
                    self.unfit.append(f"{prefix}a key of type {type(key).__name__}")
                else:
                    self._entry(prefix + text, value, path)
        except Exception:  # a map of somebody else's making; it costs itself alone
            self.unfit.append(name)

    def _entry(self, name: str, value: object, path: frozenset[int]) -> None:
        """Adds one entry of a map."""
        if len(name) > METRIC_NAME_MAX_LENGTH:
            self.unfit.append(name)
        elif type(value) is not float and _is_map(value):
            if self.visited <= _MOST_VISITED:
                self._nested(name, name + "/", value, path)
        else:
            plain = plain_value(value)
            if plain is None or not name:
                self.unfit.append(name)
            else:
                self.items.append((name, plain))


def _is_map(value: object) -> bool:
    if type(value) is int or type(value) is str:
        return False  # which saves looking at classes
    try:
        return isinstance(value, Mapping)
    except Exception:  # an object may even refuse to say what it is
        return False


def _key_text(key: object) -> Optional[str]:
    """The name that a key gives. Numbers of classes and layers are keys as good as text."""
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, int) and key.bit_length() < 64:
        return int.__repr__(key)
    return None


def pairs(items: list[Item]) -> list[Pair]:
    """The list that is sent for the metrics of a call."""
    return [(clean(name), plain_text(value)) for name, value in items]


def kept_names(keep: object) -> Collection[str]:
    """The names that a call marks: a list of them or a single one."""
    if isinstance(keep, str):
        return (clean(keep),)
    try:
        most = itertools.islice(keep, _MOST_VISITED)  # type: ignore[call-overload]
        return tuple(clean(name) for name in most if isinstance(name, str))
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
