# SPDX-License-Identifier: Apache-2.0
"""Versions of Transformers without a callback of their own get ours, and get it once."""

from __future__ import annotations

from harness import run
from trainer import HAS_ITS_OWN, LOGGED, OFFLINE, PROGRAM, percents_of


def test_this_version_has_no_callback_of_its_own() -> None:
    assert not HAS_ITS_OWN


def test_no_line_of_code_is_needed() -> None:
    got = run(PROGRAM, "--steps", 20, "--seconds", 0.03, env=OFFLINE)
    assert got.code == 0, got.output
    assert got.percents[-1] == 100
    assert len(set(got.percents)) > 5
    assert got.metrics.keys() >= LOGGED


def test_one_that_the_program_makes_takes_the_place_of_the_registered_one() -> None:
    got = run(PROGRAM, "--explicit", "--steps", 10, "--seconds", 0.03, env=OFFLINE)
    assert got.code == 0, got.output
    assert percents_of(got) == sorted(percents_of(got))
    assert got.percents.count(100) == 1
    assert "already one" not in got.output
