# SPDX-License-Identifier: Apache-2.0
"""The callback for PyTorch Lightning in real trainings, under the names that the environment has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import EXAMPLES, metrics_of, run
from lightning_programs import PACKAGES, Lightning, known, said, whole


@pytest.fixture
def lightning(tmp_path: Path) -> Lightning:
    return Lightning(PACKAGES[0], tmp_path)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_trainer_reports_without_a_line_in_the_program(package: str, tmp_path: Path) -> None:
    got = Lightning(package, tmp_path)(
        """
made = trainer()
fit(made)
print("> " + json.dumps({name: float(value) for name, value in made.callback_metrics.items()}))
"""
    )
    assert got.code == 0, got.output
    assert whole(got)
    early = [report for report in got.reports if report["progressPercentage"] < 25]
    assert not any("val_loss" in metrics_of(report) for report in early), "nothing of the sanity check"
    assert len(set(known(got))) >= 8
    first = next(report["progressPercentage"] for report in got.reports if "val_loss" in metrics_of(report))
    assert 25 <= first < 35, "an evaluation moves nothing"
    last = {name: float(value) for name, value in got.metrics.items()}
    assert last == pytest.approx(json.loads(said(got)[0]))
    assert set(last) == {"loss", "val_loss"}
    assert all("val_loss" in metrics_of(r) for r in got.reports if r.get("progressPercentage", 0) >= 26)


@pytest.mark.skipif(len(PACKAGES) < 2, reason="there is one package")
def test_a_program_may_use_both_packages(tmp_path: Path) -> None:
    got = Lightning("lightning.pytorch", tmp_path)(
        """
import copy, pickle
from milepost.integrations.lightning import MilepostCallback

for package in "lightning.pytorch", "pytorch_lightning":
    pl = importlib.import_module(package)

    class Small(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        training_step, configure_optimizers = Module.training_step, Module.configure_optimizers

    callback = pickle.loads(pickle.dumps(copy.deepcopy(MilepostCallback())))
    trainer(callback, max_epochs=1).fit(Small(), data(12))
"""
    )
    assert got.code == 0, got.output
    assert known(got).count(100) == 2


def test_a_trainer_is_silent_where_the_integration_is_off(lightning: Lightning) -> None:
    got = lightning("\nfit(trainer(max_epochs=1))\n", DISABLE_KUBEFLOW_INTEGRATION="true")
    assert (got.code, got.reports) == (0, []), got.output


@pytest.mark.parametrize("off", ["", "TRUE"])
def test_a_callback_of_the_program_reports_alone(lightning: Lightning, off: str) -> None:
    got = lightning(
        """
from milepost.integrations.lightning import MilepostCallback

mine = MilepostCallback()

def who(self, trainer, *_):
    ours = [callback for callback in trainer.callbacks if isinstance(callback, MilepostCallback)]
    print("> " + json.dumps([[callback is mine, callback._session.reporting] for callback in ours]))

fit(trainer(mine, call("on_train_epoch_end", who), max_epochs=1))
""",
        DISABLE_KUBEFLOW_INTEGRATION=off,
    )
    assert got.code == 0, got.output
    assert json.loads(said(got)[0]) == [[True, True]] + ([[False, False]] if not off else [])
    assert known(got)[-1] == 100


def test_another_rank_reports_nothing(lightning: Lightning) -> None:
    got = lightning("\nfit(trainer(max_epochs=1))\n", JOB_COMPLETION_INDEX="1")
    assert (got.code, got.reports) == (0, []), got.output


@pytest.mark.parametrize("strategy", ["ddp", "ddp_spawn"])
def test_of_several_processes_the_first_reports(lightning: Lightning, strategy: str) -> None:
    got = lightning(
        f"""
class Summed(Module):
    def training_step(self, batch, index):
        loss = super().training_step(batch, index)
        self.log("epoch_loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def on_train_epoch_end(self):
        self.trainer.strategy.barrier()

def who(self, trainer, *_):
    ours = [callback for callback in trainer.callbacks if type(callback).__name__ == "MilepostCallback"]
    print("> " + json.dumps([trainer.global_rank, [callback._session.reporting for callback in ours]]))

if __name__ == "__main__":
    made = trainer(max_epochs=2, devices=2, strategy="{strategy}")
    made.callbacks.append(call("on_train_epoch_end", who) if "{strategy}" == "ddp" else pl.Callback())
    fit(made, Summed())
"""
    )
    assert got.code == 0, got.output
    if strategy == "ddp":
        assert sorted(said(got)) == ["[0, [true]]"] * 2 + ["[1, [false]]"] * 2
    # Each process trains with half of the batches.
    assert whole(got)
    assert set(got.metrics) == {"loss", "epoch_loss", "val_loss"}


def test_steps_count_when_they_end_the_training_first(lightning: Lightning) -> None:
    got = lightning("\nfit(trainer(max_steps=10, accumulate_grad_batches=2))\n")
    assert got.code == 0, got.output
    # The end of an epoch of 12 batches, with its evaluation, is 12 batches of 20.
    at = [report["progressPercentage"] for report in got.reports if "val_loss" in metrics_of(report)]
    assert 60 <= at[0] < 80
    assert known(got)[-1] == 100


def test_time_counts_when_it_ends_the_training_first(lightning: Lightning) -> None:
    got = lightning("\nfit(trainer(max_epochs=1000, max_time={'seconds': 3}))\n")
    assert got.code == 0, got.output
    assert known(got) == sorted(known(got))
    assert len([percent for percent in known(got) if 10 < percent < 90]) > 10
    half = next(report for report in got.reports if report["progressPercentage"] >= 50)
    assert 1 <= half["estimatedRemainingSeconds"] <= 2
    assert known(got)[-1] == 100


def test_a_training_without_a_limit_has_metrics_but_no_progress(lightning: Lightning) -> None:
    got = lightning(
        """
def stop(self, trainer, *_):
    trainer.should_stop = trainer.global_step >= 30

fit(trainer(call("on_train_batch_end", stop), max_epochs=-1))
"""
    )
    assert got.code == 0, got.output
    assert set(got.percents[:-1]) == {None}
    assert any("loss" in metrics_of(report) for report in got.reports[:-1])
    assert got.percents[-1] == 100


def test_validate_and_test_report_nothing(lightning: Lightning) -> None:
    got = lightning("\ntrainer().validate(Module(), data(4))\ntrainer().predict(torch.nn.Module and Module(), [])\n")
    assert got.reports == [], got.output


def test_a_dev_run_is_a_short_training(lightning: Lightning) -> None:
    got = lightning("\nfit(trainer(fast_dev_run=2))\n")
    assert got.code == 0, got.output
    assert known(got)[-1] == 100


def test_the_tuner_reports_nothing(lightning: Lightning) -> None:
    got = lightning(
        """
class Tuned(Module):
    lr = 0.1
    tuning = True

    def training_step(self, batch, index):
        loss = super().training_step(batch, index)
        self.log("tuning", float(self.tuning))
        return loss

SECONDS = 0
module = Tuned()
made = trainer(max_epochs=2)
tuner = importlib.import_module(pl.__name__ + ".tuner.tuning").Tuner(made)
tuner.lr_find(module, data(12), data(4), num_training=10)
SECONDS, module.tuning = 0.03, False
fit(made, module)
"""
    )
    assert got.code == 0, got.output
    assert {metrics_of(report).get("tuning", "0") for report in got.reports} == {"0"}
    assert whole(got)


def test_optimizers_that_the_module_steps_itself_count_batches(lightning: Lightning) -> None:
    got = lightning(
        """
class Manual(Module):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch, index):
        for optimizer in self.optimizers():
            optimizer.zero_grad()
            loss = super().training_step(batch, index)
            self.manual_backward(loss)
            optimizer.step()

    def configure_optimizers(self):
        return [torch.optim.SGD(self.parameters(), 0.05), torch.optim.SGD(self.parameters(), 0.05)]

fit(trainer(max_epochs=10, max_steps=48), Manual())
"""
    )
    assert got.code == 0, got.output
    at = [report["progressPercentage"] for report in got.reports if "val_loss" in metrics_of(report)]
    assert 50 <= at[0] < 65, "24 steps of 48, in 12 batches"
    assert known(got)[-1] == 100


def test_the_example_reports() -> None:
    got = run(EXAMPLES / "lightning" / "train.py", "--epochs", 10)
    assert got.code == 0, got.output
    assert whole(got)
    assert set(got.metrics) == {"loss", "val_accuracy"}
    assert float(got.metrics["val_accuracy"]) > 0.9
