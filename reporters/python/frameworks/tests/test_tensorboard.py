# SPDX-License-Identifier: Apache-2.0
"""The follower reports what real writers of event files write: tensorboardX and TensorBoard."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from harness import EXAMPLES, Outcome, run

EXAMPLE = EXAMPLES / "tensorboard" / "train.py"

#: Runs the follower as a program, around another one.
FOLLOWER = """
import runpy, sys

sys.argv[0] = "tensorboard"
runpy.run_module("milepost.integrations.tensorboard", run_name="__main__", alter_sys=True)
"""

#: Writes scalars, one a call, at a pace. The clock of the events is scaled: a step is a second.
WRITE = """
import sys, time
from tensorboardX import SummaryWriter

def write(folder, tag, steps, wait=0.005, began=1_700_000_000.0):
    with SummaryWriter(folder, flush_secs=1) as writer:
        for step in steps:
            writer.add_scalar(tag, 1 / (step + 1), step, walltime=began + step)
            writer.flush()
            end = time.perf_counter() + wait
            while time.perf_counter() < end:
                pass
"""


def followed(logdir: Path, total: int, *command: object, more: tuple[str, ...] = ()) -> Outcome:
    options = ("--logdir", logdir, "--total-steps", total, "--poll", "0.05", *more)
    return run(FOLLOWER, *options, "--", sys.executable, *command)


def test_the_example_is_followed_from_outside(tmp_path: Path) -> None:
    got = followed(tmp_path / "runs", 3000, EXAMPLE, tmp_path / "runs")
    assert got.code == 0, got.output
    assert "weights: [ 3.  -2.   0.5]" in got.output
    assert got.final["progressPercentage"] == 100
    assert list(got.metrics) == ["loss"]
    assert float(got.metrics["loss"]) == pytest.approx(0.01, abs=0.005)


def test_progress_and_time_remaining_follow_from_the_events_with_a_scaled_clock(tmp_path: Path) -> None:
    script = tmp_path / "write.py"
    script.write_text(WRITE + f"write({str(tmp_path / 'runs')!r}, 'loss', range(1, 101))\nsys.exit(3)\n")
    got = followed(tmp_path / "runs", 400, script)
    assert got.code == 3
    assert got.final["progressPercentage"] == 25
    assert got.percents == sorted(got.percents)
    assert len(set(got.percents)) > 3
    # 300 steps of a second each are left.
    assert got.final["estimatedRemainingSeconds"] == 300
    assert "the training failed: exit code 3" in got.output


def test_a_program_follows_its_own_files_of_several_runs(tmp_path: Path) -> None:
    got = run(
        WRITE
        + f"""
from milepost.integrations.tensorboard import follow

folder = {str(tmp_path)!r}
write(folder, "loss", range(900, 1000), wait=0)  # an earlier run
with follow(folder, total_steps=200, poll=0.02):
    write(folder + "/train", "loss", range(1, 101))
    write(folder + "/validation", "loss", [100], began=1_700_000_100.0)
    write(folder + "/train", "x" * 65, [100], began=1_700_000_100.0)
"""
    )
    assert got.code == 0, got.output
    # The earlier run would show 99 %. The completion may take the place of the report of step 100.
    assert 25 < max(got.percents[:-1]) <= 50
    assert got.final["progressPercentage"] == 100
    assert set(got.metrics) == {"train/loss", "validation/loss"}


def test_an_error_in_the_block_leaves_the_last_report_as_it_is(tmp_path: Path) -> None:
    got = run(
        WRITE
        + f"""
from milepost.integrations.tensorboard import follow

with follow({str(tmp_path)!r}, 100, poll=0.02):
    write({str(tmp_path)!r}, "loss", range(1, 41))
    raise RuntimeError
"""
    )
    assert got.code == 1
    assert got.final["progressPercentage"] == 40


def test_one_curve_may_say_where_the_training_is(tmp_path: Path) -> None:
    script = tmp_path / "write.py"
    script.write_text(
        WRITE
        + f"""
write({str(tmp_path / "runs")!r}, "lm-loss", range(1, 31), wait=0)
write({str(tmp_path / "runs" / "samples")!r}, "lm-loss", range(0, 30_000, 1000), wait=0)
sys.exit(1)
"""
    )
    got = followed(tmp_path / "runs", 60, script, more=("--step-tag", "lm-loss"))
    assert got.final["progressPercentage"] == 50
    assert set(got.metrics) == {"lm-loss", "samples/lm-loss"}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGUSR1, 7)])
def test_signals_reach_the_command(tmp_path: Path, number: signal.Signals, code: int) -> None:
    script = tmp_path / "wait.py"
    script.write_text(
        f"""
import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))
os.kill(os.getppid(), {int(number)})
signal.pause()
"""
    )
    assert followed(tmp_path / "runs", 10, script).code == code


def test_a_command_that_does_not_start_has_the_exit_code_of_shells(tmp_path: Path) -> None:
    got = run(FOLLOWER, "--logdir", tmp_path, "--", "no-such-command")
    assert got.code == 127
    assert "no-such-command: No such file or directory" in got.output


def test_what_registers_itself_in_the_command_is_silent(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        """
from milepost.integrations.shared import Session

session = Session("framework", automatic=True)
session.begin()
session.report(1, 2)
"""
    )
    got = followed(tmp_path / "runs", 10, script)
    assert (got.code, got.percents) == (0, [100])


def test_other_ranks_run_the_command_and_report_nothing(tmp_path: Path) -> None:
    command = ("--logdir", tmp_path, "--", sys.executable, "-c", "print('trained')")
    got = run(FOLLOWER, *command, env={"PET_NODE_RANK": "1"})
    assert (got.code, got.reports) == (0, [])
    assert "trained" in got.output
