# SPDX-License-Identifier: Apache-2.0
"""Versions of Transformers with a callback of their own keep it, and never report twice."""

from __future__ import annotations

from harness import Outcome, run
from trainer import HAS_ITS_OWN, LOGGED, OFFLINE, PROGRAM


def values_of_theirs(got: Outcome) -> list[dict[str, object]]:
    """Reports that their callback made: it writes whole floats with a point, which ours leaves out."""
    return [report for report in got.reports if {"name": "epoch", "value": "2.0"} in report.get("metrics", ())]


def test_this_version_has_a_callback_of_its_own() -> None:
    assert HAS_ITS_OWN


def test_theirs_alone_reports_where_the_program_says_nothing() -> None:
    got = run(PROGRAM, "--steps", 20, env=OFFLINE)
    assert got.code == 0, got.output
    assert got.percents == [0, 100], "it reports every 5 seconds, and the training is shorter"
    assert got.metrics.keys() >= LOGGED
    assert len(values_of_theirs(got)) == 1


def test_theirs_is_silent_where_the_program_makes_ours() -> None:
    got = run(PROGRAM, "--explicit", "--steps", 20, "--seconds", 0.03, env=OFFLINE)
    assert got.code == 0, got.output
    assert values_of_theirs(got) == []
    assert got.percents.count(100) == 1
    assert len(set(got.percents)) > 5


AFTER_THE_TRAINER = """
import sys
from transformers import Trainer
program = open(sys.argv.pop(1)).read()
program = program.replace('for what in', 'from milepost.integrations.transformers import KubeflowTrainerCallback\\n'
    'trainer.add_callback(KubeflowTrainerCallback())\\nfor what in')
exec(compile(program, "train.py", "exec"))
"""


def test_theirs_is_silent_where_ours_is_added_to_a_trainer_later() -> None:
    got = run(AFTER_THE_TRAINER, PROGRAM, "--steps", 20, env=OFFLINE)
    assert got.code == 0, got.output
    assert values_of_theirs(got) == []
    assert got.percents.count(100) == 1
