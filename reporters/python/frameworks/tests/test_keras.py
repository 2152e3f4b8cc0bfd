# SPDX-License-Identifier: Apache-2.0
"""The callback for Keras in real trainings, with the Keras and the backend that the environment has."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from harness import EXAMPLES, Outcome, metrics_of, run

#: What the environment has; each has one.
BACKEND = next(name for name in ("jax", "tensorflow", "torch") if importlib.util.find_spec(name))

#: 60 samples to train with and 20 to evaluate: 6 batches an epoch, each with 30 ms of work.
START = """
import copy, json, os, signal, sys, time
import keras
import numpy as np
from milepost.integrations.keras import MilepostCallback

x = np.random.default_rng(0).random((80, 3)).astype("float32")
y = x.sum(axis=1)


class Work(keras.callbacks.Callback):
    def __init__(self, seconds=0.03):
        super().__init__()
        self.seconds = seconds

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(self.seconds)


def call(hook, do):
    return type("Calls", (keras.callbacks.Callback,), {hook: do})()


def network():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    return model


def fit(model, *callbacks, x=x, y=y, **options):
    options = {"epochs": 4, "batch_size": 10, "verbose": 0, "validation_split": 0.25, **options}
    return model.fit(x, y, callbacks=[MilepostCallback(), *callbacks], **options)
"""


def keras(program: str, *args: object, **env: str) -> Outcome:
    return run(START + program, *args, env={"KERAS_BACKEND": BACKEND, "TF_CPP_MIN_LOG_LEVEL": "3", **env})


def said(got: Outcome) -> list[str]:
    """What the program printed with a mark."""
    return [line.partition("> ")[2] for line in got.output.splitlines() if line.startswith("> ")]


def known(got: Outcome) -> list[int]:
    return [percent for percent in got.percents if percent is not None]


def whole(got: Outcome) -> bool:
    """Whether a training went from its start to its end. A busy machine may be late with the first report."""
    return known(got)[0] < 25 and known(got) == sorted(known(got)) and known(got)[-1] == 100


def test_a_training_reports_its_batches_and_evaluations() -> None:
    got = keras(
        """
history = fit(network(), Work()).history
print("> " + json.dumps([history["loss"][-1], history["val_loss"][-1]]))
"""
    )
    assert got.code == 0, got.output
    assert whole(got)
    assert len(set(known(got)) - {0, 25, 50, 75, 99, 100}) >= 4, "there are reports within epochs"
    assert got.final["estimatedRemainingSeconds"] == 0
    loss, evaluation = map(float, got.metrics.values())
    assert [loss, evaluation] == pytest.approx([float(n) for n in said(got)[0].strip("[]").split(",")])
    within = [report for report in got.reports if report.get("progressPercentage") in range(26, 50)]
    assert all(set(metrics_of(report)) == {"loss", "val_loss"} for report in within), "evaluations stay"


def test_a_training_that_goes_on_at_90_percent_tells_the_time_remaining() -> None:
    got = keras(
        """
ends = []
note = call("on_train_batch_end", lambda self, batch, logs=None: ends.append(time.monotonic()))
model = network()
long = {"x": np.tile(x, (2, 1)), "y": np.tile(y, 2), "batch_size": 16, "validation_split": 0.0}
fit(model, Work(0.4), note, initial_epoch=18, epochs=20, **long)
print("> " + json.dumps([ends[-1] - end for end in ends]))
"""
    )
    assert got.code == 0, got.output
    remaining = [float(seconds) for seconds in said(got)[0].strip("[]").split(",")]
    assert len(remaining) == 20
    assert 90 <= known(got)[0] <= 91
    report = next(report for report in got.reports if report["progressPercentage"] == 93)
    # 186 and 187 batches of 200 are 93 %.
    slowest, fastest = remaining[186 - 181], remaining[187 - 181]
    assert 0.8 * fastest - 0.5 <= report["estimatedRemainingSeconds"] <= 1.2 * slowest + 0.5, (got.percents, remaining)


def test_a_generator_is_known_by_epochs_until_one_is_over() -> None:
    got = keras(
        """
def batches():
    for _ in range(4):
        yield x[:10], y[:10]

model = network()
model.fit(batches(), initial_epoch=1, epochs=3, verbose=0, callbacks=[MilepostCallback(), Work()])
"""
    )
    assert got.code == 0, got.output
    assert known(got)[0] == 33
    # The first epoch moves nothing, although its loss arrives.
    first = [report for report in got.reports if report["progressPercentage"] == 33]
    assert any("loss" in metrics_of(report) for report in first)
    assert min(set(known(got)) - {33}) >= 66
    assert known(got)[-1] == 100


def test_an_early_stop_is_a_completion() -> None:
    got = keras(
        """
stop = keras.callbacks.EarlyStopping(monitor="val_loss", mode="max", patience=1)
fit(network(), Work(), stop, epochs=50)
"""
    )
    assert got.code == 0, got.output
    assert known(got)[-1] == 100
    assert known(got)[-2] < 50


def test_a_training_that_is_stopped_as_its_loss_is_no_number_is_not_complete() -> None:
    got = keras(
        """
y[15] = np.nan
fit(network(), keras.callbacks.TerminateOnNaN(), Work(), epochs=2, shuffle=False)
"""
    )
    assert got.code == 0, got.output
    assert got.final["progressPercentage"] < 50, "most of the first epoch is not done"
    assert got.metrics["loss"] == "NaN"
    assert "nan" in got.output


def test_a_training_to_its_end_is_complete_whatever_its_loss() -> None:
    got = keras("\ny[15] = np.nan\nfit(network(), epochs=1)\n")
    assert got.final["progressPercentage"] == 100
    assert got.metrics["loss"] == "NaN"


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("raise RuntimeError('out of memory')", 1),
        ("raise KeyboardInterrupt", None),
        ("os.kill(os.getpid(), signal.SIGTERM)", None),
    ],
    ids=["exception", "interrupt", "signal"],
)
def test_a_training_that_does_not_end_by_itself_is_not_complete(end: str, code: Any) -> None:
    got = keras(
        f"""
def crash(self, epoch, logs=None):
    if epoch == 2:
        {end}

fit(network(), Work(), call("on_epoch_begin", crash))
"""
    )
    assert got.code == code if code else got.code != 0, got.output
    assert got.final["progressPercentage"] == 50


def test_a_training_that_is_restored_goes_on(tmp_path: Path) -> None:
    program = """
def crash(self, epoch, logs=None):
    if epoch == 3 and sys.argv[2:] == ["crash"]:
        raise RuntimeError

fit(network(), Work(), keras.callbacks.BackupAndRestore(sys.argv[1]), call("on_epoch_begin", crash))
"""
    got = keras(program, tmp_path / "backup", "crash")
    assert (got.code, got.final["progressPercentage"]) == (1, 75), got.output
    got = keras(program, tmp_path / "backup")
    assert (got.code, known(got)[-1]) == (0, 100), got.output
    assert 75 <= min(known(got)) <= 83


def test_two_trainings_report_one_after_the_other() -> None:
    got = keras(
        """
model = network()
callback = MilepostCallback()
for loss in "mse", "mae":
    model.compile(optimizer="sgd", loss=loss, metrics=[loss])
    model.fit(x, y, epochs=2, batch_size=20, verbose=0, callbacks=[callback, Work()])
"""
    )
    assert got.code == 0, got.output
    first, second, rest = " ".join(map(str, known(got))).split("100")
    assert int(first.split()[0]) < 50
    assert int(second.split()[0]) < 50
    assert not rest
    assert set(got.metrics) == {"loss", "mae"}, "metrics of the first training are gone"


def test_what_is_no_training_reports_nothing() -> None:
    got = keras(
        """
model = network()
callback = MilepostCallback()
model.evaluate(x, y, verbose=0, callbacks=[callback])
model.predict(x, verbose=0, callbacks=[callback])
model.train_on_batch(x, y)
"""
    )
    assert (got.code, got.reports) == (0, []), got.output


def test_another_rank_reports_nothing() -> None:
    got = keras("\nfit(network(), epochs=1)\n", RANK="1")
    assert (got.code, got.reports) == (0, []), got.output


def test_a_copy_of_the_callback_reports() -> None:
    got = keras(
        """
first = MilepostCallback(interval=0)
network().fit(x, y, epochs=1, verbose=0, callbacks=[copy.deepcopy(first)])
"""
    )
    assert (got.code, known(got)[-1]) == (0, 100), got.output


def test_the_example_reports() -> None:
    got = run(EXAMPLES / "keras" / "train.py", "--epochs", 10, env={"KERAS_BACKEND": BACKEND})
    assert got.code == 0, got.output
    assert whole(got)
    assert set(got.metrics) == {"accuracy", "loss", "val_accuracy", "val_loss"}
    assert float(got.metrics["val_accuracy"]) > 0.9
