# SPDX-License-Identifier: Apache-2.0
"""Trains a small neural network to read handwritten digits and reports its progress with the reporter for Python.

python3 train.py digits.csv.gz [EPOCHS]
"""

import sys

import milepost
import numpy as np

RATE, BATCH = 0.05, 8


def read_digits(path):
    """Returns images as rows of 64 numbers from 0 to 1, and their digits. numpy unzips the file by its name."""
    rows = np.loadtxt(path, delimiter=",")
    return rows[:, :-1] / 16, rows[:, -1].astype(int)


class Network:
    """One hidden layer of rectifiers; the outputs are the probabilities of the digits."""

    def __init__(self, rng, inputs, hidden, classes):
        self.w1, self.b1 = rng.normal(0, (2 / inputs) ** 0.5, (inputs, hidden)), np.zeros(hidden)
        self.w2, self.b2 = rng.normal(0, (2 / hidden) ** 0.5, (hidden, classes)), np.zeros(classes)

    def predict(self, images):
        hidden = np.maximum(images @ self.w1 + self.b1, 0)
        scores = np.exp(hidden @ self.w2 + self.b2)
        return hidden, scores / scores.sum(axis=1, keepdims=True)

    def learn(self, images, digits):
        """Takes one step down the slope of the loss and returns the loss."""
        hidden, slopes = self.predict(images)
        right = np.arange(len(digits)), digits
        loss = -np.log(slopes[right]).mean()
        slopes[right] -= 1
        below = slopes @ self.w2.T * (hidden > 0)
        step = RATE / len(digits)
        self.w2 -= step * hidden.T @ slopes
        self.b2 -= step * slopes.sum(axis=0)
        self.w1 -= step * images.T @ below
        self.b1 -= step * below.sum(axis=0)
        return loss

    def accuracy(self, images, digits):
        return (self.predict(images)[1].argmax(axis=1) == digits).mean()


def train(images, digits, epochs):
    """Learns from four fifths of the images and measures on the others how many are read right."""
    rng = np.random.default_rng(1)
    network = Network(rng, 64, 128, 10)
    cut = len(images) // 5

    # [start:train]
    with milepost.start() as m:
        for epoch in range(1, epochs + 1):
            batches = np.split(rng.permutation(np.arange(cut, len(images))), range(BATCH, len(images) - cut, BATCH))
            loss = np.mean([network.learn(images[batch], digits[batch]) for batch in batches])
            m.report(epoch, epochs, {"loss": loss, "accuracy": network.accuracy(images[:cut], digits[:cut])})
        m.complete()
    # [end:train]

    accuracy = network.accuracy(images[:cut], digits[:cut])
    print(f"{100 * accuracy:.1f} % of {cut} images that it did not learn from are read right")


if __name__ == "__main__":
    train(*read_digits(sys.argv[1]), epochs=int(sys.argv[2]) if len(sys.argv) > 2 else 500)
