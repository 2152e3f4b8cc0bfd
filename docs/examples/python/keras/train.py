# SPDX-License-Identifier: Apache-2.0
"""Trains a small neural network of Keras to tell two interleaved spirals apart.

One callback reports. Runs on one CPU in less than a minute, and needs neither the network nor data.

Needs keras and one of its backends, such as jax (KERAS_BACKEND=jax), or TensorFlow.
"""

import argparse

import keras
import numpy as np

from milepost.integrations.keras import MilepostCallback


def spirals(points, seed):
    """Points of two spirals with some noise, and to which of them each belongs."""
    rng = np.random.default_rng(seed)
    spiral = rng.integers(0, 2, points)
    turn = rng.uniform(0.5, 2.5, points) * np.pi
    angle = turn + spiral * np.pi
    places = np.stack([turn * np.cos(angle), turn * np.sin(angle)], axis=1) / (2.5 * np.pi)
    return (places + rng.normal(0, 0.02, places.shape)).astype("float32"), spiral.astype("float32")


def network():
    """Three layers that end in the probability of the second spiral."""
    return keras.Sequential(
        [
            keras.layers.Dense(32, activation="relu"),
            keras.layers.Dense(32, activation="relu"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )


def train(epochs):
    """Trains, and returns the metrics of the last epoch."""
    points, labels = spirals(2000, seed=1)
    # [start:train]
    model = network()
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="binary_crossentropy", metrics=["accuracy"])
    history = model.fit(
        points,
        labels,
        epochs=epochs,
        validation_split=0.2,
        callbacks=[MilepostCallback()],
        verbose=0,
    )
    # [end:train]
    return {name: values[-1] for name, values in history.history.items()}


def main():
    """Reads the arguments and trains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args()
    keras.utils.set_random_seed(0)
    print(f"accuracy {train(args.epochs)['val_accuracy']:.3f}")


if __name__ == "__main__":
    main()
