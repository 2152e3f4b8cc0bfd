# SPDX-License-Identifier: Apache-2.0
"""One TLS connection whose every wait ends when the attempt ends. D17, D18.

Owns sockets. Does not own what is sent, nor which roots are trusted. Time limits of sockets count
from one byte to the next, so a server that sends one byte a second would stretch them without end.
Sockets here never block, and all waiting happens in one place that knows the end of the attempt.
"""

from __future__ import annotations

import errno
import io
import os
import selectors
import socket
import ssl
from http.client import HTTPResponse, IncompleteRead
from time import monotonic
from typing import Any, Callable, TypeVar, Union

from .answers import Answer

#: The most bytes of an answer that are read.
MOST_ANSWER = 64 << 10

#: Seconds between looks at the clock. Another thread may have ended the attempt.
_SLICE = 0.05

#: Seconds that one address of a name gets before the next one is tried as well.
_HEAD_START = 0.25

# epoll and kqueue would take a file descriptor of their own, and select takes no high ones.
_Selector: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.SelectSelector)

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

_UNDER_WAY = (0, errno.EINPROGRESS, errno.EWOULDBLOCK)

_T = TypeVar("_T")

Address = tuple[int, int, int, Any]  # family, type, protocol, and what the family makes of it


class OutOfTime(Exception):
    """The attempt is over, or it was ended."""


class Attempt:
    """How long an attempt may take. Any thread may shorten it. D18, D22."""

    __slots__ = ("end",)

    def __init__(self, limit: float) -> None:
        self.end = monotonic() + limit

    def shorten(self, limit: float) -> None:
        """Leaves it at most so many seconds from now."""
        self.end = min(self.end, monotonic() + limit)

    def wait(self, most: float = _SLICE) -> float:
        """Seconds to wait before the next look at the clock. Raises OutOfTime at the end."""
        left = self.end - monotonic()
        if left <= 0:
            raise OutOfTime("no answer in time")
        return max(0.0, min(left, most, _SLICE))


class Connection:
    """A connection that is kept for several requests of one thread."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, attempt: Attempt) -> None:
        self.usable = True  # for another request
        self._used = monotonic()
        self._attempt = attempt
        name = host[:-1] if host.endswith(".") else host  # certificates do not have the dot of the root
        with _dial(host, port, attempt) as plain:  # which is empty as soon as TLS has taken its place
            self._socket = context.wrap_socket(plain, server_hostname=name, do_handshake_on_connect=False)
        try:
            self._patiently(self._socket.do_handshake)
        except BaseException:
            self._socket.close()
            raise
        self._reader = _Reader(_Raw(self))

    @property
    def idle(self) -> float:
        """Seconds since the last answer."""
        return monotonic() - self._used

    def close(self) -> None:
        """Closes the socket. There is nothing left to say that anyone waits for."""
        self.usable = False
        self._socket.close()

    def exchange(self, method: str, request: bytes, attempt: Attempt) -> Answer:
        """Sends a request and reads its answer. Raises OSError, HTTPException or OutOfTime."""
        self._attempt = attempt
        self._write(request)
        while True:
            response = HTTPResponse(self, method=method)  # type: ignore[arg-type]  # it asks for makefile alone
            response.begin()
            if response.status == 101 or response.status >= 200:
                break  # others only announce the answer
        body = self._body(response)
        self._used = monotonic()
        return Answer(
            status=response.status,
            body=body,
            retry_after=response.getheader("Retry-After"),
            warnings=tuple(_utf8(str(text)) for text in response.headers.get_all("Warning", [])),
        )

    def _body(self, response: HTTPResponse) -> bytes:
        """Reads what is needed of a body. Only one that came to its end leaves the connection usable."""
        self.usable = False
        try:
            body = response.read(MOST_ANSWER)
            if len(body) < MOST_ANSWER and response.length:
                raise IncompleteRead(body, response.length)
        except Exception:
            if response.status == 200:
                raise
            return b""  # the status says enough
        self.usable = response.isclosed() and not response.will_close and response.status >= 200
        return body

    def makefile(self, *_: object) -> io.BufferedReader:
        """What HTTPResponse reads from: always the same, so that nothing read too early is lost."""
        return self._reader

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._patiently(lambda: self._socket.send(view)) :]  # noqa: B023  # called at once

    def read_into(self, buffer: Union[bytearray, memoryview]) -> int:
        """Reads at least one byte, or none at the end of the stream."""
        return self._patiently(lambda: self._socket.recv_into(buffer))

    def _patiently(self, call: Callable[[], _T]) -> _T:
        """Calls until the socket is ready for it. A handshake may read to write, and so may TLS at any time."""
        while True:
            self._attempt.wait()
            try:
                return call()
            except ssl.SSLWantReadError:
                self._await(_READ)
            except ssl.SSLWantWriteError:
                self._await(_WRITE)

    def _await(self, event: int) -> None:
        with _Selector() as selector:
            selector.register(self._socket, event)
            while not selector.select(self._attempt.wait()):
                pass


class _Raw(io.RawIOBase):
    """The reading side of a connection as a stream."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._connection.read_into(buffer)


class _Reader(io.BufferedReader):
    """Outlives the answers that are read from it: HTTPResponse closes it after each of them."""

    def close(self) -> None:
        pass


def _utf8(header: str) -> str:
    """Headers are read as Latin-1 by http.client. Servers write UTF-8."""
    return header.encode("latin-1", "replace").decode("utf-8", "replace")


def _dial(host: str, port: int, attempt: Attempt) -> socket.socket:
    """Connects to the first address of a name that answers. Proxy settings have no say here. D17."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)  # the one thing that cannot be cut short
    addresses: list[Address] = [(family, kind, protocol, where) for family, kind, protocol, _, where in found]
    with _Selector() as selector:
        try:
            connected = _race(addresses, selector, attempt)
        finally:
            for key in list(selector.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]  # they are all sockets
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


def _race(waiting: list[Address], selector: selectors.BaseSelector, attempt: Attempt) -> socket.socket:
    """Begins with one address after the other, and does not wait for one that says nothing."""
    problem: OSError = OSError("the name has no address")
    trying = 0
    next_begin = 0.0
    while waiting or trying:
        now = monotonic()
        if waiting and (not trying or now >= next_begin):
            try:
                selector.register(_begin(waiting.pop(0)), _WRITE)
            except OSError as error:
                problem = error
                continue
            trying += 1
            next_begin = now + _HEAD_START
        for key, _ in selector.select(attempt.wait(next_begin - now if waiting else _SLICE)):
            sock = key.fileobj
            assert isinstance(sock, socket.socket)  # noqa: S101  # nothing else was registered
            selector.unregister(sock)
            trying -= 1
            number = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if not number:
                return sock
            sock.close()
            problem = OSError(number, os.strerror(number))
    raise problem


def _begin(address: Address) -> socket.socket:
    """Begins to connect without waiting for it."""
    family, kind, protocol, where = address
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        number = sock.connect_ex(where)
        if number not in _UNDER_WAY:
            raise OSError(number, os.strerror(number))
    except BaseException:
        sock.close()
        raise
    return sock
