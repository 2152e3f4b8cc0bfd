# SPDX-License-Identifier: Apache-2.0
"""Bars of the real tqdm report, by the class in its place and by the patch."""

from __future__ import annotations

import pytest
from harness import EXAMPLES, run

#: A step that takes a while, without a sleep.
STEP = """
import numpy as np

def step(seconds=0.01, _matrix=np.ones((60, 60))):
    import time
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        _matrix @ _matrix
    return 0.5
"""

DROP_IN = STEP + "from milepost.integrations.tqdm import tqdm, trange\n"
PATCHED = (
    STEP + "import milepost.integrations.tqdm\nmilepost.integrations.tqdm.patch()\nfrom tqdm import tqdm, trange\n"
)

both = pytest.mark.parametrize("begin", [DROP_IN, PATCHED], ids=["class", "patch"])


def test_the_example_reports_what_its_bar_shows() -> None:
    got = run(EXAMPLES / "tqdm" / "train.py")
    assert got.code == 0, got.output
    assert "weights: [ 3.  -2.   0.5]" in got.output
    assert len(got.reports) > 3
    assert got.percents == sorted(got.percents)
    assert got.final["progressPercentage"] == 100
    assert set(got.metrics) == {"loss"}


@both
def test_only_the_outermost_bar_reports_and_all_have_metrics(begin: str) -> None:
    got = run(
        begin
        + """
for epoch in trange(4):
    with tqdm(total=20, leave=False) as inner:
        for _ in range(20):
            inner.set_postfix({"loss": step()}, epoch=epoch)
            inner.update()
"""
    )
    assert got.code == 0, got.output
    assert set(got.percents) <= {0, 25, 50, 75, 99, 100}
    assert {0, 25, 50, 75} <= set(got.percents)
    assert got.final["progressPercentage"] == 100
    assert got.metrics == {"loss": "0.5", "epoch": "3"}


@both
def test_updates_by_hand_count_and_go_on_from_where_the_bar_began(begin: str) -> None:
    got = run(
        begin
        + """
with tqdm(total=200, initial=180) as bar:
    for _ in range(20):
        step(0.03)
        bar.update(1)
"""
    )
    assert got.code == 0, got.output
    assert got.percents[0] == 90
    assert got.final["progressPercentage"] == 100
    remaining = [report["estimatedRemainingSeconds"] for report in got.reports if "estimatedRemainingSeconds" in report]
    assert max(remaining) <= 5  # a rate over all 200 steps would be far too fast, one over none far too slow


@both
def test_a_bar_without_total_has_metrics_alone(begin: str) -> None:
    got = run(
        begin
        + """
def stream():
    yield from range(30)

bar = tqdm(stream())
for _ in bar:
    bar.set_postfix(loss=step(), text="warming up", junk=[1, 2])
"""
    )
    assert got.code == 0, got.output
    assert set(got.percents[:-1]) == {None}
    assert got.final["progressPercentage"] == 100  # the stream came to its end
    assert got.metrics == {"loss": "0.5", "text": "warming up"}


@both
@pytest.mark.parametrize(
    ("loop", "code"),
    [
        ("for i in tqdm(range(100)):\n    step()\n    if i == 49: break\n", 0),
        ("for i in tqdm(range(100)):\n    step()\n    if i == 49: raise RuntimeError\n", 1),
        ("bar = tqdm(total=100)\nfor i in range(50):\n    step()\n    bar.update()\nbar.close()\n", 0),
        ("with tqdm(total=100) as bar:\n    for i in range(50):\n        step()\n        bar.update()\n", 0),
        ("for i in tqdm(range(100)):\n    step()\n    if i == 49: raise KeyboardInterrupt\n", 130),
    ],
    ids=["break", "exception", "close", "with", "interrupt"],
)
def test_a_bar_that_ends_before_its_total_leaves_the_last_report(begin: str, loop: str, code: int) -> None:
    got = run(begin + loop)
    assert got.code == code, got.output
    assert got.final["progressPercentage"] in (49, 50)


@both
def test_a_bar_that_shows_nothing_reports_all_the_same(begin: str) -> None:
    got = run(
        begin
        + """
for _ in tqdm(range(30), disable=True):
    step()
with tqdm(total=40, disable=True) as bar:
    for _ in range(20):
        step()
        bar.update(1)
"""
    )
    assert got.code == 0, got.output
    assert 48 <= got.final["progressPercentage"] <= 50  # of the second bar


def test_a_program_of_many_bars_is_complete_at_its_end_alone() -> None:
    got = run(PATCHED + "for epoch in range(3):\n    for _ in tqdm(range(20)):\n        step()\n")
    assert got.code == 0, got.output
    assert 100 not in got.percents[:-1]
    assert got.percents.count(0) >= 2
    assert got.final["progressPercentage"] == 100


def test_an_error_after_the_last_bar_is_no_completion() -> None:
    got = run(PATCHED + "for _ in tqdm(range(20)):\n    step()\nraise RuntimeError\n")
    assert got.code == 1
    assert got.final["progressPercentage"] == 99


def test_the_patch_ends_with_its_block() -> None:
    got = run(
        STEP
        + """
from milepost.integrations import tqdm as bars
from tqdm import tqdm

before = tqdm.update
with bars.patch():
    for _ in tqdm(range(20)):
        step()
assert tqdm.update is before
for _ in tqdm(range(20)):
    step()
"""
    )
    assert got.code == 0, got.output
    assert got.percents.count(0) <= 1
    assert got.final["progressPercentage"] == 100


def test_bars_of_rich_and_of_asyncio_report() -> None:
    got = run(
        PATCHED
        + """
import asyncio
from tqdm.asyncio import tqdm as async_tqdm
from tqdm.rich import tqdm as rich_tqdm

for _ in rich_tqdm(range(20)):
    step()

async def numbers():
    for number in range(40):
        yield number

async def main():
    async for _ in async_tqdm(numbers(), total=40):
        step()

asyncio.run(main())
"""
    )
    assert got.code == 0, got.output
    assert got.final["progressPercentage"] == 100
    assert got.percents.count(99) >= 1


def test_a_callback_of_a_framework_wins_over_the_patch() -> None:
    got = run(
        PATCHED
        + """
from milepost.integrations.shared import Session

session = Session("framework")
for i in tqdm(range(30)):
    step()
    if i == 10:
        session.begin()
    if i >= 10:
        session.report(i, 1000)
"""
    )
    assert got.code == 0, got.output
    assert got.final["progressPercentage"] == 2  # 29 of 1000


def test_bars_cost_little_and_a_laptop_sees_one_line() -> None:
    got = run(
        """
import os, time
for name in [name for name in os.environ if name.startswith("KUBEFLOW_")]:
    del os.environ[name]
from milepost.integrations.tqdm import tqdm

for _ in range(100):
    for _ in tqdm(range(10), disable=True):
        pass
began = time.perf_counter()
for _ in tqdm(range(100_000), disable=True):
    pass
print("microseconds:", (time.perf_counter() - began) * 10)
"""
    )
    assert got.code == 0, got.output
    assert got.output.count("nothing is reported outside a TrainJob") == 1
    assert float(got.output.split("microseconds:")[1].split()[0]) < 50
