# SPDX-License-Identifier: Apache-2.0
"""Trains a small neural network with PyTorch Lightning to tell two interleaved spirals apart.

No line of it is about reporting: inside a TrainJob the Trainer reports by itself when the package milepost is installed.
Runs on one CPU in less than a minute, and needs neither the network nor data.

Needs torch, and lightning or pytorch-lightning.
"""

import argparse
import math
import tempfile

import torch

try:
    import lightning.pytorch as pl
except ImportError:
    import pytorch_lightning as pl


def spirals(points, seed):
    """Points of two spirals with some noise, and to which of them each belongs."""
    rng = torch.Generator().manual_seed(seed)
    spiral = torch.randint(2, (points,), generator=rng)
    turn = (0.5 + 2 * torch.rand(points, generator=rng)) * math.pi
    angle = turn + spiral * math.pi
    places = torch.stack([turn * torch.cos(angle), turn * torch.sin(angle)], dim=1) / (2.5 * math.pi)
    return places + 0.02 * torch.randn(places.shape, generator=rng), spiral.float()


# [start:train]
class Network(pl.LightningModule):
    """What it logs is reported."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)
        )

    def forward(self, places):
        return self.layers(places).squeeze(1)

    def training_step(self, batch, batch_idx):
        places, spiral = batch
        loss = torch.nn.functional.binary_cross_entropy_with_logits(self(places), spiral)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        places, spiral = batch
        self.log("val_accuracy", ((self(places) > 0) == (spiral > 0)).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.01)


def train(epochs, output):
    """Trains, and returns the metrics of the last epoch."""
    trainer = pl.Trainer(max_epochs=epochs, default_root_dir=output, accelerator="cpu", logger=False)
    trainer.fit(Network(), loader(1600, seed=1), loader(400, seed=2))
    return trainer.callback_metrics


# [end:train]


def loader(points, seed):
    """Spirals in batches."""
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*spirals(points, seed)), batch_size=32)


def main():
    """Reads the arguments and trains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args()
    torch.set_num_threads(1)
    pl.seed_everything(0)
    with tempfile.TemporaryDirectory() as output:
        print(f"accuracy {float(train(args.epochs, output)['val_accuracy']):.3f}")


if __name__ == "__main__":
    main()
