# SPDX-License-Identifier: Apache-2.0
"""What tests of integrations share."""

from __future__ import annotations

import os

import pytest
from harness import BINARY


def pytest_configure(config: pytest.Config) -> None:  # noqa: ARG001
    if not os.environ.get(BINARY):
        raise pytest.UsageError(f"{BINARY} does not name the command milepost: use `go tool mage reporter:frameworks`")
