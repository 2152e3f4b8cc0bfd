# SPDX-License-Identifier: Apache-2.0
"""One request per line on standard input, one answer per line on standard output."""

from __future__ import annotations

import json
import sys

from .operations import Executor


def main() -> None:
    executor = Executor()
    for line in iter(sys.stdin.readline, ""):
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
