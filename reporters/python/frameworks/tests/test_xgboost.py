# SPDX-License-Identifier: Apache-2.0
"""XGBoost reports its trainings, in the versions of two environments."""

from __future__ import annotations

from pathlib import Path

from harness import EXAMPLES, metrics_of, run

EXAMPLE = EXAMPLES / "xgboost" / "train.py"

#: Small data that every program below trains on.
DATA = """
import numpy as np
import xgboost
from milepost.integrations.xgboost import MilepostCallback

random = np.random.default_rng(0)
x = random.normal(size=(400, 5))
y = (x[:, 0] + 0.5 * random.normal(size=400) > 0).astype(int)
data, held_out = xgboost.DMatrix(x[:300], y[:300]), xgboost.DMatrix(x[300:], y[300:])
params = {"objective": "binary:logistic", "eval_metric": ["logloss", "auc"]}
evals = [(data, "train"), (held_out, "valid")]
"""


def test_the_example_reports_every_round(tmp_path: Path) -> None:
    got = run(EXAMPLE, "--rounds", 30, "--model", tmp_path / "model.json")
    assert got.code == 0, got.output
    assert "30 rounds" in got.output
    assert len(got.reports) > 3
    assert got.percents[0] < 100
    assert got.percents == sorted(got.percents)
    assert 100 not in got.percents[:-1]
    assert got.final["progressPercentage"] == 100
    assert got.final["estimatedRemainingSeconds"] == 0
    assert set(got.metrics) == {"valid/mlogloss", "valid/merror"}
    assert 0 < float(got.metrics["valid/mlogloss"]) < 1
    assert any(report.get("estimatedRemainingSeconds", -1) >= 0 for report in got.reports[:-1])


def test_a_training_goes_on_where_the_model_stood(tmp_path: Path) -> None:
    run(EXAMPLE, "--rounds", 30, "--model", tmp_path / "model.json")
    got = run(EXAMPLE, "--rounds", 10, "--model", tmp_path / "model.json")
    assert got.code == 0, got.output
    assert 75 <= got.percents[0] < 100  # 30 of 40 rounds are those of the model
    assert got.final["progressPercentage"] == 100


def test_early_stopping_completes_the_training() -> None:
    got = run(
        DATA
        + """
quiet = {"verbose_eval": False, "callbacks": [MilepostCallback()]}
booster = xgboost.train(params, data, 5000, evals, early_stopping_rounds=3, **quiet)
print("rounds:", booster.num_boosted_rounds())
"""
    )
    assert got.code == 0, got.output
    assert "rounds: 5000" not in got.output
    assert all(percent < 50 for percent in got.percents[:-1])
    assert got.final["progressPercentage"] == 100
    assert set(got.metrics) == {"train/logloss", "train/auc", "valid/logloss", "valid/auc"}


def test_an_error_leaves_the_last_report_as_it_is() -> None:
    got = run(
        DATA
        + """
class Broken(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        if epoch == 49:
            raise RuntimeError("out of luck")
        return False

xgboost.train(params, data, 100, evals, verbose_eval=False, callbacks=[MilepostCallback(), Broken()])
"""
    )
    assert got.code == 1
    assert "out of luck" in got.output
    assert got.final["progressPercentage"] in (49, 50)  # the versions call callbacks in different orders


def test_cross_validation_reports_mean_and_deviation() -> None:
    got = run(DATA + "xgboost.cv(params, data, 20, nfold=3, callbacks=[MilepostCallback()])\n")
    assert got.code == 0, got.output
    assert got.final["progressPercentage"] == 100
    assert {"test/logloss", "test/logloss/std", "train/auc", "train/auc/std"} <= set(got.metrics)


def test_an_estimator_with_the_callback_is_cloned_pickled_and_trained_twice() -> None:
    got = run(
        DATA
        + """
import pickle
from sklearn.base import clone

model = clone(xgboost.XGBClassifier(n_estimators=25, callbacks=[MilepostCallback()], eval_metric="logloss"))
model.fit(x[:300], y[:300], eval_set=[(x[300:], y[300:])], verbose=False)
again = pickle.loads(pickle.dumps(model))
again.fit(x[:300], y[:300], eval_set=[(x[300:], y[300:])], verbose=False)
"""
    )
    assert got.code == 0, got.output
    assert got.percents.count(100) == 2
    assert set(got.metrics) == {"validation_0/logloss"}


def test_values_that_are_no_number_arrive() -> None:
    got = run(
        DATA
        + """
def broken(predictions, matrix):
    return "broken", float("nan")

xgboost.train(params, data, 10, evals, custom_metric=broken, verbose_eval=False, callbacks=[MilepostCallback()])
"""
    )
    assert got.code == 0, got.output
    assert got.metrics["valid/broken"] == "NaN"


def test_other_ranks_and_laptops_report_nothing() -> None:
    program = DATA + "xgboost.train(params, data, 10, evals, verbose_eval=False, callbacks=[MilepostCallback()])\n"
    assert run(program, env={"RANK": "1"}).reports == []
    laptop = "import os\nfor name in list(os.environ):\n    name.startswith('KUBEFLOW_') and os.environ.pop(name)\n"
    got = run(laptop + program)
    assert (got.code, got.reports) == (0, [])


def test_a_reporter_of_the_program_wins() -> None:
    got = run(
        DATA
        + """
import milepost

with milepost.start() as m:
    m.report(progress=33)
    xgboost.train(params, data, 10, evals, verbose_eval=False, callbacks=[MilepostCallback()])
"""
    )
    assert got.code == 0, got.output
    assert set(got.percents) == {33}
    assert "xgboost reports nothing: the program has a reporter of its own" not in got.output  # INFO is not shown


def test_the_rounds_are_given_where_they_cannot_be_found() -> None:
    got = run(
        DATA
        + """
callback = MilepostCallback(total=20)
booster = callback.before_training(xgboost.Booster(params, [data]))
for epoch in range(10):
    booster.update(data, epoch)
    callback.after_iteration(booster, epoch, {})
"""
    )
    assert got.code == 0, got.output
    assert got.final["progressPercentage"] == 50
    assert metrics_of(got.final) == {}
