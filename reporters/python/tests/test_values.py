# SPDX-License-Identifier: Apache-2.0
"""Values that only Python has, and maps that are out to hurt. D7, D8, D9."""

from __future__ import annotations

import json
import math
import random
import struct
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any
from unittest.mock import MagicMock

import pytest

from milepost.metrics import MOST_BODY, Collected, encoded_size, kept_names, pairs, select
from milepost.values import float_text, number_of, plain_value


class Level(IntEnum):
    HIGH = 3


class Colour(str, Enum):
    RED = "red"


class LoudFloat(float):
    def __repr__(self) -> str:
        return f"LoudFloat({float(self)})"


class Tensor:
    """A tensor as far as a reporter can tell: item() works for one element alone."""

    def __init__(self, *elements: Any) -> None:
        self._elements = elements

    def item(self) -> Any:
        if len(self._elements) != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self._elements[0]

    def __float__(self) -> float:
        return float(self.item())

    def __repr__(self) -> str:
        return "tensor(" + "x" * 100 + ")"


class Index:
    def __index__(self) -> int:
        return 7


class Hostile:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("hands off")

    def __float__(self) -> float:
        raise RuntimeError("hands off")


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(Decimal("0.1"), "0.1", id="a decimal"),
        pytest.param(Decimal("1e-7"), "1e-7", id="a small decimal"),
        pytest.param(Decimal("NaN"), "NaN", id="a decimal that is not a number"),
        pytest.param(Decimal("sNaN"), None, id="a decimal that refuses to be a float"),
        pytest.param(Fraction(1, 4), "0.25", id="a fraction"),
        pytest.param(Level.HIGH, "3", id="a number with a name"),
        pytest.param(Colour.RED, "red", id="a text with a name"),
        pytest.param(LoudFloat(0.5), "0.5", id="a float whose repr is no number"),
        pytest.param(Index(), "7", id="an object that is an index"),
        pytest.param(Tensor(0.25), "0.25", id="a tensor with one element"),
        pytest.param(Tensor(True), "1", id="a tensor with a truth"),
        pytest.param(Tensor(Decimal("0.5")), "0.5", id="a tensor with a decimal"),
        pytest.param(Tensor(1.0, 2.0), None, id="a tensor with two elements"),
        pytest.param(Tensor("text"), None, id="a tensor with a text"),
        pytest.param(10**5000, None, id="a whole number that Python refuses to write"),
        pytest.param(-(10**63), None, id="a minus and 64 digits"),
        pytest.param(10**63, "1" + "0" * 63, id="64 digits"),
        pytest.param(1j, None, id="a complex number"),
        pytest.param(b"5", None, id="bytes"),
        pytest.param(Hostile(), None, id="an object that raises whatever one does"),
        pytest.param({"a": Hostile()}, None, id="a map with such an object"),
        pytest.param(object, None, id="a type"),
        pytest.param(lambda: 5, None, id="a function"),
        pytest.param("half a \ud83d sign", "half a \ufffd sign", id="a text with half a code point"),
    ],
)
def test_text(given: object, want: str | None) -> None:
    items = pairs(Collected({"m": given}).items)
    assert items == ([] if want is None else [("m", want)])


def test_a_mock_is_taken_for_what_it_pretends_to_be() -> None:
    assert plain_value(MagicMock()) == 1


def test_floats_read_back_as_they_were() -> None:
    chance = random.Random(4)
    for _ in range(20_000):
        (number,) = struct.unpack("<d", struct.pack("<Q", chance.getrandbits(64)))
        if not math.isnan(number):
            text = float_text(number)
            assert float(text) == number
            assert "e0" not in text
            assert not text.endswith(".0")


def test_booleans_count_as_numbers() -> None:
    assert number_of(True) == 1


class Lazy(Mapping[str, object]):
    """A map that computes what it holds, and may fail at that."""

    def __init__(self, entries: dict[str, object], broken: bool = False) -> None:
        self._entries, self._broken = entries, broken

    def __getitem__(self, name: str) -> object:
        if self._broken:
            raise OSError("the disk is gone")
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def test_a_map_within_itself_is_left_out() -> None:
    metrics: dict[str, Any] = {"loss": 1}
    metrics["self"] = metrics
    metrics["again"] = OrderedDict(deep=metrics)
    collected = Collected(metrics)
    assert pairs(collected.items) == [("loss", "1")]
    assert collected.unfit == ["self", "again/deep"]


def test_a_map_that_holds_another_many_times_ends() -> None:
    metrics: dict[str, Any] = {"x": 1}
    for _ in range(30):
        metrics = {"a": metrics, "b": metrics}
    assert len(Collected(metrics).items) <= 1 << 16


def test_maps_of_other_types() -> None:
    collected = Collected(Lazy({"a": 1, "eval": Lazy({"b": 2}), "bad": Lazy({"c": 3}, broken=True)}))
    assert pairs(collected.items) == [("a", "1"), ("eval/b", "2")]
    assert collected.unfit == ["bad"]


def test_numbers_as_names() -> None:
    collected = Collected({"accuracy": {0: 0.5, 1: 0.25, None: 1, 10**5000: 1}})
    assert pairs(collected.items) == [("accuracy/0", "0.5"), ("accuracy/1", "0.25")]
    assert len(collected.unfit) == 2


@pytest.mark.parametrize("given", [5, "loss", [1, 2], [("loss", 1)], object(), {1, 2}, Hostile])
def test_what_is_no_map_has_no_metrics(given: object) -> None:
    collected = Collected(given)
    assert (collected.items, collected.unfit) == ([], ["metrics"])


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (["a", 5, "b"], ("a", "b")),
        ("accuracy", ("accuracy",)),
        ({"a": 1}, ("a",)),
        (None, ()),
        (7, ()),
        (object(), ()),
    ],
)
def test_kept_names(given: object, want: tuple[str, ...]) -> None:
    assert tuple(kept_names(given)) == want


def test_kept_names_without_end_end() -> None:
    def names() -> Iterator[str]:
        while True:
            yield "a"

    assert len(kept_names(names())) <= 1 << 16


@pytest.mark.parametrize("sign", ["x", "\u0001", '"', "\U0001f680", "\n", "\u2028", "ä"])
def test_a_body_has_room_for_as_many_metrics_as_fit(sign: str) -> None:
    items = [(f"{i:03}" + sign * 61, sign * 64) for i in range(256)]
    room = MOST_BODY // 2
    selected = select(items, ("255" + sign * 61,), room)
    listed = [{"name": name, "value": text} for name, text in selected]
    size = len(json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode())
    assert size <= room
    assert items[0] in selected
    assert items[255] in selected
    if len(selected) < 256:
        assert size + encoded_size(*items[0]) > room
