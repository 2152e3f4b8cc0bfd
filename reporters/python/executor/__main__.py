# SPDX-License-Identifier: Apache-2.0
"""Starts the executor from the source tree: `python3 executor`."""

import sys
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here.parent / "src"), str(here)]

from milepost_executor.__main__ import main  # noqa: E402

main()
