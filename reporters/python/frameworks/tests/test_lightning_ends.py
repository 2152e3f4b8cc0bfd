# SPDX-License-Identifier: Apache-2.0
"""How trainings of PyTorch Lightning end, and how they go on from a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import metrics_of
from lightning_programs import PACKAGES, Lightning, known, said


@pytest.fixture
def lightning(tmp_path: Path) -> Lightning:
    return Lightning(PACKAGES[0], tmp_path)


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
SECONDS = 0.4
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
