# SPDX-License-Identifier: Apache-2.0
"""Runs a training program under the real `milepost run`, and gives what was accepted of its reports.

Tests of integrations use it in place of a server of their own: the endpoint, the rules and the store are
those of a cluster.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

#: Names the command `milepost`; `go tool mage reporter:frameworks` builds it.
BINARY = "MILEPOST_BINARY"

#: The examples of the documentation.
EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples" / "python"

#: Seconds between two reports of an integration here. In a cluster it is 5, longer than most tests take.
INTERVAL = "0.02"

_LIMIT = 600.0

_LEADING = (
    "DISABLE_KUBEFLOW_INTEGRATION",
    "JAX_PROCESS_ID",
    "JOB_COMPLETION_INDEX",
    "KUBEFLOW_TRAINER_SERVER_CA_CERT",
    "KUBEFLOW_TRAINER_SERVER_TOKEN",
    "KUBEFLOW_TRAINER_SERVER_URL",
    "LOCAL_RANK",
    "MILEPOST_REPORT_INTERVAL",
    "OMPI_COMM_WORLD_RANK",
    "PET_NODE_RANK",
    "PYTHONPATH",
    "RANK",
    "SLURM_PROCID",
)


@dataclass(frozen=True)
class Outcome:
    """What a program reported, and how it ended."""

    reports: list[dict[str, Any]]
    """Every accepted report in the order of arrival, with the fields of `trainerStatus`."""
    final: dict[str, Any]
    """The stored `trainerStatus` after the end, empty when nothing was reported."""
    output: str
    """What the program wrote, and the lines of `milepost run` between."""
    code: int
    """The exit code."""

    @property
    def percents(self) -> list[Any]:
        """Progress of every report, None where it is unknown."""
        return [report.get("progressPercentage") for report in self.reports]

    @property
    def metrics(self) -> dict[str, str]:
        """The stored metrics."""
        return metrics_of(self.final)


def metrics_of(report: Mapping[str, Any]) -> dict[str, str]:
    """The metrics of a report by name."""
    return {metric["name"]: metric["value"] for metric in report.get("metrics", ())}


def run(program: str | Path, *args: object, env: Optional[Mapping[str, str]] = None, limit: float = _LIMIT) -> Outcome:
    """Runs a Python program to its end.

    Args:
        program: A file, or the text of a program when it has more than one line.
        args: Its arguments.
        env: Variables on top of those of the test; those that lead reporters astray are not passed on.
        limit: Seconds after which the program is taken to hang.
    """
    with tempfile.TemporaryDirectory(prefix="milepost-") as folder:
        if isinstance(program, str) and "\n" in program:
            script = Path(folder, "train.py")
            script.write_text(program, encoding="utf-8")
        else:
            script = Path(program)
        history, status = Path(folder, "history.jsonl"), Path(folder, "trainjob.yaml")
        command = [os.environ[BINARY], "run", "--plain", "--history", str(history), "--status-file", str(status)]
        ended = subprocess.run(
            [*command, "--", sys.executable, str(script), *map(str, args)],
            env=_environment(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit,
            text=True,
        )
        lines = history.read_text(encoding="utf-8").splitlines() if history.exists() else []
        return Outcome(
            reports=[json.loads(line)["trainerStatus"] for line in lines],
            final=_stored(status),
            output=ended.stdout,
            code=ended.returncode,
        )


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if name not in _LEADING}
    # Threads of numeric libraries wait for each other where cores are scarce.
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "MILEPOST_REPORT_INTERVAL": INTERVAL, **more}


def _stored(status: Path) -> dict[str, Any]:
    """The report in the file of a TrainJob. The command turns its YAML into JSON."""
    if not status.exists():
        return {}
    get = [os.environ[BINARY], "get", "--status-file", str(status), "--output", "json"]
    job = json.loads(subprocess.run(get, check=True, capture_output=True, text=True).stdout)
    found: dict[str, Any] = job.get("items", [job])[0]["status"].get("trainerStatus", {})
    return found
