# SPDX-License-Identifier: Apache-2.0
"""Values of the protocol as objects of Python."""

from __future__ import annotations

from typing import Any


class Item:
    """What tensors with one element look like."""

    def __init__(self, number: object) -> None:
        self._number = number

    def item(self) -> object:
        return self._number


def value(given: Any) -> Any:
    """A value as the program has it. Objects with one key that begins with $ say what JSON cannot."""
    if isinstance(given, list):
        return [value(item) for item in given]
    if not isinstance(given, dict):
        return given
    if "$float" in given:
        return float(given["$float"])
    if "$int" in given:
        return int(given["$int"])
    if "$item" in given:
        return Item(value(given["$item"]))
    if "$opaque" in given:
        return object()
    if "$self" in given:
        return _holds_itself(given["$self"])
    if "$twice" in given:
        return _holds_twice(given["$twice"])
    return {name: value(item) for name, item in given.items()}


def _holds_itself(names: list[str]) -> dict[str, Any]:
    """A map that holds itself under each of the names."""
    graph: dict[str, Any] = {}
    graph.update(dict.fromkeys(names, graph), x=1)
    return graph


def _holds_twice(depth: int) -> Any:
    """Maps within each other, each of which holds the next one twice."""
    graph: Any = 1
    for _ in range(depth):
        graph = {"a": graph, "b": graph}
    return graph


def arguments(request: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a report."""
    names = {"step": "step", "totalSteps": "total", "progress": "progress", "eta": "eta"}
    found = {name: value(request[field]) for field, name in names.items() if field in request}
    for name in ("metrics", "keep"):
        if name in request:
            found[name] = value(request[name])
    return found
