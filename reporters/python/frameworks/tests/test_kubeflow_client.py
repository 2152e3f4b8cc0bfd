# SPDX-License-Identifier: Apache-2.0
"""The client of the published SDK with trainer_status, at a server that plays the API server."""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import kubeflow.trainer
import pytest
from kubeflow.trainer import KubernetesBackendConfig
from kubeflow.trainer.types.types import TrainJob
from kubernetes.client import Configuration

from milepost.kubeflow import TrainerClient
from milepost.kubeflow import client as extended

API = "/apis/trainer.kubeflow.org/v1alpha1"
JOBS = f"{API}/namespaces/ns/trainjobs"
REPORTED = {
    "progressPercentage": 45,
    "estimatedRemainingSeconds": 3600,
    "metrics": [{"name": "loss", "value": "0.2347"}, {"name": "loss", "value": "nan"}],
    "lastUpdatedTime": "2026-06-12T03:00:00Z",
}


def trainjob(name: str, status: dict[str, Any], runtime: str = "plain") -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "ns", "creationTimestamp": "2026-06-12T02:00:00Z"},
        "spec": {"runtimeRef": {"name": runtime}},
        "status": status,
    }


def cluster_runtime(name: str) -> dict[str, Any]:
    pods = {"spec": {"containers": [{"name": "node", "image": "python"}]}}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    job = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": pods}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": "plain"}},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [job]}}},
    }


class APIServer(ThreadingHTTPServer):
    """Knows objects by their paths, and notes what it is asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.objects: dict[str, Any] = {
            f"{API}/clustertrainingruntimes/{name}": cluster_runtime(name) for name in ("plain", "other")
        }
        self.objects["/api/v1/namespaces/ns/pods"] = {"apiVersion": "v1", "kind": "PodList", "items": []}
        self.jobs()

    def jobs(self, *jobs: dict[str, Any]) -> None:
        self.objects[JOBS] = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJobList",
            "items": list(jobs),
        }
        self.objects.update({f"{JOBS}/{job['metadata']['name']}": job for job in jobs})

    def count(self) -> int:
        asked, self.asked = self.asked, []
        return len(asked)


class Handler(BaseHTTPRequestHandler):
    server: APIServer

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append(path)
        found = self.server.objects.get(path)
        body = json.dumps(found or {"kind": "Status", "code": 404}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[APIServer]:
    with APIServer() as api:
        thread = Thread(target=api.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield api
        api.shutdown()


def config(api: APIServer) -> KubernetesBackendConfig:
    host = f"http://127.0.0.1:{api.server_address[1]}"
    return KubernetesBackendConfig(namespace="ns", client_configuration=Configuration(host=host))


def test_a_job_that_reported(server: APIServer) -> None:
    server.jobs(trainjob("mnist", {"trainerStatus": REPORTED}))
    status: Any = TrainerClient(config(server)).get_job("mnist").trainer_status
    assert status.progress_percentage == 45
    assert status.estimated_remaining_seconds == 3600
    assert [(metric.name, metric.value) for metric in status.metrics] == [("loss", "0.2347"), ("loss", "nan")]
    assert status.last_updated_time == datetime(2026, 6, 12, 3, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("status", "want"),
    [
        ({}, None),
        (None, None),
        ({"conditions": []}, None),
        ({"trainerStatus": {"lastUpdatedTime": "2026-06-12T03:00:00Z"}}, (None, None, None)),
        ({"trainerStatus": {"progressPercentage": 0, "lastUpdatedTime": "2026-06-12T03:00:00Z"}}, (0, None, None)),
    ],
    ids=["nothing", "no status", "no report", "a sign of life", "0 percent"],
)
def test_what_was_not_reported_is_none(server: APIServer, status: Any, want: Any) -> None:
    server.jobs(trainjob("mnist", status))
    found = TrainerClient(config(server)).get_job("mnist").trainer_status
    assert want == (found and (found.progress_percentage, found.estimated_remaining_seconds, found.metrics))


def test_a_list_costs_what_it_costs_the_sdk(server: APIServer) -> None:
    server.jobs(*(trainjob(f"job-{i}", {"trainerStatus": {**REPORTED, "progressPercentage": i}}) for i in range(30)))
    ours, theirs = TrainerClient(config(server)), kubeflow.trainer.TrainerClient(config(server))
    server.count()
    assert [job.trainer_status.progress_percentage for job in ours.list_jobs()] == list(range(30))
    requests = server.count()
    assert [job.name for job in theirs.list_jobs()] == [f"job-{i}" for i in range(30)]
    assert requests == server.count()
    ours.get_job("job-7")
    requests = server.count()
    theirs.get_job("job-7")
    assert requests == server.count()


def test_a_list_of_one_runtime(server: APIServer) -> None:
    server.jobs(trainjob("a", {"trainerStatus": REPORTED}), trainjob("b", {}, "other"))
    client = TrainerClient(config(server))
    assert [job.name for job in client.list_jobs(client.get_runtime("other"))] == ["b"]


def test_waiting_and_its_callbacks(server: APIServer) -> None:
    complete = {
        "type": "Complete", "status": "True", "reason": "AllJobsCompleted", "message": "",
        "lastTransitionTime": "2026-06-12T03:00:00Z",
    }  # fmt: skip
    server.jobs(trainjob("mnist", {"trainerStatus": REPORTED, "conditions": [complete]}))
    seen: list[Any] = []
    job = TrainerClient(config(server)).wait_for_job_status(
        "mnist", polling_interval=1, timeout=2, callbacks=[seen.append]
    )
    assert job.status == "Complete"
    assert [found.trainer_status.progress_percentage for found in [job, *seen]] == [45, 45]


def test_everything_else_is_the_sdks(server: APIServer) -> None:
    server.jobs(trainjob("mnist", {"trainerStatus": REPORTED}))
    ours, theirs = TrainerClient(config(server)), kubeflow.trainer.TrainerClient(config(server))
    assert isinstance(ours, kubeflow.trainer.TrainerClient)
    assert type(ours.backend) is type(theirs.backend)
    assert inspect.signature(type(ours)) == inspect.signature(type(theirs))
    public = [name for name in dir(theirs) if not name.startswith("_")]
    assert public == [name for name in dir(ours) if not name.startswith("_")]
    job, plain = ours.get_job("mnist"), theirs.get_job("mnist")
    assert isinstance(job, TrainJob)
    assert {**dataclasses.asdict(plain), "trainer_status": job.trainer_status} == dataclasses.asdict(job)
    with pytest.raises(RuntimeError, match="Failed to get TrainJob: ns/gone"):
        ours.get_job("gone")
    with pytest.raises(ValueError, match="Invalid backend config"):
        TrainerClient("cluster")


# Makes every backend of the SDK's own tests one of ours, and takes out the field before they compare.
PLUGIN = """
from kubeflow.trainer.backends.kubernetes.backend import KubernetesBackend
from milepost.kubeflow import client

begin = KubernetesBackend.__init__

def begin_extended(self, *arguments, **options):
    begin(self, *arguments, **options)
    client.extend(self)

KubernetesBackend.__init__ = begin_extended

def pytest_collection_modifyitems(items):
    for module in {item.module for item in items if hasattr(item.module, "asdict")}:
        def fields(job, real=module.asdict):
            return {name: value for name, value in real(job).items() if name != "trainer_status"}
        module.asdict = fields
"""


def test_the_sdks_own_tests_pass(tmp_path: Path) -> None:
    (tmp_path / "extended.py").write_text(PLUGIN, encoding="utf-8")
    modules = ["kubeflow.trainer.backends.kubernetes.backend_test", "kubeflow.trainer.api.trainer_client_test"]
    options = ["-q", "-p", "no:cacheprovider", "-p", "extended", f"--rootdir={tmp_path}", "--pyargs", *modules]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout
    assert "58 passed" in ended.stdout


def test_a_backend_without_kubernetes_has_nothing_to_say_with_a_fake_backend() -> None:
    job = TrainJob(name="a", runtime=None, steps=[], num_nodes=1, creation_timestamp=datetime.now(timezone.utc))

    class Local:
        def get_job(self, name: str) -> TrainJob:
            return dataclasses.replace(job, name=name)

        def list_jobs(self, runtime: Any = None) -> list[TrainJob]:  # noqa: ARG002
            return [job]

    backend = Local()
    extended.extend(backend)
    assert backend.get_job(name="b") == extended.TrainJob(**dataclasses.asdict(job) | {"name": "b"})
    assert [found.trainer_status for found in backend.list_jobs(runtime=None)] == [None]


def test_the_local_backend_of_the_sdk() -> None:
    client = TrainerClient(kubeflow.trainer.LocalProcessBackendConfig())
    assert client.list_jobs() == []
    with pytest.raises(ValueError, match="No TrainJob with name gone"):
        client.get_job("gone")


def test_a_field_of_the_sdk_wins_with_a_fake_sdk(server: APIServer) -> None:
    server.jobs(trainjob("mnist", {"trainerStatus": REPORTED}))
    program = """
import sys
from dataclasses import dataclass
from kubeflow.trainer.types import types
from kubernetes.client import Configuration

@dataclass
class TrainJob(types.TrainJob):
    trainer_status: object = "theirs"

types.TrainJob = TrainJob
from kubeflow.trainer import KubernetesBackendConfig
from milepost.kubeflow import TrainerClient
client = TrainerClient(KubernetesBackendConfig(namespace="ns", client_configuration=Configuration(host=sys.argv[1])))
job = client.get_job("mnist")
print(type(job) is TrainJob, job.trainer_status)
"""
    host = f"http://127.0.0.1:{server.server_address[1]}"
    ended = subprocess.run([sys.executable, "-c", program, host], capture_output=True, text=True, check=True)
    assert ended.stdout == "True theirs\n"


def test_what_cannot_be_shown_is_said_with_a_fake_sdk(
    server: APIServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(extended, "CONVERSION", "renamed")
    server.jobs(trainjob("mnist", {"trainerStatus": REPORTED}))
    caplog.set_level(logging.WARNING, logger="milepost")
    assert TrainerClient(config(server)).get_job("mnist").name == "mnist"
    assert "TrainJobs have no trainer_status" in caplog.text
