# SPDX-License-Identifier: Apache-2.0
"""Fits a line with gradient descent below a progress bar. The bar reports what it shows.

Needs tqdm, numpy and milepost. Runs anywhere; outside a TrainJob nothing is reported.
"""

import numpy as np

# [start:train]
from milepost.integrations.tqdm import trange

random = np.random.default_rng(0)
x = random.normal(size=(1000, 3))
y = x @ [3.0, -2.0, 0.5] + 0.1 * random.normal(size=1000)
weights = np.zeros(3)

with trange(20_000) as bar:
    for _ in bar:
        errors = x @ weights - y
        weights -= 1e-3 * x.T @ errors / len(x)
        bar.set_postfix(loss=float(errors @ errors / len(x)), refresh=False)
# [end:train]

print("weights:", weights.round(1))
