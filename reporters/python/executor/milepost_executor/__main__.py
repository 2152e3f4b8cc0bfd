# SPDX-License-Identifier: Apache-2.0
"""One request per line on standard input, one answer per line on standard output."""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Iterator

from .operations import Executor

#: Python runs signal handlers between its own instructions. A signal that comes just before a read that
#: never ends would wait for ever, so reads end soon.
_LOOK = 0.05


def lines() -> Iterator[bytes]:
    """Lines of standard input."""
    rest = b""
    while True:
        if not select.select([0], [], [], _LOOK)[0]:
            continue
        read = os.read(0, 1 << 16)
        if not read:
            return
        *whole, rest = (rest + read).split(b"\n")
        yield from whole


def main() -> None:
    executor = Executor()
    for line in lines():
        request = json.loads(line)
        if request["op"] == "exit":
            how = request.get("how")
            if how == "exit":
                sys.exit(request.get("code", 0))
            if how == "throw":
                raise RuntimeError("an error that nobody catches")
            return
        sys.stdout.write(json.dumps(executor.answer(request)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
