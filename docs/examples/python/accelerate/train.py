# SPDX-License-Identifier: Apache-2.0
"""Trains a small network with Accelerate, in a loop of its own, and reports through a tracker.

Runs on one CPU in seconds, and needs neither the network nor data: the network learns a curve. Needs torch, accelerate and
milepost.
"""

import argparse

import torch
from accelerate import Accelerator

from milepost.integrations.accelerate import MilepostTracker


def main():
    """Reads the arguments and trains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    args = parser.parse_args()
    torch.manual_seed(0)

    x = torch.linspace(-3, 3, 1024).unsqueeze(1)
    batches = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x, torch.sin(x)), batch_size=args.batch, shuffle=True
    )
    model = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    # [start:train]
    accelerator = Accelerator(log_with=MilepostTracker(total_steps=args.epochs * len(batches)))
    accelerator.init_trackers("sine")
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)

    step = 0
    for epoch in range(args.epochs):
        for inputs, targets in batches:
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            step += 1
            accelerator.log({"loss": loss.item(), "epoch": epoch + 1}, step=step)
    accelerator.end_training()  # the training is complete
    # [end:train]
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
