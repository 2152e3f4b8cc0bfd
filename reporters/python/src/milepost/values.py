# SPDX-License-Identifier: Apache-2.0
"""Numbers out of whatever a program hands over, and their text.

Owns D7: which objects are numbers, and how a number is written. Needs no framework: tensors and
scalars are known by what they can do.
"""

from __future__ import annotations

import math
import operator
import re
from typing import Callable, Optional, SupportsFloat, SupportsIndex, TypeVar, Union

from ._wire import METRIC_VALUE_MAX_LENGTH

Number = Union[int, float]

_T = TypeVar("_T")

#: Whole numbers of so few bits have at most 63 digits. Those of more than the most have more than 64;
#: writing one would be slow, and Python refuses to write very long ones.
_SURE_BITS, _MOST_BITS = 208, 216

_SURROGATES = re.compile("[\ud800-\udfff]")


def number_of(value: object) -> Optional[Number]:
    """The number that a value is or holds, None when there is none. Never raises."""
    kind = type(value)
    if kind is int or kind is float:
        return value  # type: ignore[return-value]  # mypy does not follow type()
    try:
        found = _plain(value)
        return _converted(value) if found is None else found
    except Exception:  # an object may do anything when it is asked
        return None


def _plain(value: object) -> Optional[Number]:
    """Numbers of Python, and of types derived from them, as plain ones."""
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return None


def _converted(value: object) -> Optional[Number]:
    """Tensors with one element, scalars and arrays of NumPy, decimals and the like."""
    if isinstance(value, (str, bytes)):
        return None  # NumPy has texts that turn into numbers
    item = getattr(value, "item", None)
    if callable(item):
        inner = _quietly(item)
        found = _plain(inner) if inner is not None else None
        if found is not None:
            return found
    if isinstance(value, SupportsIndex):
        whole = _quietly(lambda: operator.index(value))
        if whole is not None:
            return whole
    return float(value) if isinstance(value, SupportsFloat) else None


def _quietly(call: Callable[[], _T]) -> Optional[_T]:
    try:
        return call()
    except Exception:  # such as item() of a tensor with many elements
        return None


def plain_value(value: object) -> Union[str, Number, None]:
    """The text or number that is sent for a value. None when it cannot be sent. Never raises. D7."""
    if type(value) is float:
        return value
    try:
        if isinstance(value, str):
            return str.__str__(value) if 0 < len(value) <= METRIC_VALUE_MAX_LENGTH else None
    except Exception:  # an object may even refuse to say what it is
        return None
    number = number_of(value)
    return None if isinstance(number, int) and not _is_short(number) else number


def _is_short(number: int) -> bool:
    """Whether a whole number fits. Those of few bits need not be written to know."""
    bits = number.bit_length()
    return bits <= _SURE_BITS or (bits <= _MOST_BITS and len(str(number)) <= METRIC_VALUE_MAX_LENGTH)


def plain_text(value: Union[str, Number]) -> str:
    """Writes what plain_value gave."""
    if isinstance(value, str):
        return clean(value)
    return float_text(value) if isinstance(value, float) else str(value)


def float_text(number: float) -> str:
    """Writes a number as Number::toString of ECMAScript does."""
    if not math.isfinite(number):
        return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
    text = repr(number)  # the shortest digits that read back as the same number
    if "e" not in text:
        if text.endswith(".0"):
            text = text[:-2]
        return "0" if text == "-0" else text
    return _exponent_text(text)


def _exponent_text(text: str) -> str:
    """Moves the point of a text such as -1.5e-09 to where ECMAScript has it."""
    mantissa, _, exponent = text.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    digits = mantissa.lstrip("-").replace(".", "")
    tens = int(exponent)
    point = tens + 1  # how many digits stand before the point
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    if len(digits) > 1:
        digits = digits[0] + "." + digits[1:]
    return f"{sign}{digits}e{tens:+d}"


def clean(text: str) -> str:
    """Takes out halves of code points, which no JSON can carry."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
