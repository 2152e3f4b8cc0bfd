# SPDX-License-Identifier: Apache-2.0
"""The tables of openapi/vectors, which hold for every language."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

_FILE = Path(__file__).resolve().parents[3] / "openapi" / "vectors" / "tables.json"


def rows(kind: str) -> pytest.MarkDecorator:
    """Runs a test for each row of the tables of a kind."""
    found = [
        pytest.param(row, id=f"{row['name']}")
        for table in json.loads(_FILE.read_text(encoding="utf-8"))["tables"]
        for row in table["rows"]
        if table["table"] == kind
    ]
    if not found:
        raise LookupError(f"there is no table {kind}")
    return pytest.mark.parametrize("row", found)
