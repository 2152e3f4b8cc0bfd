# SPDX-License-Identifier: Apache-2.0
"""A loop with Accelerate that the tests of its tracker bend to what they look at."""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from accelerate import Accelerator

from milepost.integrations.accelerate import MilepostTracker

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--from-step", type=int, default=0)
parser.add_argument("--seconds", type=float, default=0.03, help="that a step takes at least")
parser.add_argument("--total", type=float)
parser.add_argument("--configured", action="store_true", help="tell the steps as scripts of Hugging Face do")
parser.add_argument("--raise-at", type=int)
parser.add_argument("--save", help="a folder for a checkpoint at the end")
parser.add_argument("--load", help="a folder with a checkpoint")
parser.add_argument("--open", action="store_true", help="leave the end of the training out")
options = parser.parse_args()

tracker = MilepostTracker(options.total)
accelerator = Accelerator(cpu=True, log_with=tracker)
config = {"max_train_steps": options.steps, "learning_rate": 0.1} if options.configured else None
accelerator.init_trackers("tiny", config=config)
accelerator.register_for_checkpointing(tracker)
if options.load:
    accelerator.load_state(options.load)
try:
    for step in range(options.from_step + 1, options.steps + 1):
        time.sleep(options.seconds)  # the work of a step
        values = {"loss": torch.tensor(1.0 / step), "lr": np.float32(0.5), "junk": object(), "nan": float("nan")}
        accelerator.log(values, step=step)
        if step % 5 == 0:
            accelerator.log({"eval_accuracy": step / 100})
        if step == options.raise_at:
            raise RuntimeError("out of memory")
finally:
    if options.save:
        accelerator.save_state(options.save)
    if not options.open:
        accelerator.end_training()
