# SPDX-License-Identifier: Apache-2.0
"""One measurement of what reporting costs a training: `go tool mage bench:frameworks` runs it again and again.

Trains for a number of seconds, reports at every step in one of the ways there are, and prints how many steps that was.
Where reports go is in the environment, as in a pod. A step counts when it has ended, so a way of reporting that
blocks for 5 seconds shows in the number of steps.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

#: Steps before the clock starts: what is loaded late is loaded then.
WARM = 3

#: More than there is time for.
ENDLESS = 10_000_000

#: Small batches in a step of the plain loop, which make it as long as a short step of a real one.
BATCHES = 8

#: What a step reports.
Report = Callable[[int, float], object]


def nothing() -> Report:
    return lambda _step, _loss: None


def ours() -> Report:
    import milepost

    m = milepost.start()
    return lambda step, loss: m.report(step, ENDLESS, {"loss": loss, "lr": 0.05})


def ours_by_the_name_of_the_sdk() -> Report:
    from milepost.kubeflow import update_trainjob_status

    return lambda step, loss: update_trainjob_status(100 * step // ENDLESS, None, {"loss": loss, "lr": 0.05})


def sdk() -> Report:
    from kubeflow.trainer import update_trainjob_status

    return lambda step, loss: update_trainjob_status(100 * step // ENDLESS, None, {"loss": loss, "lr": 0.05})


LOOPS: dict[str, Callable[[], Report]] = {
    "none": nothing,
    "milepost": ours,
    "milepost.kubeflow": ours_by_the_name_of_the_sdk,
    "kubeflow": sdk,
}

TRAINERS = ("none", "milepost", "builtin")


class Clock:
    """Counts steps from the end of the warm ones."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.steps = -WARM
        self.elapsed = 0.0
        self._start = 0.0
        self._start_cpu = 0.0

    def tick(self) -> bool:
        """Takes the end of a step, and tells whether there is time for another."""
        self.steps += 1
        if self.steps < 0:
            return True
        now = time.perf_counter()
        if self.steps == 0:
            self._start, self._start_cpu = now, time.process_time()
        self.elapsed = now - self._start
        return self.elapsed < self.seconds

    def cpu(self) -> float:
        """Seconds of CPU time of all threads since the start, which other programs do not add to."""
        return time.process_time() - self._start_cpu


def train_plain(report: Report, clock: Clock) -> None:
    """A loop of one's own: a network with one hidden layer learns to tell points inside a circle from others."""
    import numpy as np

    rng = np.random.default_rng(1)
    points = rng.uniform(-1, 1, (2048, 2))
    inside = (np.hypot(*points.T) < 0.7).astype(float)
    w1, b1 = rng.normal(0, 1, (2, 64)), np.zeros(64)
    w2, b2 = rng.normal(0, 0.1, 64), 0.0
    step = 0
    going = True
    while going:
        step += 1
        losses = []
        for _ in range(BATCHES):
            batch = rng.integers(len(points), size=128)
            x, y = points[batch], inside[batch]
            hidden = np.maximum(x @ w1 + b1, 0)
            guess = 1 / (1 + np.exp(-(hidden @ w2 + b2)))
            losses.append(-np.mean(y * np.log(guess + 1e-9) + (1 - y) * np.log(1 - guess + 1e-9)))
            slope = (guess - y) / len(y)
            below = np.outer(slope, w2) * (hidden > 0)
            w2 -= 0.05 * hidden.T @ slope
            b2 -= 0.05 * slope.sum()
            w1 -= 0.05 * x.T @ below
            b1 -= 0.05 * below.sum(axis=0)
        if step > WARM:
            report(step, float(np.mean(losses)))
        going = clock.tick()


def train_trainer(way: str, clock: Clock, output: str) -> None:
    """The Trainer of Transformers with a small BERT, as it is used."""
    import torch
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        Trainer,
        TrainerCallback,
        TrainingArguments,
        set_seed,
    )

    torch.set_num_threads(1)
    set_seed(0)

    class Numbers(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 4096

        def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
            return {"input_ids": torch.tensor([index % 7, index % 5, index % 3, 1]), "labels": torch.tensor(index % 2)}

    class Stop(TrainerCallback):  # type: ignore[misc]
        """Comes behind the callback that is measured, which is in time for the end of the same step."""

        def on_step_end(self, _args: Any, _state: Any, control: Any, **_: Any) -> None:
            control.should_training_stop |= not clock.tick()

    trainer = Trainer(
        model=BertForSequenceClassification(
            BertConfig(vocab_size=8, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
        ),
        args=TrainingArguments(
            output_dir=output,
            max_steps=ENDLESS,
            per_device_train_batch_size=8,
            logging_steps=10,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
        ),
        train_dataset=Numbers(),
    )
    if way == "milepost":
        from milepost.integrations.transformers import KubeflowTrainerCallback

        trainer.add_callback(KubeflowTrainerCallback())
    trainer.add_callback(Stop())
    present = [type(callback).__name__ for callback in trainer.callback_handler.callbacks]
    found = [name for name in present if "Kubeflow" in name]
    # The callback of Transformers registers itself; it is silent beside ours.
    wanted = {"none": [], "builtin": ["KubeflowCallback"], "milepost": ["KubeflowCallback", "KubeflowTrainerCallback"]}
    if found != wanted[way]:
        raise SystemExit(f"the Trainer has the callbacks {present}")
    trainer.train()


def versions() -> dict[str, str]:
    """Versions of what is measured here."""
    names = ("kubeflow", "milepost", "numpy", "torch", "transformers")
    return {name: importlib.metadata.version(name) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loop", choices=["plain", "trainer"])
    parser.add_argument("way", choices=sorted({*LOOPS, *TRAINERS}))
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    clock = Clock(options.seconds)
    if options.way == "none":
        os.environ["DISABLE_KUBEFLOW_INTEGRATION"] = "TRUE"
    if options.loop == "plain":
        for package in (
            "kubeflow.trainer",
            "milepost.kubeflow",
        ):  # processes differ in what they call, and in nothing else
            importlib.import_module(package)
        train_plain(LOOPS[options.way](), clock)
    else:
        with tempfile.TemporaryDirectory() as output:
            train_trainer(options.way, clock, output)
    cost = {"steps": clock.steps, "seconds": clock.elapsed, "cpuSeconds": clock.cpu()}
    print(json.dumps({**cost, "versions": versions()}), flush=True)
    os._exit(0)  # the end of a program is measured elsewhere


if __name__ == "__main__":
    main()
