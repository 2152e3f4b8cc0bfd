# SPDX-License-Identifier: Apache-2.0
"""Reports from a project that has nothing but the published package."""

import milepost

with milepost.start() as m:
    m.report(1, 2, {"loss": 0.5})
    m.complete({"language": "python"})
