# SPDX-License-Identifier: Apache-2.0
"""Trains a small neural network to read handwritten digits and reports its progress the way the guide shows it.

Needs Python 3.9 or newer, numpy and requests. The images come from the scikit-learn package, of which only the data file is
read, or from --data. Outside a TrainJob the program trains all the same and says once that nothing is reported.

Each report runs the guide's raw HTTP example, ../raw_http/guide.py, as it is written there. Four values are put in before it
runs, all of them placeholders of the guide: the two numbers that it marks with "replace with actual value" and "replace with
actual seconds remaining", and the values of its two sample metrics. Not a character of the rest is changed.
"""

import argparse
import csv
import gzip
import importlib.util
import math
import os
import signal
import sys
import time
from pathlib import Path

# The matrices are small: more threads would spend their time waiting for each other. numpy reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402

HERE = Path(__file__).resolve().parent
CLASSES, PIXELS, SIDE, DARKEST = 10, 64, 8, 16
LEARNING_RATE, MOMENTUM = 0.05, 0.9
INTERRUPTED = 130  # exit code, as a shell has it for SIGINT


# [start:guide-report]
class GuideReporter:
    """Sends reports with the guide's own code, at most one each interval."""

    # Text in the guide, and what takes its place. Each occurs there exactly once.
    PLACEHOLDERS = {
        '"progressPercentage": 45,': '"progressPercentage": {progress!r},',
        '"estimatedRemainingSeconds": 120,': '"estimatedRemainingSeconds": {seconds!r},',
        '{"name": "loss", "value": "0.15"},': '{{"name": "loss", "value": {loss!r}}},',
        '{"name": "accuracy", "value": "0.92"},': '{{"name": "accuracy", "value": {accuracy!r}}},',
    }

    def __init__(self, guide, interval):
        self.interval = interval
        self.last = -math.inf
        self.active = all(
            os.environ.get("KUBEFLOW_TRAINER_SERVER_" + name) for name in ("URL", "CA_CERT", "TOKEN")
        )
        if not self.active:
            print("progress is not reported: KUBEFLOW_TRAINER_SERVER_URL, _CA_CERT and _TOKEN are not all set")
            return
        self.snippet = guide.read_text(encoding="utf-8")
        for placeholder in self.PLACEHOLDERS:
            if self.snippet.count(placeholder) != 1:
                raise ValueError(f"the guide's example should hold {placeholder} once")

    def report(self, progress, seconds, loss, accuracy, now=False):
        """Sends a report unless the last one was sent less than an interval ago. Never raises."""
        if not self.active or (not now and time.monotonic() < self.last + self.interval):
            return
        values = {"progress": progress, "seconds": seconds, "loss": loss, "accuracy": accuracy}
        code = self.snippet
        for placeholder, actual in self.PLACEHOLDERS.items():
            code = code.replace(placeholder, actual.format(**values))
        try:
            exec(compile(code, "guide.py", "exec"), {"__name__": "guide"})
        except Exception as problem:  # the guide's code reads the token outside of its own try
            print(f"Failed to update TrainJob progress: {problem}")
        self.last = time.monotonic()


# [end:guide-report]


def find_data():
    """Returns the data file of the scikit-learn package, without importing it, or the copy beside the example in Go."""
    places = []
    spec = importlib.util.find_spec("sklearn")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        places.append(Path(folder) / "datasets" / "data" / "digits.csv.gz")
    places.append(HERE.parent.parent / "go" / "digits" / "data" / "digits.csv.gz")
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError("no digits.csv.gz found: install scikit-learn or name the file with --data")


def find_guide():
    for place in (HERE.parent / "raw_http" / "guide.py", HERE / "guide.py"):
        if place.is_file():
            return place
    raise FileNotFoundError("no guide.py found: it belongs in ../raw_http or beside this file")


def load_digits(path):
    """Returns images as rows of 64 numbers from 0 to 1, and their digits."""
    with gzip.open(path, "rt", newline="") as file:
        rows = np.array([row for row in csv.reader(file)], dtype=float)
    if rows.shape[1] != PIXELS + 1:
        raise ValueError(f"{path} has {rows.shape[1]} columns, want {PIXELS + 1}")
    return rows[:, :PIXELS] / DARKEST, rows[:, PIXELS].astype(int)


def shifted(images, rng):
    """Moves every image by up to one pixel each way, so that the network learns shapes rather than places."""
    padded = np.pad(images.reshape(-1, SIDE, SIDE), ((0, 0), (1, 1), (1, 1)))
    moved = np.empty((len(images), SIDE, SIDE))
    places = rng.integers(0, 3, size=(len(images), 2))
    for y in range(3):
        for x in range(3):
            chosen = (places[:, 0] == y) & (places[:, 1] == x)
            moved[chosen] = padded[chosen, y : y + SIDE, x : x + SIDE]
    return moved.reshape(-1, PIXELS)


class Network:
    """A multi-layer perceptron: ReLU between the layers, softmax behind the last one."""

    def __init__(self, rng, *sizes):
        pairs = list(zip(sizes, sizes[1:]))
        self.weights = [rng.normal(0, math.sqrt(2 / below), (below, above)) for below, above in pairs]
        self.biases = [np.zeros(above) for _, above in pairs]
        self.moments = [(np.zeros_like(w), np.zeros_like(b)) for w, b in zip(self.weights, self.biases)]

    def forward(self, images):
        values = [images]
        for weights, bias in zip(self.weights[:-1], self.biases[:-1]):
            values.append(np.maximum(values[-1] @ weights + bias, 0))
        scores = values[-1] @ self.weights[-1] + self.biases[-1]
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return values, scores / scores.sum(axis=1, keepdims=True)

    def learn(self, images, digits, rate):
        """Takes one step of gradient descent with momentum and returns the sum of the losses."""
        values, probabilities = self.forward(images)
        right = np.arange(len(digits)), digits
        loss = -np.log(np.maximum(probabilities[right], 1e-12)).sum()
        delta = probabilities
        delta[right] -= 1
        for i in reversed(range(len(self.weights))):
            gradient, bias_gradient = values[i].T @ delta, delta.sum(axis=0)
            if i > 0:
                delta = (delta @ self.weights[i].T) * (values[i] > 0)
            self.step(i, gradient, bias_gradient, rate / len(digits))
        return loss

    def step(self, i, gradient, bias_gradient, rate):
        for value, moment, slope in (
            (self.weights[i], self.moments[i][0], gradient),
            (self.biases[i], self.moments[i][1], bias_gradient),
        ):
            moment *= MOMENTUM
            slope *= rate
            moment -= slope
            value += moment

    def measure(self, images, digits):
        """Returns the mean loss and the share of images that are read right."""
        _, probabilities = self.forward(images)
        losses = -np.log(np.maximum(probabilities[np.arange(len(digits)), digits], 1e-12))
        return float(losses.mean()), float((probabilities.argmax(axis=1) == digits).mean())


def remaining(elapsed, done, total):
    """Estimates the seconds left from the steps of this process alone; None until two steps are done."""
    if done < 2:
        return None
    return math.ceil(elapsed / done * max(total - done, 0))


def train(options, images, digits, reporter):
    rng = np.random.default_rng(options.seed)
    order = rng.permutation(len(images))
    cut = len(images) - len(images) // 5
    learned, tested = order[:cut], order[cut:]
    network = Network(rng, PIXELS, *options.hidden, CLASSES)
    batches = math.ceil(cut / options.batch)
    total, done = batches * options.epochs, 0
    loss, accuracy = network.measure(images[tested], digits[tested])  # of pure chance, for the first report

    print(f"training on {cut} images, testing on {len(tested)}, {options.epochs} epochs of {batches} steps", flush=True)
    started = time.monotonic()
    reporter.report(0, None, f"{loss:.4f}", f"{accuracy:.4f}", now=True)
    for epoch in range(1, options.epochs + 1):
        rate = LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * (epoch - 1) / options.epochs))
        shuffled, losses = rng.permutation(learned), 0.0
        for start in range(0, cut, options.batch):
            batch = shuffled[start : start + options.batch]
            losses += network.learn(shifted(images[batch], rng), digits[batch], rate)
            done += 1
            if done < total:
                left = remaining(time.monotonic() - started, done, total)
                reporter.report(100 * done // total, left, f"{loss:.4f}", f"{accuracy:.4f}")
        loss, (_, accuracy) = losses / cut, network.measure(images[tested], digits[tested])
        if epoch % options.log_every == 0 or epoch == options.epochs:
            print(f"epoch {epoch:3d}/{options.epochs}  loss {loss:.4f}  test accuracy {accuracy:.4f}", flush=True)
    reporter.report(100, 0, f"{loss:.4f}", f"{accuracy:.4f}", now=True)
    took = time.monotonic() - started
    print(f"trained for {took:.1f}s: {round(accuracy * len(tested))} of {len(tested)} test images read right")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=130, help="times that the training images are gone through")
    parser.add_argument("--batch", type=int, default=32, help="images between two changes of the weights")
    parser.add_argument("--hidden", type=int, nargs="+", default=[1024, 512], help="values in each hidden layer")
    parser.add_argument("--seed", type=int, default=1, help="start of the random numbers")
    parser.add_argument("--log-every", type=int, default=10, help="epochs between two lines of output")
    parser.add_argument("--report-interval", type=float, default=5.0, help="least seconds between two reports")
    parser.add_argument("--data", type=Path, help="the file digits.csv.gz")
    parser.add_argument("--guide", type=Path, help="the file guide.py with the guide's example")
    options = parser.parse_args(arguments)
    if min(options.epochs, options.batch, options.log_every, *options.hidden) < 1 or options.report_interval < 0:
        parser.error("every number must be above zero")
    return options


def main(arguments=None):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    images, digits = load_digits(options.data or find_data())
    reporter = GuideReporter(options.guide or find_guide(), options.report_interval)
    try:
        train(options, images, digits, reporter)
    except KeyboardInterrupt:
        print("stopped before the end")
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
