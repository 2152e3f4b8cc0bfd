# SPDX-License-Identifier: Apache-2.0
"""Trains LightGBM on handwritten digits and reports every round.

Needs lightgbm, scikit-learn and milepost. Runs anywhere; outside a TrainJob nothing is reported.
"""

import argparse
import os

import lightgbm
from milepost.integrations.lightgbm import MilepostCallback
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

arguments = argparse.ArgumentParser()
arguments.add_argument("--rounds", type=int, default=40)
arguments.add_argument("--model", default="", help="file that keeps the model; training goes on from it")
options = arguments.parse_args()

images, digits = load_digits(return_X_y=True)
train, held_out, train_digits, held_out_digits = train_test_split(images, digits, random_state=0)

resume = options.model if os.path.exists(options.model) else None
data = lightgbm.Dataset(train, train_digits)

# [start:train]
booster = lightgbm.train(
    {"objective": "multiclass", "num_class": 10, "verbosity": -1},
    data,
    num_boost_round=options.rounds,
    valid_sets=[data.create_valid(held_out, held_out_digits)],
    valid_names=["valid"],
    init_model=resume,
    callbacks=[MilepostCallback(), lightgbm.early_stopping(10, verbose=False)],
)
# [end:train]

if options.model:
    booster.save_model(options.model)
print(f"{booster.current_iteration()} rounds")
