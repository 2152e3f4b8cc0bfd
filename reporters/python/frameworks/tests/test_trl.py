# SPDX-License-Identifier: Apache-2.0
"""A trainer that is derived from the Trainer reports as well, and what it logs of its own."""

from __future__ import annotations

from harness import run
from trainer import OFFLINE, PROGRAM

SFT = PROGRAM.with_name("tiny_sft.py")


def test_a_trainer_of_trl_reports_without_a_line_about_it() -> None:
    got = run(SFT, env=OFFLINE)
    assert got.code == 0, got.output
    assert got.percents.count(100) == 1
    assert got.percents[-1] == 100
    assert got.metrics["current_step"] == "12"
    assert got.metrics.keys() >= {"loss", "learning_rate", "mean_token_accuracy", "num_tokens"}
