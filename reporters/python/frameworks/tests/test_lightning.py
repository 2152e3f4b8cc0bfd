# SPDX-License-Identifier: Apache-2.0
"""The callback for PyTorch Lightning in real trainings, under the names that the environment has."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from harness import EXAMPLES, Outcome, metrics_of, run

#: The package `lightning` brings `pytorch_lightning` with it.
PACKAGES = [
    package
    for package, root in (("lightning.pytorch", "lightning"), ("pytorch_lightning", "pytorch_lightning"))
    if importlib.util.find_spec(root)
]

#: 12 batches an epoch, and 4 of evaluation. Nothing is said about reporting.
START = """
import importlib, json, os, signal, sys, time, warnings
import torch

pl = importlib.import_module(os.environ["PACKAGE"])
torch.set_num_threads(1)
warnings.filterwarnings("ignore", category=UserWarning)
SECONDS = 0.03


def data(batches):
    x = torch.rand(batches * 5, 3, generator=torch.Generator().manual_seed(batches))
    dataset = torch.utils.data.TensorDataset(x, x.sum(dim=1, keepdim=True))
    return torch.utils.data.DataLoader(dataset, batch_size=5)


class Module(pl.LightningModule):
    bad = 1.0

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
        self.ends = []

    def training_step(self, batch, index):
        time.sleep(SECONDS)
        loss = ((self.layer(batch[0]) - batch[1]) ** 2).mean()
        self.log("loss", loss)
        return loss

    def on_train_batch_end(self, *_):
        self.ends.append(time.monotonic())

    def validation_step(self, batch, index):
        self.log("val_loss", ((self.layer(batch[0]) - batch[1]) ** 2).mean() * self.bad)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def trainer(*callbacks, **options):
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
    quiet["default_root_dir"] = os.environ["OUTPUT"]
    return pl.Trainer(accelerator="cpu", callbacks=list(callbacks), **{"max_epochs": 4, **quiet, **options})


def fit(made, module=None, **options):
    made.fit(Module() if module is None else module, data(12), data(4), **options)


def call(hook, do):
    return type("Calls", (pl.Callback,), {hook: do})()


"""


class Lightning:
    """Runs programs with one of the packages."""

    def __init__(self, package: str, folder: Path) -> None:
        self.package = package
        self.folder = folder

    def __call__(self, program: str, *args: object, **env: str) -> Outcome:
        # torch of today reads no old checkpoints unless it is told so.
        fixed = {"PACKAGE": self.package, "OUTPUT": str(self.folder), "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
        return run(START + program, *args, env={**fixed, **env})


@pytest.fixture
def lightning(tmp_path: Path) -> Lightning:
    return Lightning(PACKAGES[0], tmp_path)


def known(got: Outcome) -> list[int]:
    return [percent for percent in got.percents if percent is not None]


def whole(got: Outcome) -> bool:
    """Whether a training went from its start to its end. A busy machine may be late with the first report."""
    return known(got)[0] < 25 and known(got) == sorted(known(got)) and known(got)[-1] == 100


def said(got: Outcome) -> list[str]:
    """What the program printed with a mark."""
    return [line.partition("> ")[2] for line in got.output.splitlines() if line.startswith("> ")]


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


def test_a_training_that_is_resumed_at_90_percent_tells_the_time_remaining(
    lightning: Lightning, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "at-90.ckpt"
    got = lightning(
        """
SECONDS = 0
made = trainer(max_epochs=18)
fit(made)
made.save_checkpoint(sys.argv[1])
""",
        checkpoint,
    )
    assert got.code == 0, got.output
    evaluation = got.metrics["val_loss"]

    got = lightning(
        """
SECONDS = 0.25
module = Module()
fit(trainer(max_epochs=20), module, ckpt_path=sys.argv[1])
print("> " + json.dumps([module.ends[-1] - end for end in module.ends]))
""",
        checkpoint,
    )
    assert got.code == 0, got.output
    assert 90 <= known(got)[0] <= 92
    before = [report for report in got.reports if report["progressPercentage"] < 95 and "metrics" in report]
    assert {metrics_of(report)["val_loss"] for report in before} == {evaluation}, "it stays until the next one"
    remaining = json.loads(said(got)[0])
    assert len(remaining) == 24
    # 226 batches of 240 are 94 %, the tenth of this process and the one before.
    report = next(report for report in got.reports if report["progressPercentage"] == 94)
    slowest, fastest = remaining[9], remaining[11]
    assert 0.8 * fastest - 0.5 <= report["estimatedRemainingSeconds"] <= 1.2 * slowest + 0.5, remaining
    assert known(got)[-1] == 100


def test_a_checkpoint_goes_on_in_the_middle_of_an_epoch(lightning: Lightning, tmp_path: Path) -> None:
    program = """
SECONDS = 0.1
keep = pl.callbacks.ModelCheckpoint(sys.argv[1], filename="kept", every_n_train_steps=30)

def crash(self, trainer, *_):
    if trainer.global_step == 31 and len(sys.argv) == 2:
        raise RuntimeError("out of memory")

fit(trainer(keep, call("on_train_batch_start", crash)), ckpt_path=sys.argv[2] if len(sys.argv) > 2 else None)
"""
    got = lightning(program, tmp_path / "kept")
    assert got.code == 1
    assert got.final["progressPercentage"] in (62, 64)
    assert "out of memory" in got.output
    (checkpoint,) = (tmp_path / "kept").glob("kept*.ckpt")
    got = lightning(program, tmp_path / "kept", checkpoint)
    assert got.code == 0, got.output
    assert 62 <= min(known(got)) <= 64
    assert known(got)[-1] == 100


def test_a_checkpoint_of_a_training_that_is_complete_completes(lightning: Lightning, tmp_path: Path) -> None:
    program = """
made = trainer(max_epochs=1)
fit(made, ckpt_path=sys.argv[2] if len(sys.argv) > 2 else None)
made.save_checkpoint(sys.argv[1])
"""
    before = lightning(program, tmp_path / "kept.ckpt")
    got = lightning(program, tmp_path / "other.ckpt", tmp_path / "kept.ckpt")
    assert got.code == 0, got.output
    assert got.percents == [100]
    assert got.metrics["val_loss"] == before.metrics["val_loss"]


def test_a_checkpoint_asks_for_no_callback_outside_a_train_job(lightning: Lightning, tmp_path: Path) -> None:
    assert (
        lightning("\nmade = trainer(max_epochs=1)\nfit(made)\nmade.save_checkpoint(sys.argv[1])\n", tmp_path / "a").code
        == 0
    )
    got = lightning(
        """
del os.environ["KUBEFLOW_TRAINER_SERVER_URL"]
warnings.filterwarnings("default", category=UserWarning)
made = trainer(max_epochs=2)
print("> " + json.dumps([type(callback).__name__ for callback in made.callbacks]))
fit(made, ckpt_path=sys.argv[1])
""",
        tmp_path / "a",
    )
    assert (got.code, got.reports) == (0, []), got.output
    assert "MilepostCallback" not in said(got)[0]
    assert "Please add the following callbacks" not in got.output


def test_an_early_stop_is_a_completion(lightning: Lightning) -> None:
    got = lightning("\nfit(trainer(pl.callbacks.EarlyStopping('val_loss', mode='max', patience=1), max_epochs=20))\n")
    assert got.code == 0, got.output
    assert known(got)[-1] == 100
    assert known(got)[-2] < 50


def test_a_training_that_is_stopped_as_its_metric_is_no_number_is_not_complete(lightning: Lightning) -> None:
    got = lightning(
        """
module = Module()
module.bad = float("nan")
fit(trainer(pl.callbacks.EarlyStopping("val_loss")), module)
"""
    )
    assert got.code == 0, got.output
    assert got.final["progressPercentage"] == 25
    assert got.metrics["val_loss"] == "NaN"
    assert "val_loss was no finite number" in got.output


@pytest.mark.parametrize(
    "end",
    ["raise RuntimeError", "raise KeyboardInterrupt", "os.kill(os.getpid(), signal.SIGTERM)", "os._exit(3)"],
    ids=["exception", "interrupt", "signal", "death"],
)
def test_a_training_that_does_not_end_by_itself_is_not_complete(lightning: Lightning, end: str) -> None:
    got = lightning(
        f"""
def crash(self, trainer, *_):
    if trainer.current_epoch == 2:
        {end}

fit(trainer(call("on_train_epoch_start", crash)))
"""
    )
    # Some versions take Ctrl-C for an order to return from fit, and SIGTERM for one to exit with 0.
    assert got.code != 0 or "Interrupt" in end or "SIGTERM" in end, got.output
    # Sudden death leaves no time to send the last report.
    assert (25 if "_exit" in end else 50) <= got.final["progressPercentage"] < 100


def test_two_trainings_report_one_after_the_other(lightning: Lightning) -> None:
    got = lightning(
        """
made = trainer(max_epochs=1)
fit(made)
made.fit_loop.max_epochs = 3
fit(made)
class Other(Module):
    def log(self, name, *args, **options):
        super().log("other_" + name, *args, **options)
fit(trainer(max_epochs=1), Other())
"""
    )
    assert got.code == 0, got.output
    first, second, third = " ".join(map(str, known(got))).split("100")[:3]
    assert all(map(str.strip, (first, second, third)))
    assert int(second.split()[0]) in range(33, 50), "it goes on after the first epoch of three"
    assert int(third.split()[0]) < 30
    assert known(got)[-1] == 100
    assert set(got.metrics) == {"other_loss", "other_val_loss"}, "metrics of the training before are gone"


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
