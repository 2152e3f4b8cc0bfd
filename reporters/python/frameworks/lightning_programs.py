# SPDX-License-Identifier: Apache-2.0
"""What the tests of Lightning run: a small module, and programs around it under the names that the environment has."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from harness import Outcome, run

#: The package `lightning` brings `pytorch_lightning` with it.
PACKAGES = [
    package
    for package, root in (("lightning.pytorch", "lightning"), ("pytorch_lightning", "pytorch_lightning"))
    if importlib.util.find_spec(root)
]

#: 12 batches an epoch, and 4 of evaluation. Nothing is said about reporting.
START = """
import importlib, json, os, signal, sys, time, warnings
import torch

pl = importlib.import_module(os.environ["PACKAGE"])
torch.set_num_threads(1)
warnings.filterwarnings("ignore", category=UserWarning)
SECONDS = 0.03


def data(batches):
    x = torch.rand(batches * 5, 3, generator=torch.Generator().manual_seed(batches))
    dataset = torch.utils.data.TensorDataset(x, x.sum(dim=1, keepdim=True))
    return torch.utils.data.DataLoader(dataset, batch_size=5)


class Module(pl.LightningModule):
    bad = 1.0

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
        self.ends = []

    def training_step(self, batch, index):
        time.sleep(SECONDS)
        loss = ((self.layer(batch[0]) - batch[1]) ** 2).mean()
        self.log("loss", loss)
        return loss

    def on_train_batch_end(self, *_):
        self.ends.append(time.monotonic())

    def validation_step(self, batch, index):
        self.log("val_loss", ((self.layer(batch[0]) - batch[1]) ** 2).mean() * self.bad)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def trainer(*callbacks, **options):
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
    quiet["default_root_dir"] = os.environ["OUTPUT"]
    return pl.Trainer(accelerator="cpu", callbacks=list(callbacks), **{"max_epochs": 4, **quiet, **options})


def fit(made, module=None, **options):
    made.fit(Module() if module is None else module, data(12), data(4), **options)


def call(hook, do):
    return type("Calls", (pl.Callback,), {hook: do})()


"""


class Lightning:
    """Runs programs with one of the packages."""

    def __init__(self, package: str, folder: Path) -> None:
        self.package = package
        self.folder = folder

    def __call__(self, program: str, *args: object, **env: str) -> Outcome:
        # torch of today reads no old checkpoints unless it is told so.
        fixed = {"PACKAGE": self.package, "OUTPUT": str(self.folder), "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
        return run(START + program, *args, env={**fixed, **env})


def known(got: Outcome) -> list[int]:
    return [percent for percent in got.percents if percent is not None]


def whole(got: Outcome) -> bool:
    """Whether a training went from its start to its end. A busy machine may be late with the first report."""
    return known(got)[0] < 25 and known(got) == sorted(known(got)) and known(got)[-1] == 100


def said(got: Outcome) -> list[str]:
    """What the program printed with a mark."""
    return [line.partition("> ")[2] for line in got.output.splitlines() if line.startswith("> ")]
