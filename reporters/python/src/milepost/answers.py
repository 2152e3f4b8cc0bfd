# SPDX-License-Identifier: Apache-2.0
"""What an answer of the server means. D13, D14, D19, D20.

Owns statuses, messages and warnings. Does not own how an answer is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Optional

from ._wire import Status
from .lines import cut

#: What becomes of a report: the server has it, it is sent again, or it is dropped.
TAKEN, FAILED, REFUSED = "taken", "failed", "refused"

UNAUTHORIZED = 401


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    body: bytes = b""
    retry_after: Optional[str] = None
    warnings: tuple[str, ...] = ()  # headers as they came


def outcome(status: int) -> str:
    """Decides by the status. 401 is a failure here: the new token was tried before. D13, D14."""
    if status == 200:
        return TAKEN
    if status in (UNAUTHORIZED, 408, 429) or status >= 500:
        return FAILED
    return REFUSED


def message(body: bytes) -> str:
    """The server's own words, empty when there are none. D14."""
    try:
        status = Status.from_json(json.loads(body))
    except (ValueError, RecursionError):
        return ""
    return cut(status.message) if status is not None and status.message else ""


def warning_texts(headers: Iterable[str]) -> list[str]:
    """Texts of Warning headers such as 299 - "text", several to a header. D20."""
    texts = []
    for rest in headers:
        while rest:
            code, text, rest = _next_warning(rest)
            if code == "299" and text:
                texts.append(text)
    return texts


def _next_warning(header: str) -> tuple[str, str, str]:
    """Takes one warning off the front of a header: its code, its text, and the rest."""
    code, _, rest = header.lstrip(" ,").partition(" ")
    _, _, rest = rest.partition(" ")  # who warns
    quoted = _quoted(rest)
    if quoted is None:
        return "", "", ""  # the rest makes no sense without knowing where this one ends
    text, rest = quoted
    dated = _quoted(rest.lstrip(" "))
    return code, text, (rest if dated is None else dated[1]).lstrip(" ,")


def _quoted(source: str) -> Optional[tuple[str, str]]:
    """Reads a quoted text at the front. A backslash makes the next sign plain."""
    if not source.startswith('"'):
        return None
    text: list[str] = []
    at = 1
    while at < len(source):
        sign = source[at]
        if sign == '"':
            return "".join(text), source[at + 1 :]
        if sign == "\\" and at + 1 < len(source):
            at += 1
            sign = source[at]
        text.append(sign)
        at += 1
    return None
