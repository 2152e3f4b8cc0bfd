# SPDX-License-Identifier: Apache-2.0
"""Trains with a client of the Kubeflow SDK from outside of the cluster, and says what each call returned.

Usage: client.py MODULE RUNTIME FUNCTION JOB, where MODULE has the TrainerClient, and RUNTIME may be `default`.
       client.py MODULE delete JOB
Each line of the output is a JSON object with the name of a call and what it gave. Log lines go to standard error.
"""

import importlib
import inspect
import json
import sys

import functions
from kubeflow.trainer import CustomTrainer
from kubeflow.trainer.options import Name
from kubernetes.client.rest import RESTClientObject


def say(call, result):
    print(json.dumps({"call": call, "result": result}), flush=True)


def runtime_fields(runtime):
    trainer = runtime.trainer
    return {"name": runtime.name, "kind": runtime.kind.value, "framework": trainer.framework, "image": trainer.image,
            "nodes": trainer.num_nodes, "runs": trainer.command[-1].split()[-2] if trainer.command else ""}


def job_fields(job):
    found = {"name": job.name, "status": job.status, "runtime": job.runtime.name, "nodes": job.num_nodes,
             "steps": {step.name: step.status for step in job.steps}, "has": hasattr(job, "trainer_status")}
    status = getattr(job, "trainer_status", None)
    if status is not None:
        found["progress"] = status.progress_percentage
        found["eta"] = status.estimated_remaining_seconds
        found["metrics"] = {metric.name: metric.value for metric in status.metrics or []}
        found["updated"] = status.last_updated_time.isoformat()
    return found


def requests_of(call):
    """How many requests a call sends to the API server."""
    count = 0
    real = RESTClientObject.request

    def counting(*arguments, **options):
        nonlocal count
        count += 1
        return real(*arguments, **options)

    RESTClientObject.request = counting
    try:
        call()
    finally:
        RESTClientObject.request = real
    return count


def train(client, runtime, function, name):
    say("list_runtimes", [runtime_fields(found) for found in client.list_runtimes()])
    if runtime != "default":
        runtime = client.get_runtime(runtime)
        say("get_runtime", runtime_fields(runtime))
    trainer = CustomTrainer(func=getattr(functions, function), func_args={"steps": 14, "pause": 0.5})
    say("train", client.train(runtime=None if runtime == "default" else runtime, trainer=trainer, options=[Name(name)]))
    running = client.wait_for_job_status(name, {"Running"}, timeout=120, polling_interval=1)
    say("wait_for_job_status Running", job_fields(running))
    seen = []
    done = client.wait_for_job_status(
        name, timeout=120, polling_interval=1, callbacks=[lambda job: seen.append(job_fields(job))]
    )
    say("wait_for_job_status Complete", job_fields(done))
    say("callbacks", seen)
    say("get_job", job_fields(client.get_job(name)))
    say("list_jobs", [job_fields(job) for job in client.list_jobs()])
    say("get_job_logs", list(client.get_job_logs(name)))
    say("get_job_logs follow", list(client.get_job_logs(name, follow=True)))
    say("get_job_events", [
        {"kind": event.involved_object_kind, "name": event.involved_object_name, "reason": event.reason}
        for event in client.get_job_events(name)
    ])


def main(module, *arguments):
    maker = importlib.import_module(module).TrainerClient
    client = maker()  # with the kubeconfig, its context and its namespace
    if arguments[0] == "delete":
        say("delete_job", client.delete_job(arguments[1]))
        return
    published = importlib.import_module("kubeflow.trainer").TrainerClient
    say("is the SDK's", isinstance(client, published) and inspect.signature(maker) == inspect.signature(published))
    train(client, *arguments)
    say("requests of list_jobs", [requests_of(client.list_jobs), requests_of(published().list_jobs)])


main(*sys.argv[1:])
