# SPDX-License-Identifier: Apache-2.0
"""update_trainjob_status: what the SDK promises of it, and what it does better."""

from __future__ import annotations

import os
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import pytest
from endpoint import Answer, Endpoint, Silence, eventually

from milepost.integrations.shared import Session
from milepost.kubeflow import status, update_trainjob_status
from milepost.reporter import Settings
from milepost.sender import Scales


def make(monkeypatch: pytest.MonkeyPatch, interval: float = 0, limit: float = 1.0) -> None:
    """Lets the function begin as in a new process."""
    settings = Settings(interval=interval, scales=Scales(time=0.02, limit=limit))
    monkeypatch.setattr(status, "SHARED", status.OnFirstUse(settings))


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    make(monkeypatch)


@dataclass
class Sent:
    """A call, and what arrives because of it."""

    progress: Optional[float] = None
    eta: Optional[float] = None
    metrics: Optional[dict[str, Any]] = None
    want: dict[str, Any] = field(default_factory=dict)


# The cases of the SDK's own tests come first, by their names there where they have one.
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Sent(progress=50, want={"progressPercentage": 50}), id="basic progress 50 percent"),
        pytest.param(
            Sent(progress=150, want={"progressPercentage": 100, "estimatedRemainingSeconds": 0}),
            id="progress above 100 is 100, and nothing remains",
        ),
        pytest.param(Sent(progress=-10, want={"progressPercentage": 0}), id="progress below 0 is 0"),
        pytest.param(
            Sent(progress=50, eta=3600, want={"progressPercentage": 50, "estimatedRemainingSeconds": 3600}),
            id="ETA in seconds",
        ),
        pytest.param(Sent(eta=-30, want={"estimatedRemainingSeconds": 0}), id="negative ETA is 0"),
        pytest.param(
            Sent(
                metrics={"loss": 0.234, "step": 100, "accuracy": "0.95"},
                want={
                    "metrics": [
                        {"name": "loss", "value": "0.234"},
                        {"name": "step", "value": "100"},
                        {"name": "accuracy", "value": "0.95"},
                    ]
                },
            ),
            id="metric values are strings, in the order of the dict",
        ),
        pytest.param(Sent(progress=75, metrics={}, want={"progressPercentage": 75}), id="empty metrics omit the key"),
        pytest.param(Sent(progress=75, want={"progressPercentage": 75}), id="no metrics omit the key"),
        pytest.param(
            Sent(
                metrics={f"metric_{i}": i for i in range(300)},
                want={"metrics": [{"name": f"metric_{i}", "value": str(i)} for i in range(256)]},
            ),
            id="the first 256 of 300 metrics",
        ),
        pytest.param(Sent(want={}), id="nothing but a sign of life"),
        # The SDK sends these numbers as they are, which other servers refuse.
        pytest.param(Sent(progress=45.7, want={"progressPercentage": 45}), id="fraction of progress is dropped"),
        pytest.param(Sent(eta=12.5, want={"estimatedRemainingSeconds": 12}), id="fraction of the ETA is dropped"),
        pytest.param(Sent(progress=True, want={"progressPercentage": 1}), id="a boolean is a number"),
        pytest.param(Sent(eta=3e9, want={"estimatedRemainingSeconds": 2147483647}), id="the ETA fits into 32 bits"),
        # The SDK says that these are 100 %, or sends nothing of the report.
        pytest.param(Sent(progress=float("nan"), eta=5, want={"estimatedRemainingSeconds": 5}), id="NaN is unknown"),
        pytest.param(Sent(progress=5, eta=float("inf"), want={"progressPercentage": 5}), id="endless ETA is unknown"),
        pytest.param(
            Sent(
                progress=5,
                metrics={"": 1, "loss": None, "n" * 65: 1, "ok": 2},
                want={
                    "progressPercentage": 5,
                    "metrics": [{"name": "ok", "value": "2"}],
                },
            ),
            id="metrics that no server takes are left out",
        ),
        pytest.param(
            Sent(
                progress=5,
                metrics={"eval": {"f1": 0.5}},
                want={
                    "progressPercentage": 5,
                    "metrics": [{"name": "eval/f1", "value": "0.5"}],
                },
            ),
            id="nested metrics are flattened",
        ),
    ],
)
def test_what_arrives(server: Endpoint, case: Sent) -> None:
    assert update_trainjob_status(case.progress, case.eta, case.metrics) is True
    request = server.await_request(1)
    sent = request.status
    assert sent.pop("lastUpdatedTime")
    assert sent == case.want
    assert request.headers["Authorization"] == "Bearer token"
    assert server.environment()["KUBEFLOW_TRAINER_SERVER_URL"].endswith(request.path)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        pytest.param({"KUBEFLOW_TRAINER_SERVER_URL": ""}, False, id="outside a TrainJob"),
        pytest.param({"KUBEFLOW_TRAINER_SERVER_TOKEN": ""}, True, id="no token is named"),
        pytest.param({"KUBEFLOW_TRAINER_SERVER_TOKEN": "/nonexistent/token"}, True, id="token path missing"),
        pytest.param({"KUBEFLOW_TRAINER_SERVER_CA_CERT": ""}, True, id="no CA is named"),
        pytest.param({"KUBEFLOW_TRAINER_SERVER_URL": "http://example.com"}, True, id="not https"),
        pytest.param({"RANK": "3"}, True, id="another rank"),
        pytest.param({"PET_NODE_RANK": "0", "LOCAL_RANK": "1"}, True, id="another process of the first node"),
    ],
)
def test_nothing_is_sent(
    server: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    changed: dict[str, str],
    said: bool,
) -> None:
    for name, setting in changed.items():
        monkeypatch.setenv(name, setting)
    caplog.set_level("INFO", logger="milepost")
    for percent in (0, 50, 100):
        assert update_trainjob_status(percent) is False
    assert len(caplog.records) == (1 if said else 0)
    assert server.requests == []


def test_a_token_that_comes_later_is_found(server: Endpoint) -> None:
    server.token_file.unlink()
    assert update_trainjob_status(1) is False
    server.token_file.write_text("late")
    assert update_trainjob_status(2) is True
    assert server.await_request(1).headers["Authorization"] == "Bearer late"


def test_the_token_is_read_for_every_report(server: Endpoint) -> None:
    update_trainjob_status(1)
    server.await_request(1)
    server.token_file.write_text("new")
    update_trainjob_status(2)
    assert server.await_request(2).headers["Authorization"] == "Bearer new"


def test_a_second_call_within_the_interval_waits_for_it(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    make(monkeypatch, interval=25)  # half a second, as times are scaled
    update_trainjob_status(10)
    server.await_request(1)
    for percent in (11, 12):
        assert update_trainjob_status(percent) is True
    first, second = server.await_requests(2)
    assert second.at - first.at > 0.4
    assert server.percents() == [10, 12]


def test_a_last_100_does_not_wait(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    make(monkeypatch, interval=10_000)
    update_trainjob_status(99)
    server.await_request(1)
    assert update_trainjob_status(100) is True
    server.await_request(2)
    assert server.percents() == [99, 100]


@pytest.mark.parametrize("answers", [[Answer(500)], [Answer(before=lambda _: False)] * 2], ids=["500", "no answer"])
def test_a_failure_is_sent_again_and_takes_no_interval(
    server: Endpoint, monkeypatch: pytest.MonkeyPatch, answers: list[Answer]
) -> None:
    make(monkeypatch, interval=10_000)
    server.script(*answers)
    assert update_trainjob_status(20) is True
    server.await_requests(len(answers) + 1)
    assert set(server.percents()) == {20}


def test_a_refusal_costs_one_report(server: Endpoint) -> None:
    server.script(Answer(422))
    assert update_trainjob_status(20) is True  # it will be sent: that is all that is promised
    server.await_request(1)
    assert update_trainjob_status(30) is True
    server.await_request(2)
    assert server.percents() == [20, 30]


@pytest.mark.usefixtures("server")
def test_no_call_waits_for_a_server_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    make(monkeypatch, limit=0.1)
    with Silence() as silence:
        monkeypatch.setenv("KUBEFLOW_TRAINER_SERVER_URL", f"https://127.0.0.1:{silence.port}/")
        began = time.monotonic()
        for step in range(2000):
            assert update_trainjob_status(step % 100, 5, {"loss": 1 / (step + 1)}) is True
        assert time.monotonic() - began < 2  # one attempt of the SDK takes 5 s


@pytest.mark.usefixtures("server")
def test_no_call_waits_for_a_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look-up is a fake that hangs."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(3))
    make(monkeypatch, limit=0.05)
    began = time.monotonic()
    assert update_trainjob_status(1) is True
    assert time.monotonic() - began < 0.5


def test_threads_share_one_reporter(server: Endpoint) -> None:
    before = set(threading.enumerate())
    start = threading.Barrier(8)

    def call() -> None:
        start.wait()
        update_trainjob_status(1)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.await_request(1)
    assert [thread.name for thread in set(threading.enumerate()) - before if thread.name == "milepost"] == ["milepost"]


def test_integrations_are_silent_beside_it(server: Endpoint) -> None:
    session = Session("callback", automatic=True)
    assert update_trainjob_status(1)
    assert session.begin() is False
    session.complete({"loss": 1})
    assert update_trainjob_status(2)
    eventually(lambda: server.percents()[-1:] == [2])
    assert 100 not in server.percents()


def test_metrics_that_fail_do_not_reach_the_training(server: Endpoint) -> None:
    class Broken(dict[str, Any]):
        def items(self) -> Any:
            raise ZeroDivisionError

    assert update_trainjob_status(7, metrics=Broken(loss=1)) in (True, False)
    assert update_trainjob_status(8) is True
    eventually(lambda: server.percents()[-1:] == [8])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_forked_child_that_calls_reports(server: Endpoint, tmp_path: Path) -> None:
    update_trainjob_status(1)
    server.await_request(1)
    said = tmp_path / "said"
    child = os.fork()
    if child == 0:
        said.write_text(str(update_trainjob_status(2)))
        try:
            reporter = status.SHARED.reporter()
            if reporter is not None:
                reporter.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert said.read_text() == "True"
    eventually(lambda: server.percents() == [1, 2])
    update_trainjob_status(3)
    eventually(lambda: server.percents() == [1, 2, 3])


def test_without_the_sdk_the_client_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "kubeflow", None)  # how Python notes that there is none
    with pytest.raises(ImportError, match=r"pip install 'kubeflow>=0\.5\.0'"):
        from milepost.kubeflow import TrainerClient  # noqa: F401
    with pytest.raises(AttributeError, match="TrainerClinet"):
        __import__("milepost.kubeflow").kubeflow.TrainerClinet  # noqa: B018
