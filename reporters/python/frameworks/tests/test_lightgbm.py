# SPDX-License-Identifier: Apache-2.0
"""LightGBM reports its trainings, in the versions of two environments."""

from __future__ import annotations

from pathlib import Path

from harness import EXAMPLES, run

EXAMPLE = EXAMPLES / "lightgbm" / "train.py"

#: Small data that every program below trains on.
DATA = """
import lightgbm
import numpy as np
from milepost.integrations.lightgbm import MilepostCallback

random = np.random.default_rng(0)
x = random.normal(size=(400, 5))
y = (x[:, 0] + 0.5 * random.normal(size=400) > 0).astype(int)
data = lightgbm.Dataset(x[:300], y[:300], free_raw_data=False)
held_out = data.create_valid(x[300:], y[300:])
params = {"objective": "binary", "metric": ["binary_logloss", "auc"], "verbosity": -1}
valid = {"valid_sets": [data, held_out], "valid_names": ["train", "valid"]}
"""


def test_the_example_reports_every_round(tmp_path: Path) -> None:
    got = run(EXAMPLE, "--rounds", 30, "--model", tmp_path / "model.txt")
    assert got.code == 0, got.output
    assert "30 rounds" in got.output
    assert len(got.reports) > 3
    assert got.percents[0] < 100
    assert got.percents == sorted(got.percents)
    assert 100 not in got.percents[:-1]
    assert got.final["progressPercentage"] == 100
    assert got.final["estimatedRemainingSeconds"] == 0
    assert set(got.metrics) == {"valid/multi_logloss"}
    assert any(report.get("estimatedRemainingSeconds", -1) >= 0 for report in got.reports[:-1])


def test_a_training_goes_on_where_the_model_stood(tmp_path: Path) -> None:
    run(EXAMPLE, "--rounds", 30, "--model", tmp_path / "model.txt")
    got = run(EXAMPLE, "--rounds", 10, "--model", tmp_path / "model.txt")
    assert got.code == 0, got.output
    assert 75 < got.percents[0] < 100  # 30 of 40 rounds are those of the model
    assert got.final["progressPercentage"] == 100


def test_early_stopping_completes_the_training() -> None:
    got = run(
        DATA
        + """
stop = lightgbm.early_stopping(3, verbose=False)
booster = lightgbm.train(params, data, 5000, callbacks=[stop, MilepostCallback()], **valid)
print("rounds:", booster.current_iteration())
"""
    )
    assert got.code == 0, got.output
    assert "rounds: 5000" not in got.output
    assert all(percent < 50 for percent in got.percents[:-1])
    assert got.final["progressPercentage"] == 100
    assert set(got.metrics) == {"train/binary_logloss", "train/auc", "valid/binary_logloss", "valid/auc"}


def test_a_training_without_data_to_evaluate_reports_too() -> None:
    got = run(DATA + "lightgbm.train(params, data, 50, callbacks=[MilepostCallback()])\n")
    assert got.code == 0, got.output
    assert got.final["progressPercentage"] == 100
    assert got.metrics == {}


def test_an_error_leaves_the_last_report_as_it_is() -> None:
    got = run(
        DATA
        + """
def broken(env):
    if env.iteration == 49:
        raise RuntimeError("out of luck")

lightgbm.train(params, data, 100, callbacks=[MilepostCallback(), broken], **valid)
"""
    )
    assert got.code == 1
    assert "out of luck" in got.output
    assert got.final["progressPercentage"] in (49, 50)  # the versions call callbacks in different orders


def test_cross_validation_reports_mean_and_deviation() -> None:
    got = run(
        DATA
        + """
stop = lightgbm.early_stopping(3, verbose=False)
lightgbm.cv(params, data, 500, nfold=3, eval_train_metric=True, callbacks=[MilepostCallback(), stop])
"""
    )
    assert got.code == 0, got.output
    assert got.final["progressPercentage"] == 100
    assert {"valid/auc", "valid/auc/std", "train/binary_logloss", "train/binary_logloss/std"} <= set(got.metrics)


def test_an_estimator_reports_each_time_it_is_trained() -> None:
    got = run(
        DATA
        + """
import copy, pickle

callback = pickle.loads(pickle.dumps(copy.deepcopy(MilepostCallback())))
model = lightgbm.LGBMClassifier(n_estimators=25, verbosity=-1)
for _ in range(2):
    model.fit(x[:300], y[:300], eval_set=[(x[300:], y[300:])], callbacks=[callback])
"""
    )
    assert got.code == 0, got.output
    assert got.percents.count(100) == 2
    assert set(got.metrics) == {"valid_0/binary_logloss"}


def test_other_ranks_report_nothing() -> None:
    got = run(DATA + "lightgbm.train(params, data, 10, callbacks=[MilepostCallback()])\n", env={"RANK": "3"})
    assert (got.code, got.reports) == (0, [])
