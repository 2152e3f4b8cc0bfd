# SPDX-License-Identifier: Apache-2.0
"""The tracker in the real Accelerator, under the real `milepost run`."""

from __future__ import annotations

from pathlib import Path

from harness import EXAMPLES, Outcome, metrics_of, run

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "tiny_accelerate.py"


def train(*arguments: object) -> Outcome:
    """Runs the program, which ends well."""
    got = run(PROGRAM, *arguments)
    assert got.code == 0, got.output
    return got


def test_the_example_reports() -> None:
    got = run(EXAMPLES / "accelerate" / "train.py", "--epochs", 3)
    assert got.code == 0, got.output
    assert got.final["progressPercentage"] == 100
    assert got.metrics.keys() == {"loss", "epoch"}
    assert got.metrics["epoch"] == "3"


def test_steps_are_progress_and_values_are_metrics() -> None:
    got = train("--total", 10)
    assert got.percents == sorted(percent for percent in got.percents if percent is not None)
    assert len(set(got.percents)) > 4
    assert got.final["progressPercentage"] == 100
    assert got.final["estimatedRemainingSeconds"] == 0
    assert got.metrics == {"loss": got.metrics["loss"], "lr": "0.5", "nan": "NaN", "eval_accuracy": "0.1"}
    assert abs(float(got.metrics["loss"]) - 0.1) < 1e-6


def test_the_number_of_steps_is_found_in_the_configuration() -> None:
    got = train("--configured", "--open")
    assert got.final["progressPercentage"] == 99


def test_without_a_number_of_steps_there_are_metrics_alone_until_the_end() -> None:
    got = train()
    assert set(got.percents[:-1]) == {None}
    assert got.percents[-1] == 100


def test_a_loop_that_does_not_say_its_end_is_not_complete() -> None:
    got = train("--total", 20, "--open")
    assert got.final["progressPercentage"] == 50


def test_an_exception_on_its_way_through_the_end_of_training_is_no_completion() -> None:
    got = run(PROGRAM, "--total", 10, "--raise-at", 7)
    assert got.code == 1
    assert "out of memory" in got.output
    assert got.final["progressPercentage"] == 70


def test_a_checkpoint_keeps_the_metrics_of_evaluations(tmp_path: Path) -> None:
    train("--total", 20, "--open", "--save", tmp_path / "half")
    got = train("--total", 20, "--steps", 20, "--from-step", 10, "--load", tmp_path / "half")
    assert 55 <= (got.percents[0] or 0) < 75
    assert metrics_of(got.reports[0])["eval_accuracy"] == "0.1"
    assert got.metrics["eval_accuracy"] == "0.2"


TWO_PROCESSES = f"""
import sys
from torch.distributed.run import main
main(["--nproc-per-node=2", "--standalone", {str(PROGRAM)!r}, *sys.argv[1:]])
"""


def test_one_process_of_two_reports() -> None:
    got = run(TWO_PROCESSES, "--total", 10)
    assert got.code == 0, got.output
    assert got.percents.count(100) == 1
