# SPDX-License-Identifier: Apache-2.0
"""One request and its answer, over real TLS. D14 to D19."""

from __future__ import annotations

import socket
import ssl
import time
from http.client import HTTPException
from pathlib import Path

import pytest
import trustme
from endpoint import Answer, Endpoint, Handler, Silence

from milepost import connection, environment
from milepost.connection import Attempt, OutOfTime
from milepost.transport import Transport, Unusable

BROKEN = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def transport_to(server: Endpoint, **changes: str) -> Transport:
    found, problems = environment.read({**server.environment(), **changes})
    assert found is not None, problems
    return Transport(found)


def post(transport: Transport, body: bytes = b"{}", limit: float = 5.0) -> int:
    return transport.post(lambda: body, Attempt(limit)).status


def test_the_connection_is_kept_and_the_token_read_every_time(server: Endpoint) -> None:
    transport = transport_to(server)
    assert post(transport) == 200
    server.token_file.write_text(" renewed\n")
    assert post(transport) == 200
    first, second = server.requests
    assert first.connection == second.connection
    assert [request.headers["Authorization"] for request in server.requests] == ["Bearer token", "Bearer renewed"]


def test_after_401_the_same_goes_once_more_with_the_token_read_again(server: Endpoint) -> None:
    def renew(_: Handler) -> bool:
        server.token_file.write_text("renewed")
        return True

    server.script(Answer(401, before=renew))
    bodies = iter([b"first", b"second"])
    answer = transport_to(server).post(lambda: next(bodies), Attempt(5))
    assert answer.status == 200
    assert [request.body for request in server.requests] == [b"first", b"first"]
    assert server.requests[1].headers["Authorization"] == "Bearer renewed"


def test_a_second_401_is_for_the_caller_to_judge(server: Endpoint) -> None:
    server.script(then=Answer(401))
    assert post(transport_to(server)) == 401
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("content", "want"), [(None, "No such file"), ("", "holds no token"), ("a b", "holds no token")]
)
def test_without_token_there_is_no_request(server: Endpoint, content: str | None, want: str) -> None:
    transport = transport_to(server)
    if content is None:
        server.token_file.unlink()
    else:
        server.token_file.write_text(content)
    with pytest.raises(Unusable, match=want) as raised:
        post(transport)
    assert str(server.token_file) in str(raised.value)
    assert server.requests == []


@pytest.mark.parametrize(
    "content", [None, b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_without_ca_there_is_no_request(server: Endpoint, content: bytes | None) -> None:
    transport = transport_to(server)
    if content is None:
        server.ca_file.unlink()
    else:
        server.ca_file.write_bytes(content)
    with pytest.raises(Unusable) as raised:
        post(transport)
    assert str(server.ca_file) in str(raised.value)
    assert server.requests == []


def test_only_the_ca_file_is_trusted(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    system = server.folder / "system.crt"
    system.write_bytes(server.ca_file.read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(system))
    server.trust(trustme.CA())
    with pytest.raises(ssl.SSLCertVerificationError):
        post(transport_to(server))


def test_a_broken_certificate_does_not_cost_the_others(server: Endpoint) -> None:
    content = server.ca_file.read_bytes()
    server.ca_file.write_bytes(b"# Gr\xfc\xdfe\r\n" + BROKEN + content.replace(b"\n", b"\r\n"))
    assert post(transport_to(server)) == 200


def test_an_authority_that_was_issued_by_another_is_enough(server: Endpoint) -> None:
    server.certify(trustme.CA().create_child_ca())
    assert post(transport_to(server)) == 200


def test_a_new_authority_is_trusted_as_soon_as_its_file_is_there(server: Endpoint) -> None:
    transport = transport_to(server)
    assert post(transport) == 200
    server.certify(trustme.CA())
    assert post(transport) == 200
    first, second = server.requests
    assert first.connection != second.connection


def test_the_name_of_the_server_is_verified(server: Endpoint) -> None:
    server.certify(trustme.CA(), "elsewhere.example")
    with pytest.raises(ssl.SSLCertVerificationError):
        post(transport_to(server))


def test_a_dead_connection_is_replaced_within_the_attempt(server: Endpoint) -> None:
    transport = transport_to(server)

    def close(handler: Handler) -> bool:
        handler.close_connection = True
        return True

    server.script(Answer(before=close))
    assert post(transport) == 200
    assert post(transport) == 200
    first, second = server.requests
    assert first.connection != second.connection


def test_a_connection_that_was_idle_for_long_is_not_used_again(
    server: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = transport_to(server)
    assert post(transport) == 200
    monkeypatch.setattr("milepost.transport._MOST_IDLE", -1)
    assert post(transport) == 200
    first, second = server.requests
    assert first.connection != second.connection


def test_proxies_are_ignored(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert post(transport_to(server)) == 200


def test_ipv6(tmp_path: Path) -> None:
    try:
        endpoint = Endpoint(tmp_path, "::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    with endpoint as server:
        assert post(transport_to(server)) == 200
        assert server.requests[0].headers["Host"] == f"[::1]:{server.port}"


def test_a_faulty_look_up_with_dead_addresses_first(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """The look-up is a fake: it puts an address that refuses and one that is silent before the right one."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        silent = full.getsockname()
        waiting = [socket.socket() for _ in range(3)]  # they fill the queue, so that nobody answers
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(silent)
        found = [("127.0.0.1", 1), silent, ("127.0.0.1", server.port)]
        monkeypatch.setattr(
            socket,
            "getaddrinfo",
            lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", at) for at in found],
        )
        begin = time.monotonic()
        assert post(transport_to(server)) == 200
        assert time.monotonic() - begin < 3
        for sock in waiting:
            sock.close()


def test_a_silent_server_ends_the_attempt(server: Endpoint) -> None:
    with Silence() as silence:
        url = f"https://127.0.0.1:{silence.port}/"
        begin = time.monotonic()
        with pytest.raises(OutOfTime):
            post(transport_to(server, KUBEFLOW_TRAINER_SERVER_URL=url), limit=0.3)
        assert 0.3 <= time.monotonic() - begin < 2


def test_drops_do_not_stretch_the_attempt(server: Endpoint) -> None:
    def drip(handler: Handler) -> bool:
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b" " * 1000:
            handler.wfile.write(bytes([byte]))
            time.sleep(0.01)
        return False

    server.script(Answer(before=drip))
    begin = time.monotonic()
    with pytest.raises(OutOfTime):
        post(transport_to(server), limit=0.5)
    assert time.monotonic() - begin < 2


def test_answers_of_unusual_form(server: Endpoint) -> None:
    def raw(text: bytes) -> Answer:
        def write(handler: Handler) -> bool:
            handler.wfile.write(text)
            return False

        return Answer(before=write)

    head = b"HTTP/1.1 200 OK\r\n"
    early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    whole = head + b"Content-Length: 2\r\n\r\n{}"
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    transport = transport_to(server)
    for text in (early + whole, b"HTTP/1.0 200 OK\r\n\r\n{}", chunked):
        server.script(raw(text))
        assert transport.post(lambda: b"{}", Attempt(5)).body == b"{}"
    for text, status in ((b"HTTP/1.1 101 A\r\n\r\n", 101), (b"HTTP/1.1 403 A\r\nContent-Length: 9\r\n\r\n{", 403)):
        server.script(raw(text))
        assert post(transport) == status
    for text in (b"nonsense\r\n\r\n", head + b"Content-Length: 9\r\n\r\n{", head + b"a: b\r\n" * 200, b""):
        server.script(raw(text), raw(text))
        with pytest.raises((OSError, HTTPException)):
            post(transport)
    server.script()
    assert post(transport) == 200


def test_long_answers_are_not_read_to_their_end(server: Endpoint) -> None:
    transport = transport_to(server)
    server.script(Answer(body=b" " * 5_000_000))
    assert len(transport.post(lambda: b"{}", Attempt(5)).body) == connection.MOST_ANSWER
    assert post(transport) == 200
