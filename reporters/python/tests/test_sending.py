# SPDX-License-Identifier: Apache-2.0
"""From the slot to the wire: what is sent when, and what is said about it. D11 to D13, D20 to D22, D27."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time

import pytest
from endpoint import Answer, Endpoint, Handler, Silence, eventually, messages

from milepost import pacing
from milepost.reporter import Reporter, Settings
from milepost.sender import Scales
from milepost.stored import Stored
from milepost.transport import Transport

Logged = list[tuple[int, str]]


def make(logged: Logged, *, interval: float = 0, scale: float = 0.02, limit: float = 1.0) -> Reporter:
    return Reporter(
        Settings(
            interval=interval,
            log=lambda level, message: logged.append((level, message)),
            scales=Scales(time=scale, limit=limit),
        )
    )


def test_a_request_has_what_it_needs_and_no_more(server: Endpoint) -> None:
    make([]).report(45, 100, {"loss": 0.15, "größe": "損失"}, eta=120)
    request = server.await_request(1)
    assert request.method == "POST"
    assert {name: text for name, text in request.headers.items() if name != "Host"} == {
        "User-Agent": "milepost-reporter-python/0.1.0",
        "Authorization": "Bearer token",
        "Content-Type": "application/json",
        "Content-Length": str(len(request.body)),
    }
    assert list(request.status) == [
        "progressPercentage",
        "estimatedRemainingSeconds",
        "metrics",
        "lastUpdatedTime",
    ]
    assert request.status["metrics"][1] == {"name": "größe", "value": "損失"}


def test_only_the_newest_value_is_sent_after_the_interval(server: Endpoint) -> None:
    m = make([], interval=25, scale=0.02)
    m.report(1, 10)
    server.await_request(1)
    for step in range(2, 9):
        m.report(step, 10)
    first, second = server.await_requests(2)
    assert second.at - first.at > 0.4
    assert server.percents() == [10, 80]


def test_an_explicit_100_skips_the_interval(server: Endpoint) -> None:
    m = make([], interval=10_000)
    m.report(progress=50)
    server.await_request(1)
    m.report(progress=100)
    server.await_request(2)
    m.report(progress=100, metrics={"loss": 1})
    m.close()
    assert server.percents() == [50, 100, 100]


def test_a_failure_is_tried_again_with_the_newest_value(server: Endpoint) -> None:
    logged: Logged = []
    server.script(Answer(503), Answer(503))
    m = make(logged, scale=0.05)
    m.report(1, 10)
    server.await_request(1)
    m.report(2, 10)
    server.await_requests(3)
    eventually(lambda: len(logged) == 2)
    assert server.percents() == [10, 20, 20]
    assert [level for level, _ in logged] == [logging.WARNING, logging.INFO]
    assert "503" in logged[0][1]
    assert "again" in logged[1][1]


def test_the_token_is_in_no_line(server: Endpoint) -> None:
    logged: Logged = []
    server.token_file.write_text("s3cr3t")
    server.script(Answer(401), Answer(401), Answer(403, b'{"message":"no"}'), Answer(503))
    m = make(logged)
    for step in range(4):
        m.report(step, 10)
        server.await_request(step + 1)
    server.token_file.write_text("s3cr3t of the pod")
    m.report(5, 10)
    eventually(lambda: len(logged) >= 3)
    assert "s3cr3t" not in str(logged)


def test_warnings_of_the_server_are_logged_once(server: Endpoint) -> None:
    logged: Logged = []
    header = '299 - "metric \\"größe\\" left out"'.encode().decode("latin-1")
    server.script(then=Answer(headers={"Warning": header}))
    m = make(logged)
    for step in range(3):
        m.report(step, 10)
        server.await_request(step + 1)
    m.close()
    assert [message for message in messages(logged) if "warns" in message] == [
        'milepost: the server warns: metric "größe" left out'
    ]


def test_a_flush_does_not_wait_for_the_back_off(server: Endpoint) -> None:
    server.script(Answer(503, headers={"Retry-After": "300"}))
    m = make([], scale=1)
    m.report(1, 10)
    server.await_request(1)
    begin = time.monotonic()
    m.complete()
    assert time.monotonic() - begin < 3
    assert server.percents()[-1] == 100


def test_a_flush_gives_up_in_time_with_a_line(server: Endpoint) -> None:
    logged: Logged = []
    server.script(then=Answer(503))
    m = make(logged, limit=0.1)
    begin = time.monotonic()
    m.complete()
    assert 0.5 <= time.monotonic() - begin < 3
    assert len([message for message in messages(logged) if "not sent" in message]) == 1


def test_a_flush_abandons_an_older_report_that_hangs(server: Endpoint) -> None:
    def hang(_: Handler) -> bool:
        time.sleep(3)
        return False

    server.script(Answer(before=hang))
    m = make([], limit=0.2)
    m.report(1, 10)
    server.await_request(1)
    m.complete()
    assert server.percents() == [10, 100]


def test_a_refusal_ends_a_flush(server: Endpoint) -> None:
    server.script(then=Answer(422, b'{"message":"no"}'))
    begin = time.monotonic()
    make([]).complete()
    assert time.monotonic() - begin < 3
    assert len(server.requests) == 1


def test_faults_that_nobody_foresaw_are_failures(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transport is made to fail in a way that it does not."""
    logged: Logged = []

    def fail(*_: object) -> bytes:
        raise ZeroDivisionError("unforeseen")

    m = make(logged)
    with monkeypatch.context() as faulty:
        faulty.setattr(Transport, "_request", fail)
        m.report(1, 10)
        eventually(lambda: logged)
    server.await_request(1)
    assert "unforeseen" in logged[0][1]


def test_where_no_thread_can_start_the_flush_sends(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are made to fail as they do at the end of the interpreter."""

    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "milepost":
            raise RuntimeError("can't start new thread")
        start(thread)

    server.script(Answer(503))
    m = make([])
    with monkeypatch.context() as faulty:
        faulty.setattr(threading.Thread, "start", refuse)
        m.report(1, 10)
        m.report(2, 10)
        m.complete({"loss": 1})
    assert server.percents() == [100, 100]


def test_stored(server: Endpoint) -> None:
    status = {
        "progressPercentage": 45,
        "metrics": [{"name": "loss", "value": "0.5"}],
        "lastUpdatedTime": "2026-06-12T03:00:00Z",
    }
    server.script(Answer(401), Answer(body=json.dumps({"trainerStatus": status}).encode()))
    stored = make([]).stored()
    assert isinstance(stored, Stored)
    assert (stored.progress, stored.eta, stored.metrics) == (45, None, {"loss": "0.5"})
    assert str(stored.updated) == "2026-06-12 03:00:00+00:00"
    request = server.requests[1]
    assert (request.method, request.headers["Authorization"], request.body) == ("GET", "Bearer token", b"")
    assert "Content-Type" not in request.headers


@pytest.mark.usefixtures("server")
def test_stored_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look-up is a fake that hangs."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(2))
    m = make([], limit=0.05)
    begin = time.monotonic()
    assert m.stored() is None
    assert time.monotonic() - begin < 1.5


@pytest.mark.usefixtures("server")
def test_a_hanging_look_up_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look-up is a fake that hangs."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(3))
    m = make([], limit=0.05)
    begin = time.monotonic()
    m.report(1, 10)
    assert time.monotonic() - begin < 0.5
    m.complete()
    assert time.monotonic() - begin < 2


def test_an_interval_of_any_length_can_be_waited_for() -> None:
    for interval in (0, 5, 1e12, float("inf"), 10**400):
        assert 0 <= pacing.seconds_between(interval) <= 1e9


def test_calls_cost_little(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound far above the promise, so that a slow machine does not fail; the runner measures the rest."""
    with Silence() as silence:
        monkeypatch.setenv("KUBEFLOW_TRAINER_SERVER_URL", f"https://127.0.0.1:{silence.port}/")
        m = make([], limit=0.1)
        took = []
        for step in range(5000):
            begin = time.perf_counter()
            m.report(step, 5000, {"loss": 1 / (step + 1), "accuracy": 0.5})
            took.append(time.perf_counter() - begin)
        assert sorted(took)[int(len(took) * 0.95)] < 0.002
        m.close()
    assert server.requests == []
