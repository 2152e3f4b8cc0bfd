# SPDX-License-Identifier: Apache-2.0
"""update_trainjob_status: that of the published SDK and ours, in the same programs and at the same server."""

from __future__ import annotations

import inspect

import kubeflow.trainer
import pytest
from harness import EXAMPLES, Outcome, run

import milepost.kubeflow

SDK, OURS = "kubeflow.trainer", "milepost.kubeflow"

# The loop of the guide, with epochs that take no time.
GUIDE = """
import logging
import time

from MODULE import update_trainjob_status

logging.basicConfig()
said = [update_trainjob_status(progress_percent=0)]
time.sleep(0.5)
for epoch in range(4):
    said.append(update_trainjob_status(
        progress_percent=int((epoch + 1) / 5 * 100),
        estimated_remaining_seconds=10 * (3 - epoch),
        metrics={"loss": 1 / (epoch + 1), "accuracy": epoch / 4},
    ))
said.append(update_trainjob_status(progress_percent=100))
print(said)
"""

ODD = """
from MODULE import update_trainjob_status

print(update_trainjob_status(float("nan"), metrics={"loss": 0.1, "notes": None, "eval": {"f1": 0.5}}))
"""

RANK = """
from MODULE import update_trainjob_status

print(update_trainjob_status(50))
"""

DEAD = """
import os
import time

os.environ["KUBEFLOW_TRAINER_SERVER_URL"] = "https://127.0.0.1:1/"
from MODULE import update_trainjob_status

said = [update_trainjob_status(1) for _ in range(3)]
print(said)
"""


def run_with(module: str, program: str, **env: str) -> Outcome:
    outcome = run(program.replace("MODULE", module), env=env)
    assert outcome.code == 0, outcome.output
    return outcome


def test_the_signature_is_that_of_the_sdk() -> None:
    theirs, ours = (
        inspect.signature(module.update_trainjob_status) for module in (kubeflow.trainer, milepost.kubeflow)
    )
    assert [(p.name, p.kind, p.default) for p in ours.parameters.values()] == [
        (p.name, p.kind, p.default) for p in theirs.parameters.values()
    ]
    assert ours.return_annotation == theirs.return_annotation == "bool"


def test_the_sdk_drops_what_comes_within_five_seconds_the_last_report_too() -> None:
    outcome = run_with(SDK, GUIDE)
    assert "[True, False, False, False, False, False]" in outcome.output
    assert outcome.percents == [0]


def test_ours_sends_the_last_report() -> None:
    outcome = run_with(OURS, GUIDE)
    assert "[True, True, True, True, True, True]" in outcome.output
    assert outcome.percents[0] == 0
    assert outcome.final["progressPercentage"] == 100
    assert outcome.final["estimatedRemainingSeconds"] == 0


def test_the_sdk_says_100_for_what_is_no_number() -> None:
    assert run_with(SDK, ODD).final["progressPercentage"] == 100


def test_ours_leaves_out_what_is_no_number() -> None:
    outcome = run_with(OURS, ODD)
    assert "True" in outcome.output
    assert "progressPercentage" not in outcome.final
    assert outcome.metrics == {"loss": "0.1", "eval/f1": "0.5"}


@pytest.mark.parametrize(("module", "reports"), [(SDK, 1), (OURS, 0)])
def test_other_ranks(module: str, reports: int) -> None:
    outcome = run_with(module, RANK, RANK="1")
    assert len(outcome.reports) == reports  # the SDK leaves it to the program
    assert str(bool(reports)) in outcome.output


@pytest.mark.parametrize(("module", "said"), [(SDK, "[False, False, False]"), (OURS, "[True, True, True]")])
def test_what_is_returned_where_nobody_listens(module: str, said: str) -> None:
    assert said in run_with(module, DEAD).output


@pytest.mark.parametrize("module", [SDK, OURS])
def test_outside_a_trainjob_nothing_is_said(module: str) -> None:
    program = "import os\n\nos.environ.pop('KUBEFLOW_TRAINER_SERVER_URL')\n" + RANK
    outcome = run_with(module, program)
    assert outcome.output.count("\n") == run_with(module, "x = 1\nprint(x)\n").output.count("\n")
    assert "False" in outcome.output


def test_the_example() -> None:
    outcome = run(EXAMPLES / "kubeflow_sdk" / "train.py")
    assert outcome.code == 0, outcome.output
    assert outcome.final["progressPercentage"] == 100
    assert float(outcome.metrics["accuracy"]) > 0.9
    assert f"accuracy {float(outcome.metrics['accuracy']):.3f}" in outcome.output
