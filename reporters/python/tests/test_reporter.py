# SPDX-License-Identifier: Apache-2.0
"""Calls: harmless, whatever their arguments and whatever the state. D3, D10, D22, D23, D28."""

from __future__ import annotations

import copy
import logging
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from endpoint import Answer, Endpoint, eventually, messages

import milepost
from milepost.reporter import Reporter, Settings
from milepost.sender import Scales

FAST = Scales(time=0.02, limit=0.1)

Logged = list[tuple[int, str]]


@pytest.fixture
def logged() -> Logged:
    return []


@pytest.fixture
def reporter(server: Endpoint, logged: Logged) -> Reporter:
    assert server.requests == []
    return Reporter(Settings(log=lambda level, message: logged.append((level, message)), scales=FAST))


class Hostile:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("hands off")

    def __repr__(self) -> str:
        raise RuntimeError("hands off")

    __str__ = __repr__

    def __float__(self) -> float:
        raise RuntimeError("hands off")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("hands off")

    def __bool__(self) -> bool:
        raise RuntimeError("hands off")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("hands off")

    __hash__ = None  # type: ignore[assignment]


def test_outside_a_train_job_nothing_happens(logged: Logged) -> None:
    with milepost.start(log=lambda level, message: logged.append((level, message))) as m:
        assert not m.active
        m.report(1, 10, {"loss": 1})
        m.complete()
        m.fail("why")
        assert m.stored() is None
    assert len(logged) == 1
    assert "KUBEFLOW_TRAINER_SERVER_URL" in logged[0][1]


def test_the_usual_logger_gets_lines(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "milepost"):
        milepost.start()
    assert [record.name for record in caplog.records] == ["milepost"]


def test_another_rank_says_so_quietly(server: Endpoint, monkeypatch: pytest.MonkeyPatch, logged: Logged) -> None:
    monkeypatch.setenv("RANK", "3")
    m = milepost.start(log=lambda level, message: logged.append((level, message)))
    m.report(1, 10)
    m.complete()
    assert [(level, "RANK says rank 3" in message) for level, message in logged] == [(logging.INFO, True)]
    assert server.requests == []


@pytest.mark.parametrize(
    "options",
    [
        {"rank": "0"},
        {"rank": object()},
        {"interval": "often"},
        {"interval": float("nan")},
        {"interval": -1},
        {"interval": float("inf")},
        {"log": 5},
        {"signals": Hostile()},
        {"clock": None},
        {"clock": lambda: "noon"},
    ],
)
def test_wrong_options_do_no_harm(server: Endpoint, options: dict[str, Any]) -> None:
    m = milepost.start(**options)
    m.report(1, 10)
    if m.active:
        assert server.await_request(1).status["progressPercentage"] == 10
    m.close()


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((), {"unknown": 1}),
        ((1, 2, 3, 4, 5, 6, 7), {}),
        ((Hostile(), Hostile(), Hostile()), {"progress": Hostile(), "eta": Hostile(), "keep": Hostile()}),
        ((10**400, 10**401), {}),
        ((1e308, 1.5), {}),
        ((1, 10**400), {}),
        ((0.5, 10**400), {}),
        ((b"1", b"2"), {"keep": b"x"}),
    ],
)
def test_wrong_arguments_do_no_harm(
    server: Endpoint, reporter: Reporter, arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    call: Any = reporter
    call.report(*arguments, **options)
    call.report(*arguments, **options)
    reporter.complete()
    eventually(lambda: server.percents()[-1:] == [100])


def test_calls_with_wrong_arguments_get_a_line(reporter: Reporter, logged: Logged) -> None:
    call: Any = reporter
    for _ in range(3):
        call.report(steps=1)
        call.complete(1, 2)
        call.close(now=True)
        call.fail(1, 2)
        call.stored(1)
    assert len([message for message in messages(logged) if "went wrong" in message]) == 5


def test_a_log_callback_may_call_back(server: Endpoint) -> None:
    reporters: list[Reporter] = []
    m = Reporter(Settings(log=lambda *_: reporters[0].report(50, 100), scales=FAST))
    reporters.append(m)
    m.report(1, 100, {"bad": None})
    m.complete()
    m.report(2, 100)
    eventually(lambda: server.percents()[-1:] == [100])


def test_fractions_of_steps(server: Endpoint, reporter: Reporter) -> None:
    reporter.report(0.5, 3.0)
    assert server.await_request(1).status["progressPercentage"] == 16


def test_reporters_travel_as_silent_ones(server: Endpoint, reporter: Reporter) -> None:
    assert copy.deepcopy({"m": reporter})["m"] is reporter
    assert copy.copy(reporter) is reporter
    other = pickle.loads(pickle.dumps(reporter))  # noqa: S301
    assert not other.active
    other.report(1, 10)
    other.complete()
    assert server.requests == []


def test_complete_sends_the_last_metrics_again(server: Endpoint, reporter: Reporter) -> None:
    reporter.report(5, 10, {"loss": 0.5})
    reporter.complete()
    last = server.requests[-1].status
    assert (last["progressPercentage"], last["estimatedRemainingSeconds"]) == (100, 0)
    assert last["metrics"] == [{"name": "loss", "value": "0.5"}]


def test_after_the_end_reports_are_ignored_with_one_line(server: Endpoint, reporter: Reporter, logged: Logged) -> None:
    reporter.complete({"loss": 1})
    for step in range(5):
        reporter.report(step, 10, {"bad": None})
    reporter.complete({"bad": None})
    reporter.fail("too late")
    reporter.close()
    assert len(server.requests) == 1
    assert [("ignored" in message) for message in messages(logged)].count(True) == 1
    assert "too late" not in str(logged)


def test_fail_says_why_and_completes_nothing(server: Endpoint, reporter: Reporter, logged: Logged) -> None:
    reporter.report(5, 10)
    reporter.fail(ValueError("out of\nmemory"))
    assert server.percents() == [50]
    assert (logging.ERROR, "milepost: the training failed: out of memory") in logged


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
def test_a_scope_lets_errors_pass(server: Endpoint, reporter: Reporter, error: BaseException) -> None:
    def train() -> None:
        with reporter as m:
            m.report(5, 10)
            raise error

    with pytest.raises(type(error)):
        train()
    assert server.percents() == [50]


def test_the_end_of_a_scope_is_no_completion(server: Endpoint, reporter: Reporter) -> None:
    with reporter as m:
        m.report(10, 10)
    assert server.percents() == [99]


def test_track_of_a_list(server: Endpoint, reporter: Reporter) -> None:
    assert list(reporter.track(["a", "b"], metrics=lambda: {"loss": 1})) == ["a", "b"]
    last = server.requests[-1].status
    assert last["progressPercentage"] == 100
    assert last["metrics"] == [{"name": "loss", "value": "1"}]


def test_track_of_a_stream(server: Endpoint, reporter: Reporter) -> None:
    for _ in reporter.track(iter("abc")):
        assert "progressPercentage" not in server.await_request(1).status
    assert server.percents()[-1] == 100


@pytest.mark.parametrize("leave", ["break", "raise"])
def test_track_that_is_left_early(server: Endpoint, reporter: Reporter, leave: str) -> None:
    def loop() -> None:
        for item in reporter.track(range(10)):
            if item == 5 and leave == "break":
                return
            if item == 5:
                raise ValueError("no more")

    if leave == "break":
        loop()
    else:
        with pytest.raises(ValueError, match="no more"):
            loop()
    reporter.close()
    assert server.percents()[-1] == 50


def test_track_passes_errors_of_the_items_on(server: Endpoint, reporter: Reporter) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("the data is gone")

    with pytest.raises(OSError, match="the data is gone"):
        list(reporter.track(items(), 2))
    reporter.close()
    assert server.percents()[-1] == 50


def test_track_with_metrics_that_fail(server: Endpoint, reporter: Reporter, logged: Logged) -> None:
    assert list(reporter.track([1, 2, 3], metrics=lambda: {"loss": undefined})) == [1, 2, 3]  # type: ignore[name-defined]  # noqa: F821
    assert server.percents()[-1] == 100
    assert len([message for message in messages(logged) if "metrics went wrong" in message]) == 1


def test_track_with_a_reporter_of_its_own(server: Endpoint) -> None:
    assert list(milepost.track([1, 2])) == [1, 2]
    assert server.percents()[-1] == 100


def test_items_that_are_none_fail_as_they_would() -> None:
    not_items: Any = 5
    with pytest.raises(TypeError):
        list(milepost.track(not_items))


def test_threads(server: Endpoint, reporter: Reporter) -> None:
    def work(number: int) -> None:
        for i in range(300):
            reporter.report(number * 300 + i, 2400, {"loss": i})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reporter.complete()
    times = [request.status["lastUpdatedTime"] for request in server.requests]
    assert times == sorted(set(times))
    assert server.percents()[-1] == 100


def test_a_refused_report_is_dropped(server: Endpoint, reporter: Reporter, logged: Logged) -> None:
    server.script(Answer(403, b'{"message":"not your job"}'))
    reporter.report(1, 10)
    eventually(lambda: any("403: not your job" in message for message in messages(logged)))
    reporter.close()
    assert len(server.requests) == 1


def test_a_program_that_reports_nothing_does_not_import_tls() -> None:
    source = str(Path(milepost.__file__).parent.parent)
    program = "import sys, milepost; milepost.start().report(1, 2); print('ssl' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": source}
    said = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    assert said == "False\n"
