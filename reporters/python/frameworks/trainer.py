# SPDX-License-Identifier: Apache-2.0
"""Runs `programs/tiny_trainer.py`, a training with the Trainer of Transformers, for several files of tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

from harness import Outcome, metrics_of, run
from transformers import integrations

PROGRAM = Path(__file__).resolve().parent / "programs" / "tiny_trainer.py"

HAS_ITS_OWN = hasattr(integrations, "KubeflowCallback")

#: What makes the program use the callback of ours: nothing where Transformers has none.
OURS = ["--explicit"] if HAS_ITS_OWN else []

OFFLINE = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}

#: What the Trainer logs in a training with evaluations.
LOGGED = {"loss", "learning_rate", "grad_norm", "epoch", "eval_loss", "eval_accuracy"}


def train(*arguments: object, env: Optional[dict[str, str]] = None) -> Outcome:
    """Runs the program with the callback of ours."""
    ours = [] if "--explicit" in arguments else OURS
    return run(PROGRAM, *ours, *arguments, env={**OFFLINE, **(env or {})})


def trained(*arguments: object, env: Optional[dict[str, str]] = None) -> Outcome:
    """Runs the program, which ends well."""
    got = train(*arguments, env=env)
    assert got.code == 0, got.output
    assert got.reports, got.output
    assert "went wrong" not in got.output
    return got


def step_of(report: dict[str, Any]) -> int:
    """The step that a report tells."""
    return int(metrics_of(report)["current_step"])


def percents_of(got: Outcome) -> list[int]:
    """Progress of the reports that have one."""
    return [percent for percent in got.percents if percent is not None]
