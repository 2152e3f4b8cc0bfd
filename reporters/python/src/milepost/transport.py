# SPDX-License-Identifier: Apache-2.0
"""One request at a time to the endpoint. D14 to D19.

Owns the files of token and CA, TLS, and the kept connection. Does not own when to send.
"""

from __future__ import annotations

import re
import ssl
from http.client import HTTPException
from pathlib import Path
from typing import Callable, Optional

from .answers import UNAUTHORIZED, Answer
from .connection import Attempt, Connection
from .environment import Endpoint
from .version import VERSION

USER_AGENT = f"milepost-reporter-python/{VERSION}"

#: Seconds that one attempt may take, a second one after 401 included. D18.
ATTEMPT_LIMIT = 5.0

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")

#: A certificate of the CA file is a root even if somebody else issued it. Python 3.9 has no name for it.
_PARTIAL_CHAIN = 0x80000

#: Seconds after which a kept connection is not used again: whoever stands between may have forgotten it.
_MOST_IDLE = 60.0


class Unusable(Exception):
    """A file that a request needs is not there or not what it should be."""


class Transport:
    """Sends requests for one thread."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._connection: Optional[Connection] = None
        self._context: Optional[ssl.SSLContext] = None
        self._roots = b""  # content of the CA file that the context trusts

    def post(self, body: Callable[[], bytes], attempt: Attempt) -> Answer:
        """Sends what the callback gives, which is asked as late as possible. Raises when no answer came."""
        return self._send("POST", body, attempt)

    def get(self, attempt: Attempt) -> Answer:
        """Asks for the stored report. Raises when no answer came."""
        return self._send("GET", None, attempt)

    def _send(self, method: str, body: Optional[Callable[[], bytes]], attempt: Attempt) -> Answer:
        """Sends a request, and the same once more with a new token after 401. D14."""
        made: list[Optional[bytes]] = []

        def once() -> Optional[bytes]:
            if not made:
                made.append(None if body is None else body())
            return made[0]

        answer = self._once(method, once, attempt)
        if answer.status == UNAUTHORIZED:
            answer = self._once(method, once, attempt)
        return answer

    def _once(self, method: str, body: Callable[[], Optional[bytes]], attempt: Attempt) -> Answer:
        context = self._trust()
        token = read_token(self._endpoint.token_file)
        kept = self._connection
        if kept is not None and kept.idle > _MOST_IDLE:
            self.close()
            kept = None
        if kept is not None:
            try:
                return self._exchange(kept, method, self._request(method, body(), token), attempt)
            except (OSError, HTTPException):
                self.close()  # it was dead; another one may not be. D19.
        fresh = self._connection = Connection(self._endpoint.host, self._endpoint.port, context, attempt)
        return self._exchange(fresh, method, self._request(method, body(), token), attempt)

    def _exchange(self, connection: Connection, method: str, request: bytes, attempt: Attempt) -> Answer:
        try:
            answer = connection.exchange(method, request, attempt)
        except BaseException:
            self.close()
            raise
        if not connection.usable:
            self.close()
        return answer

    def _request(self, method: str, body: Optional[bytes], token: str) -> bytes:
        lines = [
            f"{method} {self._endpoint.target} HTTP/1.1",
            f"Host: {self._endpoint.authority}",
            f"User-Agent: {USER_AGENT}",
            f"Authorization: Bearer {token}",
        ]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode("ascii") + (body or b"")

    def _trust(self) -> ssl.SSLContext:
        """Reads the CA file, and drops a connection that was made under other roots. D16."""
        content = _read(self._endpoint.ca_file, "the CA file")
        if self._context is None or content != self._roots:
            context = trusting(content)
            if context is None:
                raise Unusable(f"the CA file {self._endpoint.ca_file} holds no certificate")
            self.close()
            self._context, self._roots = context, content
        return self._context

    def close(self) -> None:
        """Drops the kept connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def trusting(content: bytes) -> Optional[ssl.SSLContext]:
    """TLS as a client that trusts the certificates of a CA file alone. None when there are none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # verifies names; loads no roots of the system
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VerifyFlags(_PARTIAL_CHAIN)
    if ssl.HAS_NEVER_CHECK_COMMON_NAME:
        context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    loaded = False
    for certificate in _CERTIFICATE.findall(content):
        try:
            context.load_verify_locations(cadata=certificate.decode("ascii"))
            loaded = True
        except (ssl.SSLError, ValueError):
            continue  # one that is broken does not cost the others
    return context if loaded else None


def read_token(path: str) -> str:
    """Reads the token anew, because it is replaced before it runs out. D15."""
    token = token_text(_read(path, "the token"))
    if token is None:
        raise Unusable(f"the token file {path} holds no token")
    return token


def token_text(content: bytes) -> Optional[str]:
    """The token without blanks around it. None for what cannot stand in a header."""
    token = content.strip(b" \t\r\n\v\f")
    if not token or any(not 0x21 <= byte <= 0x7E for byte in token):
        return None
    return token.decode("ascii")


def _read(path: str, what: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise Unusable(f"reading {what} {path}: {reason}") from None
