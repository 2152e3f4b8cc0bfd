# SPDX-License-Identifier: Apache-2.0
"""Plays the status server over real TLS, with a CA of its own, and records what arrives."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Optional

import trustme

PATIENCE = 10.0
PATH = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs/mnist/status"


@dataclass
class Answer:
    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    before: Optional[Callable[[Handler], bool]] = None  # false ends the connection without an answer


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    connection: int

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)["trainerStatus"]
        return found


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server
    rbufsize = -1

    def handle(self) -> None:
        try:
            super().handle()
        except (OSError, ssl.SSLError):  # clients of the tests go away as they like
            pass

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers["Content-Length"])))

    def do_GET(self) -> None:
        self._serve(b"")

    def _serve(self, body: bytes) -> None:
        endpoint = self.server.endpoint
        request = Request(self.command, self.path, dict(self.headers), body, time.monotonic(), self.client_address[1])
        answer = endpoint.take(request)
        if answer.before is not None and not answer.before(self):
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, text in answer.headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    endpoint: Endpoint

    def handle_error(self, *_: object) -> None:
        pass


class Endpoint:
    """A server and the files that lead to it."""

    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        self.folder = folder
        self.ca_file, self.token_file = folder / "ca.crt", folder / "token"
        self.requests: list[Request] = []
        self.answers: list[Answer] = []
        self.then = Answer()
        self._changed = threading.Condition()
        self.token_file.write_text("token\n")
        Server.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._server = Server((host, 0), Handler)
        self._server.endpoint = self
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.host, self.port = host, self._server.server_address[1]
        self.certify(trustme.CA())
        self._server.socket = self._context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def certify(self, authority: trustme.CA, *names: str) -> None:
        """Makes the server known to those who trust an authority, and writes the CA file."""
        authority.issue_cert(*(names or (self.host, "localhost"))).configure_cert(self._context)
        self.trust(authority)

    def trust(self, *authorities: trustme.CA) -> None:
        self.ca_file.write_bytes(b"".join(authority.cert_pem.bytes() for authority in authorities))

    def environment(self) -> dict[str, str]:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return {
            "KUBEFLOW_TRAINER_SERVER_URL": f"https://{host}:{self.port}{PATH}",
            "KUBEFLOW_TRAINER_SERVER_CA_CERT": str(self.ca_file),
            "KUBEFLOW_TRAINER_SERVER_TOKEN": str(self.token_file),
        }

    def take(self, request: Request) -> Answer:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            return self.answers.pop(0) if self.answers else self.then

    def script(self, *answers: Answer, then: Optional[Answer] = None) -> None:
        self.answers = list(answers)
        self.then = then or Answer()

    def await_request(self, number: int) -> Request:
        """The request of a number that counts from 1, as soon as it came."""
        return self.await_requests(number)[number - 1]

    def await_requests(self, count: int) -> list[Request]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= count, PATIENCE), (
                f"{len(self.requests)} requests came, want {count}"
            )
            return list(self.requests)

    def percents(self) -> list[Optional[int]]:
        """Progress of all reports so far."""
        return [request.status.get("progressPercentage") for request in self.requests if request.method == "POST"]

    def __enter__(self) -> Endpoint:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Silence:
    """Accepts connections and never says a word."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Silence:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()


def eventually(holds: Callable[[], object]) -> None:
    """Waits until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def messages(logged: Iterable[tuple[int, str]]) -> list[str]:
    return [message for _, message in logged]
