# SPDX-License-Identifier: Apache-2.0
"""Each row of the shared tables, against the part of the reporter that decides it."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from milepost_executor.given import arguments, value
from milepost_executor.operations import wire
from tables import rows

from milepost import answers, environment, pacing, slot, stored, transport
from milepost.metrics import MOST_BODY, Collected, kept_names, pairs, select
from milepost.process import stamp_after
from milepost.progress import Progress

Row = dict[str, Any]

COMPLETE = {environment.URL: "https://h:1/p", environment.CA_CERT: "/ca", environment.TOKEN: "/token"}


@rows("active")
def test_active(row: Row) -> None:
    variables = {name: text for name, text in {**COMPLETE, **row["environment"]}.items() if text is not None}
    endpoint, problems = environment.read(variables)
    assert (endpoint is not None) is row["want"]["active"]
    for word in row["want"].get("line", []):
        assert word in problems


@rows("rank")
def test_rank(row: Row) -> None:
    other = environment.other_rank(row["environment"], row.get("option"))
    assert (other == "") is row["want"]
    assert row["want"] or "rank" in other


@rows("progress")
def test_progress(row: Row) -> None:
    given = arguments(row)
    numbers = Progress().numbers(0.0, given.get("step"), given.get("total"), given.get("progress"), given.get("eta"))
    assert numbers == (row["want"]["progress"], row["want"]["eta"])


@rows("eta")
def test_eta(row: Row) -> None:
    progress = Progress()
    for report in row["reports"]:
        given = arguments(report)
        _, eta = progress.numbers(
            report["at"], given.get("step"), given.get("total"), given.get("progress"), given.get("eta")
        )
        assert eta == report["want"], report


@rows("values")
def test_values(row: Row) -> None:
    collected = Collected({"m": value(row["value"])})
    if row["want"] is None:
        assert (collected.items, collected.unfit) == ([], ["m"])
    else:
        assert (pairs(collected.items), collected.unfit) == ([("m", row["want"])], [])


@rows("metrics")
def test_metrics(row: Row) -> None:
    collected = Collected(value(row["metrics"]))
    selected = select(pairs(collected.items), kept_names(row.get("keep", ())), MOST_BODY)
    assert selected == [tuple(pair) for pair in row["want"]]


@rows("backoff")
@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_backoff(row: Row, chance: float) -> None:
    assert row["want"]["min"] <= pacing.backoff(row["failures"], chance) <= row["want"]["max"]


@rows("retry-after")
def test_retry_after(row: Row) -> None:
    now = datetime(2026, 6, 12, 3, tzinfo=timezone.utc).timestamp()
    assert pacing.retry_after(row["header"], now) == row["want"]


@rows("statuses")
def test_statuses(row: Row) -> None:
    outcomes = {
        "success": answers.TAKEN,
        "retry": answers.FAILED,
        "reauthenticate": answers.FAILED,
        "refuse": answers.REFUSED,
    }
    assert answers.outcome(row["status"]) == outcomes[row["want"]]
    assert (row["status"] == answers.UNAUTHORIZED) is (row["want"] == "reauthenticate")


@rows("messages")
def test_messages(row: Row) -> None:
    assert answers.message(row["body"].encode()) == row["want"]


@rows("warnings")
def test_warnings(row: Row) -> None:
    assert answers.warning_texts(row["headers"]) == row["want"]


@rows("tokens")
def test_tokens(row: Row) -> None:
    assert transport.token_text(row["file"].encode()) == row["want"]


@rows("stored")
def test_stored(row: Row) -> None:
    try:
        found = stored.read(answers.Answer(row["status"], row["body"].encode()))
    except ValueError:  # as in ask, where nothing can be learned
        found = None
    assert (None if found is None else wire(found)) == row["want"]


@rows("bodies")
def test_bodies(row: Row) -> None:
    status = row["report"]
    micros = round(datetime.strptime(status["lastUpdatedTime"], "%Y-%m-%dT%H:%M:%S.%f%z").timestamp() * 1e6)
    metrics = [(name, text) for name, text in status.get("metrics", [])]
    report = slot.Report(status.get("progressPercentage"), status.get("estimatedRemainingSeconds"), metrics, (), micros)
    body, left_out = slot.encode(report)
    assert body.decode() == row["want"]
    assert left_out == 0
    assert list(json.loads(body)) == ["trainerStatus"]


@rows("times")
def test_times(row: Row) -> None:
    before = 0
    if row["before"] is not None:
        before = round(datetime.strptime(row["before"], "%Y-%m-%dT%H:%M:%S.%f%z").timestamp() * 1e6)
    assert slot.time_text(stamp_after(before, row["micros"])) == row["want"]
