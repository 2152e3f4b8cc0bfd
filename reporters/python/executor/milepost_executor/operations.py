# SPDX-License-Identifier: Apache-2.0
"""Requests of the protocol as calls of the reporter."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, Callable, Optional

import milepost
from milepost.reporter import Reporter, Settings
from milepost.sender import Scales
from milepost.stored import Stored

from .given import arguments, value

Answer = dict[str, Any]

CAPABILITIES = [
    "threads",
    "fork",
    "exit-hook",
    "own-handler",
    "items",
    "dynamic",
    "wide-int",
    "huge-int",
    "references",
    "null",
]


class Executor:
    """Holds the one reporter that is alive."""

    def __init__(self) -> None:
        self._reporter: Reporter
        self._logs: list[Answer] = []
        self._now = 0.0  # of the manual clock

    def answer(self, request: Answer) -> Answer:
        """Carries out a request. An exception that leaves the reporter becomes an answer."""
        carry_out: Optional[Callable[[Answer], Optional[Answer]]] = getattr(self, "do_" + request["op"], None)
        if carry_out is None:
            return {"id": request["id"], "unsupported": True}
        try:
            return {"id": request["id"], **(carry_out(request) or {})}
        except Exception as error:
            return {"id": request["id"], "raised": repr(error)}

    def do_hello(self, _: Answer) -> Answer:
        return {"language": "python", "version": milepost.__version__, "capabilities": CAPABILITIES}

    def do_create(self, request: Answer) -> Answer:
        given = request.get("options") or {}
        log = {"default": None, "broken": self._break}.get(given.get("log", ""), self._keep)
        options: dict[str, Any] = {"log": log, "scales": Scales(given.get("timeScale", 1), given.get("limitScale", 1))}
        options.update((name, given[name]) for name in ("rank", "interval", "signals") if name in given)
        self._now = 0.0
        if request.get("manualClock"):
            options["clock"] = lambda: self._now
        self._reporter = Reporter(Settings(**options))
        return {"active": self._reporter.active}

    def _keep(self, level: int, message: str) -> None:
        self._logs.append({"level": logging.getLevelName(level).lower(), "message": message})

    def _break(self, level: int, message: str) -> None:
        raise ValueError(f"{level}: {message}")

    def do_clock(self, request: Answer) -> None:
        self._now = request["now"]

    def do_report(self, request: Answer) -> None:
        self._reporter.report(**arguments(request))

    def do_complete(self, request: Answer) -> None:
        self._reporter.complete(**{"metrics": value(request["metrics"])} if "metrics" in request else {})

    def do_fail(self, request: Answer) -> None:
        self._reporter.fail(*([request["message"]] if "message" in request else []))

    def do_close(self, _: Answer) -> None:
        self._reporter.close()

    def do_stored(self, _: Answer) -> Answer:
        stored = self._reporter.stored()
        return {"stored": None if stored is None else wire(stored)}

    def do_logs(self, _: Answer) -> Answer:
        return {"logs": list(self._logs)}

    def do_track(self, request: Answer) -> Answer:
        total = request.get("total")
        items: int = request["items"] if "items" in request else request["total"]
        entered = 0
        # Without a total the items come from something whose length nobody knows.
        source = range(1, items + 1) if total is not None else (number for number in range(1, items + 1))
        try:
            for entered in self._reporter.track(source, total):
                time.sleep(request.get("pause", 0))
                if entered == request.get("breakAt"):
                    break
                if entered == request.get("failAt"):
                    raise RuntimeError("the body failed")
        except RuntimeError as error:
            return {"items": entered, "raised": str(error)}
        return {"items": entered}

    def do_scope(self, request: Answer) -> Answer:
        try:
            self.do_create(request)
            with self._reporter as reporter:
                for step in request.get("steps", []):
                    reporter.report(**arguments(step))
                if request.get("raise"):
                    raise RuntimeError(request["raise"])
        except RuntimeError as error:
            return {"raised": str(error)}
        return {}

    def do_measure(self, request: Answer) -> Answer:
        calls = request["calls"]
        took = sorted(self._timed(calls))
        return {
            name: took[int(share * (calls - 1))] / 1000 for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1))
        }

    def _timed(self, calls: int) -> Iterator[int]:
        report, now = self._reporter.report, time.perf_counter_ns
        for i in range(1, calls + 1):
            metrics = {"loss": 1 / i, "accuracy": 1 - 1 / i}
            begin = now()
            report(step=i, total=calls, metrics=metrics)
            yield now() - begin

    def do_hammer(self, request: Answer) -> None:
        def work(number: int) -> None:
            for i in range(calls):
                self._reporter.report(number * calls + i, len(threads) * calls, {"thread": number})

        calls = request["calls"]
        threads = [threading.Thread(target=work, args=(at,)) for at in range(request["threads"])]
        for started in threads:
            started.start()
        for started in threads:
            started.join()

    def do_fork(self, _: Answer) -> Answer:
        child = os.fork()
        if child == 0:
            self._reporter.report(99, 100)
            self._reporter.complete()
            sys.exit(0)
        ended = os.waitpid(child, 0)[1]
        return {"childStatus": os.WEXITSTATUS(ended) if os.WIFEXITED(ended) else -1}

    def do_handle(self, request: Answer) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(request["exitCode"]))


def wire(stored: Stored) -> Answer:
    """A stored report as the JSON of the wire."""
    status: Answer = {}
    if stored.progress is not None:
        status["progressPercentage"] = stored.progress
    if stored.eta is not None:
        status["estimatedRemainingSeconds"] = stored.eta
    if stored.metrics:
        status["metrics"] = [{"name": name, "value": text} for name, text in stored.metrics.items()]
    if stored.updated is not None:
        status["lastUpdatedTime"] = stored.updated.isoformat().replace("+00:00", "Z")
    return status
