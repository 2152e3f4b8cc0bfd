# SPDX-License-Identifier: Apache-2.0
"""Fits a line with gradient descent and writes the loss for TensorBoard. It knows nothing of Milepost.

Needs tensorboardX and numpy. Run it below the follower, which reports what it writes:

python3 -m milepost.integrations.tensorboard --logdir runs --total-steps 3000 -- python3 train.py runs
"""

import sys

import numpy as np
from tensorboardX import SummaryWriter

random = np.random.default_rng(0)
x = random.normal(size=(1000, 3))
y = x @ [3.0, -2.0, 0.5] + 0.1 * random.normal(size=1000)
weights = np.zeros(3)

with SummaryWriter(sys.argv[1], flush_secs=1) as writer:
    for step in range(1, 3001):
        errors = x @ weights - y
        weights -= 1e-2 * x.T @ errors / len(x)
        writer.add_scalar("loss", errors @ errors / len(x), step)

print("weights:", weights.round(1))
