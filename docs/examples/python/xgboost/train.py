# SPDX-License-Identifier: Apache-2.0
"""Trains XGBoost on handwritten digits and reports every round.

Needs xgboost, scikit-learn and milepost. Runs anywhere; outside a TrainJob nothing is reported.
"""

import argparse
import os

import xgboost
from milepost.integrations.xgboost import MilepostCallback
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

arguments = argparse.ArgumentParser()
arguments.add_argument("--rounds", type=int, default=60)
arguments.add_argument("--model", default="", help="file that keeps the model; training goes on from it")
options = arguments.parse_args()

images, digits = load_digits(return_X_y=True)
train, held_out, train_digits, held_out_digits = train_test_split(images, digits, random_state=0)

resume = options.model if os.path.exists(options.model) else None

# [start:train]
booster = xgboost.train(
    {"objective": "multi:softprob", "num_class": 10, "eta": 0.1, "eval_metric": ["merror", "mlogloss"]},
    xgboost.DMatrix(train, train_digits),
    num_boost_round=options.rounds,
    evals=[(xgboost.DMatrix(held_out, held_out_digits), "valid")],
    early_stopping_rounds=10,
    xgb_model=resume,
    verbose_eval=False,
    callbacks=[MilepostCallback()],
)
# [end:train]

if options.model:
    booster.save_model(options.model)
print(f"{booster.num_boosted_rounds()} rounds")
