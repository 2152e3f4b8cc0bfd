# SPDX-License-Identifier: Apache-2.0
"""The harness, the wheel and what integrations share, under the real `milepost run`."""

from __future__ import annotations

from harness import metrics_of, run

TWO_STEPS = """
from milepost.integrations.shared import Session

session = Session("test")
session.begin()
session.report(1, 4, {"loss": 0.5, "junk": object(), "long": "x" * 65, "nested": {"a": True}})
session.stop()
session.begin()
session.report(2, 4, {"loss": 0.25})
session.report(metrics={"val_loss": float("nan")}, keep=["val_loss"])
session.complete()
"""


def test_reports_arrive_at_the_real_server() -> None:
    got = run(TWO_STEPS)
    assert got.code == 0, got.output
    assert got.percents[0] == 25
    assert metrics_of(got.reports[0]) == {"loss": "0.5", "nested/a": "1"}
    assert got.final["progressPercentage"] == 100
    assert got.final["estimatedRemainingSeconds"] == 0
    assert got.metrics == {"loss": "0.25", "val_loss": "NaN"}
    assert "left out" not in got.output


def test_a_program_that_fails_keeps_its_exit_code_and_its_last_report() -> None:
    got = run(
        """
        import sys
        from milepost.integrations.shared import Session
        session = Session("test")
        session.begin()
        session.report(1, 2)
        sys.exit(7)
        """.replace("\n        ", "\n")
    )
    assert got.code == 7
    assert got.final["progressPercentage"] == 50


def test_the_installed_wheel_is_what_runs() -> None:
    got = run("import milepost\n\nprint(milepost.__file__)\n")
    assert "site-packages" in got.output
    assert got.reports == []
    assert got.final == {}
