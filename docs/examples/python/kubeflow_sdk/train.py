# SPDX-License-Identifier: Apache-2.0
"""Learns which points lie in a circle, in plain Python, and reports as programs for the Kubeflow SDK do.

The function comes from the package milepost, which needs nothing else. It takes the same arguments as the one of
kubeflow.trainer, and the program could import that instead.
"""

import argparse
import math
import random

# [start:report]
from milepost.kubeflow import update_trainjob_status


def train(epochs, points):
    """Trains, and reports after every epoch. The call costs microseconds, whatever the network does."""
    weights = [0.0] * 3
    for epoch in range(1, epochs + 1):
        loss, accuracy = learn(weights, points)
        update_trainjob_status(
            progress_percent=99 * epoch / epochs,
            metrics={"loss": loss, "accuracy": accuracy},
        )
    update_trainjob_status(progress_percent=100, metrics={"loss": loss, "accuracy": accuracy})
    return accuracy


# [end:report]


def learn(weights, points, rate=0.5):
    """One epoch of logistic regression. Changes the weights; returns the mean loss and how many points were right."""
    loss, right = 0.0, 0
    for x, y, inside in points:
        features = (1.0, x * x, y * y)
        score = sum(weight * feature for weight, feature in zip(weights, features))
        chance = 1 / (1 + math.exp(-score))
        loss -= math.log(max(chance if inside else 1 - chance, 1e-12))
        right += (chance > 0.5) == inside
        for i, feature in enumerate(features):
            weights[i] += rate * (inside - chance) * feature
    return loss / len(points), right / len(points)


def circle(count, seed=7):
    """Random points of a square, and whether each lies in a circle."""
    numbers = random.Random(seed)
    for _ in range(count):
        x, y = numbers.uniform(-1, 1), numbers.uniform(-1, 1)
        yield x, y, x * x + y * y < 0.6


def main():
    """Reads the arguments and trains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--points", type=int, default=2000)
    arguments = parser.parse_args()
    print(f"accuracy {train(arguments.epochs, list(circle(arguments.points))):.3f}")


if __name__ == "__main__":
    main()
