# SPDX-License-Identifier: Apache-2.0
"""The callback in the real Trainer, under the real `milepost run`.

With a version of Transformers that has a callback of its own the program makes ours; with others it does
nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness import EXAMPLES, metrics_of, run
from trainer import HAS_ITS_OWN, LOGGED, OFFLINE, OURS, PROGRAM, percents_of, step_of, train, trained


def test_the_example_reports_without_a_line_about_it() -> None:
    got = run(EXAMPLES / "transformers" / "train.py", "--epochs", 2, "--samples", 640, env=OFFLINE)
    assert got.code == 0, got.output
    assert "milepost" not in (EXAMPLES / "transformers" / "train.py").read_text().partition("import argparse")[2]
    assert (got.percents[0] or 0) < 50
    assert got.final["progressPercentage"] == 100
    assert got.final["estimatedRemainingSeconds"] == 0
    assert got.metrics.keys() >= LOGGED
    assert float(got.metrics["eval_accuracy"]) > 0.5


def test_a_training_reports_each_step_and_ends_at_100() -> None:
    got = trained("--steps", 20, "--seconds", 0.03)
    assert percents_of(got) == sorted(percents_of(got))
    assert percents_of(got)[0] < 50
    assert got.percents[-1] == 100
    last = got.metrics
    assert last.keys() >= LOGGED | {"train_runtime", "train_loss"}
    assert (last["current_step"], last["total_steps"], last["current_epoch"]) == ("20", "20", "2")
    for report in got.reports[:-1]:
        assert report["progressPercentage"] == min(99, step_of(report) * 100 // 20)
    assert all("estimatedRemainingSeconds" in report for report in got.reports if step_of(report) > 1)


def test_epochs_in_place_of_steps() -> None:
    got = trained("--epochs", 1.5)
    assert got.metrics["total_steps"] == "15"
    assert got.metrics["current_epoch"] == "1.5"
    assert got.percents[-1] == 100


def test_a_training_that_fails_stays_where_it_was() -> None:
    got = train("--steps", 20, "--raise-at", 12)
    assert got.code == 1
    assert "out of memory" in got.output
    assert got.final["progressPercentage"] in (55, 60), "the callback may come before the one that fails"
    assert "eval_accuracy" in got.metrics


def test_an_interrupted_training_stays_where_it_was() -> None:
    got = train("--steps", 20, "--interrupt-at", 8)
    assert got.code != 0
    assert got.final["progressPercentage"] in (35, 40)


def test_early_stopping_is_a_completion() -> None:
    got = trained("--steps", 200, "--patience", 2, "--save-every", 5)
    assert got.final["progressPercentage"] == 100
    assert int(got.metrics["current_step"]) < 50
    assert got.metrics["total_steps"] == "200"


def test_early_stopping_because_the_metric_is_no_number_is_none() -> None:
    got = trained("--steps", 200, "--patience", 2, "--save-every", 5, "--nan")
    assert got.final["progressPercentage"] < 50
    assert got.metrics["eval_accuracy"] == "NaN"


def test_a_training_that_is_stopped_to_go_on_later_is_not_complete() -> None:
    got = trained("--explicit", "--stopped-is-open", "--steps", 20, "--stop-at", 10)
    assert got.final["progressPercentage"] == 50
    got = trained("--explicit", "--stopped-is-open", "--steps", 20, "--stop-at", 20)
    assert got.final["progressPercentage"] == 100


@pytest.mark.skipif(not HAS_ITS_OWN, reason="this version has no checkpoints at SIGTERM")
def test_a_training_that_saves_itself_at_sigterm_is_not_complete_when_stopped() -> None:
    got = trained("--jit", "--steps", 20, "--stop-at", 10)
    assert got.final["progressPercentage"] == 50


def test_a_resumed_training_tells_the_truth_about_its_end(tmp_path: Path) -> None:
    options = ["--steps", 400, "--evaluate-every", 100, "--save-every", 360, "--output", tmp_path]
    crashed = train(*options, "--raise-at", 365)
    assert crashed.code == 1
    assert (tmp_path / "checkpoint-360").is_dir()

    got = trained(*options, "--resume", "--seconds", 0.4, "--mark", 370)
    assert got.percents[0] == 90, "it goes on where it was"
    assert min(percents_of(got)) == 90
    assert got.percents[-1] == 100
    assert metrics_of(got.reports[0])["eval_accuracy"], "the metrics of the checkpoint are there at once"
    begin, end = (float(re.search(rf"{word} ([0-9.]+)", got.output)[1]) for word in ("mark", "end"))  # type: ignore[index]
    estimate = next(report for report in got.reports if step_of(report) == 370)["estimatedRemainingSeconds"]
    assert estimate == pytest.approx(end - begin, rel=0.2), "after ten steps"


def test_an_evaluation_alone_has_metrics_and_no_progress() -> None:
    got = trained("--do", "evaluate")
    assert "progressPercentage" not in got.final
    assert got.metrics.keys() >= {"eval_loss", "eval_accuracy"}
    assert "current_step" not in got.metrics


def test_trainings_and_evaluations_follow_each_other_in_one_process() -> None:
    got = trained("--do", "evaluate,train,train,evaluate,predict", "--steps", 10, "--seconds", 0.05)
    percents = got.percents
    second = [percent or 0 for percent in percents[percents.index(100) :]]
    assert min(second) < 50, "a training after a complete one begins anew"
    assert percents[-1] == 100, "an evaluation after a training leaves it complete"
    assert got.metrics.keys() >= LOGGED | {"test_loss", "test_accuracy", "train_loss"}


def test_values_of_all_kinds() -> None:
    got = trained("--odd-logs")
    assert got.metrics["tensor"] == "1.5"
    assert float(got.metrics["float32"]) == pytest.approx(0.1)
    assert got.metrics["nan"] == "NaN"
    assert got.metrics["text"] == "warm"
    assert not {"many", "nothing"} & got.metrics.keys()


def test_more_metrics_than_a_report_can_hold() -> None:
    got = trained("--metrics", 300)
    assert len(got.metrics) == 256
    assert got.metrics.keys() >= {"loss", "current_step", "total_steps", "eval_accuracy", "eval_m000"}


def test_switched_off_by_the_variable() -> None:
    got = run(PROGRAM, "--explicit", env={**OFFLINE, "DISABLE_KUBEFLOW_INTEGRATION": "True"})
    assert got.code == 0, got.output
    assert got.reports == []


@pytest.mark.parametrize("explicit", [[], ["--explicit"]])
def test_a_reporter_of_the_program_wins(explicit: list[str]) -> None:
    got = run(PROGRAM, "--own-reporter", *explicit, env=OFFLINE)
    assert got.code == 0, got.output
    assert got.percents == [42]


@pytest.mark.parametrize("report_to", ["kubeflow", "all"])
def test_report_to_makes_no_difference(report_to: str) -> None:
    got = run(PROGRAM, "--report-to", report_to, env=OFFLINE)
    assert got.code == 0, got.output
    assert got.percents.count(100) == 1
    assert "already one" not in got.output


TWO_PROCESSES = f"""
import sys
from torch.distributed.run import main
main(["--nproc-per-node=2", "--standalone", {str(PROGRAM)!r}, *sys.argv[1:]])
"""


def test_one_process_of_two_reports() -> None:
    got = run(TWO_PROCESSES, *OURS, "--steps", 10, "--seconds", 0.03, env=OFFLINE)
    assert got.code == 0, got.output
    assert percents_of(got) == sorted(percents_of(got))
    assert got.percents.count(100) == 1


TRIALS = """
from types import SimpleNamespace
from transformers import TrainerControl, TrainerState
from transformers.integrations import KubeflowTrainerCallback

callback = KubeflowTrainerCallback()
args = SimpleNamespace(world_size=1, num_train_epochs=1, metric_for_best_model=None)
for trial in range(2):
    state = TrainerState(max_steps=10, is_hyper_param_search=True)
    callback.on_train_begin(args, state, TrainerControl())
    state.global_step = 10
    callback.on_step_end(args, state, TrainerControl())
    callback.on_train_end(args, state, TrainerControl())
"""


def test_a_trial_of_a_search_is_no_completion_with_events_sent_by_hand() -> None:
    got = run(TRIALS)
    assert got.code == 0, got.output
    assert got.final["progressPercentage"] == 99
    assert 100 not in got.percents


COPIES = """
import copy, pickle
from types import SimpleNamespace
from transformers import TrainerControl, TrainerState
from transformers.integrations import KubeflowTrainerCallback

args, state = SimpleNamespace(world_size=1, num_train_epochs=1, metric_for_best_model=None), TrainerState(max_steps=4)
first = KubeflowTrainerCallback(complete_when_stopped=False)
first.on_train_begin(args, state, TrainerControl())
for callback in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
    assert callback._complete_when_stopped is False
state.global_step = 2
first.on_step_end(args, state, TrainerControl())
first.on_train_end(None, None, None)  # not what a Trainer sends
"""


def test_copies_and_wrong_arguments_do_no_harm_with_events_sent_by_hand() -> None:
    got = run(COPIES)
    assert got.code == 0, got.output
    assert got.final["progressPercentage"] == 50
