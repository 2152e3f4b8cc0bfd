# SPDX-License-Identifier: Apache-2.0
"""A training with the Trainer of Transformers that the tests of its integration bend to what they look at."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from typing import Any

import numpy as np
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    EarlyStoppingCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--epochs", type=float, help="in place of steps")
parser.add_argument("--seconds", type=float, default=0.0, help="that a step takes at least")
parser.add_argument("--explicit", action="store_true", help="make the callback in the program")
parser.add_argument("--stopped-is-open", action="store_true", help="and tell it that a stopped training goes on later")
parser.add_argument("--report-to", default="none")
parser.add_argument("--evaluate-every", type=int, default=5)
parser.add_argument("--metrics", type=int, default=0, help="how many more metrics an evaluation gives")
parser.add_argument("--odd-logs", action="store_true", help="log values of all kinds")
parser.add_argument("--patience", type=int, help="stop early: the model learns nothing")
parser.add_argument("--stop-at", type=int, help="stop by a callback after this step")
parser.add_argument("--nan", action="store_true", help="the metric of evaluations is no number")
parser.add_argument("--raise-at", type=int, help="raise after this step")
parser.add_argument("--interrupt-at", type=int, help="raise KeyboardInterrupt after this step")
parser.add_argument("--save-every", type=int)
parser.add_argument("--output", default=tempfile.mkdtemp(prefix="milepost-trainer-"))
parser.add_argument("--resume", action="store_true")
parser.add_argument("--mark", type=int, default=-1, help="print the time after this step")
parser.add_argument("--do", default="train", help="what to call on the Trainer, in this order: train,evaluate,predict")
parser.add_argument("--jit", action="store_true", help="enable checkpoints at SIGTERM")
parser.add_argument("--own-reporter", action="store_true", help="report by hand beside the Trainer")
options = parser.parse_args()

torch.set_num_threads(1)
set_seed(0)


class Numbers(torch.utils.data.Dataset):  # type: ignore[misc]
    """Sequences of three numbers."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": torch.tensor([index % 7, index % 5, 1]), "labels": torch.tensor(index % 2)}


class Bend(TrainerCallback):  # type: ignore[misc]
    """Makes the training go as the options say."""

    def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        time.sleep(options.seconds)  # the work of a step
        step = state.global_step
        if step == options.mark:
            print(f"mark {time.time()}")
        if options.odd_logs:
            trainer.log(
                {
                    "tensor": torch.tensor(1.5),
                    "float32": np.float32(0.1),
                    "nan": float("nan"),
                    "many": torch.ones(3),
                    "text": "warm",
                    "nothing": None,
                }
            )
        if step == options.raise_at:
            raise RuntimeError("out of memory")
        if step == options.interrupt_at:
            raise KeyboardInterrupt
        control.should_training_stop |= step == options.stop_at


def judge(prediction: Any) -> dict[str, float]:
    """The metrics of an evaluation."""
    right = np.nan if options.nan else np.mean(np.argmax(prediction.predictions, axis=-1) == prediction.label_ids)
    return {**{f"m{n:03}": float(n) for n in range(options.metrics)}, "accuracy": float(right)}


callbacks: list[Any] = [Bend()]
if options.explicit:
    from transformers.integrations import KubeflowTrainerCallback

    callbacks.append(KubeflowTrainerCallback(complete_when_stopped=not options.stopped_is_open))
if options.patience:
    callbacks.append(EarlyStoppingCallback(options.patience))
if options.own_reporter:
    import milepost

    own = milepost.start()
    own.report(progress=42)

trainer = Trainer(
    model=BertForSequenceClassification(
        BertConfig(vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    ),
    args=TrainingArguments(
        output_dir=options.output,
        max_steps=-1 if options.epochs else options.steps,
        num_train_epochs=options.epochs or 1,
        per_device_train_batch_size=4,
        learning_rate=0.0 if options.patience else 1e-3,
        logging_steps=5,
        eval_strategy="steps",
        eval_steps=options.evaluate_every,
        save_strategy="steps" if options.save_every or options.patience else "no",
        save_steps=options.save_every or options.evaluate_every,
        load_best_model_at_end=bool(options.patience),
        metric_for_best_model="loss" if options.patience and not options.nan else "accuracy",
        report_to=options.report_to,
        disable_tqdm=True,
        use_cpu=True,
        **({"enable_jit_checkpoint": True} if options.jit else {}),
    ),
    train_dataset=Numbers(),
    eval_dataset=Numbers(),
    compute_metrics=judge,
    callbacks=callbacks,
)
for what in options.do.split(","):
    if what == "train":
        trainer.train(resume_from_checkpoint=options.resume or None)
        print(f"end {time.time()}")
    elif what == "evaluate":
        trainer.evaluate()
    elif what == "predict":
        trainer.predict(Numbers())
    else:
        sys.exit(f"there is no {what}")
