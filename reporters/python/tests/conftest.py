# SPDX-License-Identifier: Apache-2.0
"""What tests share: a server, and a clean slate."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from endpoint import Endpoint

from milepost import ending, environment, lines


@pytest.fixture(autouse=True)
def clean_slate(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins as a process does: nothing was said, and nothing is set."""
    for name in (*environment.RANK_VARIABLES, environment.LOCAL_RANK, *environment.OLD_NAMES):
        monkeypatch.delenv(name, raising=False)
    for name in (environment.URL, environment.CA_CERT, environment.TOKEN):
        monkeypatch.delenv(name, raising=False)
    for once in (lines.METRICS, lines.WARNINGS, lines.FAULTS):
        once._said.clear()
    yield
    for sender in list(ending._live):
        sender.stop()
        ending.remove(sender)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """A server that takes every report, with an environment that leads to it."""
    with Endpoint(tmp_path) as endpoint:
        for name, setting in endpoint.environment().items():
            monkeypatch.setenv(name, setting)
        yield endpoint


@pytest.fixture
def program_environment(server: Endpoint) -> dict[str, str]:
    """For programs that tests start."""
    source = Path(__file__).resolve().parent.parent / "src"
    return {**os.environ, **server.environment(), "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
