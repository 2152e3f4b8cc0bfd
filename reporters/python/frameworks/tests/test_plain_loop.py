# SPDX-License-Identifier: Apache-2.0
"""A loop of one's own that is resumed at 90 % shows a time remaining that is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from harness import Outcome, metrics_of, run

#: Trains 1,000 steps from the step in the checkpoint on, and dies once at step 900.
TRAIN = """
import sys, time
from pathlib import Path

import milepost

TOTAL, RESUMED = 1000, 900
checkpoint = Path(sys.argv[1])
begin = int(checkpoint.read_text()) if checkpoint.exists() else 0

def train():
    for step in range(begin + 1, TOTAL + 1):
        work()
        m.report(step, TOTAL, {"step": step})
        if step == RESUMED and begin == 0:
            checkpoint.write_text(str(step))
            sys.exit("killed")
        if step == begin + 10:
            after_ten = time.monotonic()
    m.complete()
    print("seconds from there:", time.monotonic() - after_ten)
"""

#: What the accelerator does for a step takes a tenth of a second, but not before the checkpoint.
REAL = """
def work():
    if begin:
        time.sleep(0.1)

with milepost.start(interval=0) as m:
    train()
"""

#: A step takes half a minute of a clock that moves with the steps alone; the call gives the report time to leave.
FAKE = """
now = 0.0

def work():
    global now
    now += 30
    if begin:
        time.sleep(0.02)

with milepost.start(interval=0, clock=lambda: now) as m:
    train()
"""


def resumed(program: str, folder: Path) -> Outcome:
    """Runs it until it dies, and again."""
    checkpoint = folder / "checkpoint"
    first = run(TRAIN + program, checkpoint)
    assert first.code == 1
    assert "killed" in first.output
    assert first.final["progressPercentage"] == 90
    again = run(TRAIN + program, checkpoint)
    assert again.code == 0, again.output
    assert again.percents[0] == 90
    assert again.final["progressPercentage"] == 100
    return again


def after_ten_steps(got: Outcome) -> Any:
    """The time remaining ten steps after the checkpoint, or that of the next report if this one had to wait."""
    found = [
        report["estimatedRemainingSeconds"]
        for report in got.reports
        if 910 <= int(metrics_of(report)["step"]) <= 912 and "estimatedRemainingSeconds" in report
    ]
    assert found, got.reports
    return found[0]


def test_after_ten_steps_of_a_resumed_run_the_time_remaining_is_true(tmp_path: Path) -> None:
    got = resumed(REAL, tmp_path)
    said = re.search(r"seconds from there: ([\d.]+)", got.output)
    assert said is not None
    assert after_ten_steps(got) == pytest.approx(float(said[1]), rel=0.2)


def test_with_a_fake_clock_the_time_remaining_is_exact(tmp_path: Path) -> None:
    got = resumed(FAKE, tmp_path)
    assert after_ten_steps(got) in (90 * 30, 89 * 30, 88 * 30)
