# SPDX-License-Identifier: Apache-2.0
"""What integrations share: one reports, metrics add up, state survives a checkpoint."""

from __future__ import annotations

import copy
import json
import os
import pickle
import threading

import pytest
from endpoint import Endpoint, Request, eventually

import milepost
from milepost.integrations import shared
from milepost.integrations.claim import Claim
from milepost.integrations.shared import MOST_NAMES, Session


@pytest.fixture(autouse=True)
def nobody_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins with a free claim and reports at once."""
    monkeypatch.setenv(shared.INTERVAL, "0")
    monkeypatch.delenv(shared.DISABLE, raising=False)
    monkeypatch.setattr(shared, "CLAIM", Claim())
    shared._SAID._said.clear()
    milepost.own._started = []


def metrics(request: Request) -> dict[str, str]:
    return {metric["name"]: metric["value"] for metric in request.status.get("metrics", ())}


def test_metrics_add_up_until_the_next_training(server: Endpoint) -> None:
    session = Session("x")
    assert session.begin()
    session.report(1, 4, {"loss": 0.5})
    server.await_request(1)
    session.report(metrics={"val": {"f1": 0.8}})
    second = server.await_request(2)
    assert metrics(second) == {"loss": "0.5", "val/f1": "0.8"}
    assert second.status["progressPercentage"] == 25
    session.complete({"loss": 0.25})
    assert metrics(server.await_request(3)) == {"loss": "0.25", "val/f1": "0.8"}
    assert server.percents() == [25, 25, 100]
    session.begin()
    session.report(1, 2)
    assert metrics(server.await_request(4)) == {}


def test_what_is_kept_stays_among_more_than_256(server: Endpoint) -> None:
    session = Session("x")
    session.begin()
    session.report(1, 2, {"val": 1}, keep=["val"])
    session.report(1, 2, {f"layer{number}": number for number in range(2 * MOST_NAMES)})
    session.complete()
    assert "val" in metrics(server.requests[-1])
    assert len(metrics(server.requests[-1])) == 256
    assert len(session.state()["metrics"]) == MOST_NAMES


def test_what_cannot_be_sent_is_left_out_without_a_line(server: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    session = Session("x")
    session.begin()
    session.report(1, 2, {"a": 1, "junk": object(), "long": "x" * 65, "nan": float("nan"), "": 3, "none": None})
    assert metrics(server.await_request(1)) == {"a": "1", "nan": "NaN"}
    assert caplog.records == []


def test_state_survives_a_checkpoint(server: Endpoint) -> None:
    before = Session("x")
    before.begin()
    before.report(9, 10, {"val": 0.5, "nan": float("nan")}, keep=["val"])
    state = json.loads(json.dumps(before.state()))
    before.stop()
    after = Session("x")
    after.restore(state)
    after.begin()
    after.report(9, 10)
    eventually(lambda: len(server.requests) >= 2)
    assert metrics(server.requests[-1]) == {"val": "0.5", "nan": "NaN"}
    assert after.state() == state


@pytest.mark.parametrize("state", [None, 3, [], {"metrics": 1, "keep": 2}, {"metrics": None}])
def test_a_state_that_is_none_changes_nothing(state: object) -> None:
    session = Session("x")
    session.restore(state)
    assert session.state() == {"metrics": {}, "keep": []}


def test_a_reporter_of_the_program_wins_while_it_lives(server: Endpoint) -> None:
    session = Session("x")
    session.begin()
    session.report(1, 10)
    server.await_request(1)
    with milepost.start(interval=0) as m:
        m.report(progress=50)
        server.await_request(2)
        session.report(2, 10)
        session.complete()
        assert not session.begin()
    assert Session("other").begin()
    assert session.begin()
    session.report(3, 10)
    server.await_request(3)
    assert server.percents() == [10, 50, 30]


def test_a_reporter_that_the_program_forgot_holds_nobody_up(server: Endpoint) -> None:  # noqa: ARG001
    milepost.start()
    assert Session("x").begin()


def test_an_integration_that_was_asked_for_wins_over_one_that_was_not(server: Endpoint) -> None:
    automatic, asked = Session("auto", automatic=True), Session("asked")
    assert automatic.begin()
    automatic.report(1, 10)
    server.await_request(1)
    assert asked.begin()
    automatic.report(2, 10)
    asked.report(3, 10)
    server.await_request(2)
    automatic.complete()
    automatic.stop("nobody hears this")
    assert not Session("auto", automatic=True).begin()
    asked.report(4, 10)
    server.await_request(3)
    assert server.percents() == [10, 30, 40]


def test_among_equals_the_first_reports_until_it_ends(server: Endpoint) -> None:
    first, second = Session("first"), Session("second")
    assert first.begin()
    assert not second.begin()
    second.report(9, 10)
    first.report(1, 10)
    first.complete()
    assert first.latest
    assert second.begin()
    assert second.latest
    assert not first.latest
    second.report(2, 10)
    second.stop()
    assert server.percents()[-2:] == [100, 20]
    assert 90 not in server.percents()


def test_a_new_training_takes_over_from_one_that_ended_without_a_word(server: Endpoint) -> None:
    crashed, again = Session("x"), Session("x")
    crashed.begin()
    crashed.report(90, 100)
    assert again.begin()
    again.report(1, 100)
    eventually(lambda: server.percents()[-1:] == [1])
    elsewhere: list[bool] = []
    thread = threading.Thread(target=lambda: elsewhere.append(Session("x").begin()))
    thread.start()
    thread.join()
    assert elsewhere == [False]  # a training in another thread may go on at the same time


def test_a_session_that_is_gone_holds_nobody_up(server: Endpoint) -> None:  # noqa: ARG001
    Session("gone").begin()
    assert Session("x").begin()


def test_copies_are_sessions_of_their_own(server: Endpoint) -> None:
    session = Session("x")
    session.begin()
    session.report(1, 2, {"loss": 1}, keep=["loss"])
    server.await_request(1)
    for twin in (copy.copy(session), copy.deepcopy(session), pickle.loads(pickle.dumps(session))):  # noqa: S301
        assert twin.state() == session.state()
        assert not twin.reporting
    assert session.reporting


def test_a_pause_waits_for_nothing_and_the_next_training_goes_on(server: Endpoint) -> None:
    session = Session("x")
    session.begin()
    session.report(5, 10)
    server.await_request(1)
    session.pause(complete=True)
    server.await_request(2)
    assert not session.reporting
    session.begin()
    session.report(1, 10)
    server.await_request(3)
    assert server.percents() == [50, 100, 10]
    assert len({request.connection for request in server.requests}) == 1


@pytest.mark.parametrize("word", ["TRUE", "true", "1"])
def test_what_registers_itself_can_be_turned_off(server: Endpoint, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv(shared.DISABLE, word)
    assert not shared.wanted()
    assert not Session("x", automatic=True).begin()
    assert Session("x").begin()
    assert server.requests == []


def test_nothing_registers_itself_outside_a_train_job() -> None:
    assert not shared.wanted()
    assert not Session("x", automatic=True).begin()
    assert not Session("x").begin()


def test_a_rank_that_the_framework_knows_counts(server: Endpoint) -> None:
    session = Session("x")
    assert not session.begin(rank=1)
    session.report(1, 2)
    session.complete()
    assert server.requests == []


def test_the_interval_comes_from_the_program_then_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, chosen, want in (("2.5", None, 2.5), ("2.5", 1, 1.0), ("soon", None, 5.0), ("-1", None, 0.0)):
        monkeypatch.setenv(shared.INTERVAL, text)
        assert shared._interval(chosen) == want


def begins_in_a_child() -> bool:
    """Whether a session begins in a forked child. One of the parent reports there nothing in any case."""
    session = Session("x")
    child = os.fork()
    if child == 0:
        os._exit(7 if session.begin() else 0)
    return os.waitpid(child, 0)[1] >> 8 == 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_reports_unless_its_parent_does(server: Endpoint) -> None:
    assert begins_in_a_child()
    session = Session("parent")
    session.begin()
    assert not begins_in_a_child()
    session.stop()
    with milepost.start():
        assert not begins_in_a_child()
    assert begins_in_a_child()
    assert server.requests == []


def test_nothing_raises_whatever_comes() -> None:
    session = Session("x")
    for name in ("begin", "report", "complete", "stop", "pause", "restore"):
        getattr(session, name)(1, 2, 3, 4, 5)
    session.report(object(), object(), object(), keep=object())  # type: ignore[arg-type]
