# SPDX-License-Identifier: Apache-2.0
"""The examples of the README run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from endpoint import Endpoint

README = Path(__file__).resolve().parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs_in_a_train_job(server: Endpoint, program_environment: dict[str, str], example: str) -> None:
    subprocess.run([sys.executable, "-c", example], env=program_environment, check=True)
    if "stored" not in example:
        assert server.percents()[-1] == 100


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs_anywhere_else(program_environment: dict[str, str], example: str) -> None:
    laptop = {name: text for name, text in program_environment.items() if not name.startswith("KUBEFLOW_")}
    ended = subprocess.run([sys.executable, "-c", example], env=laptop, check=True, capture_output=True, text=True)
    # The function of the Kubeflow SDK says nothing there.
    assert len(ended.stderr.splitlines()) == (0 if "kubeflow" in example else 1)
    assert ended.stdout == ""
