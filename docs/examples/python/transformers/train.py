# SPDX-License-Identifier: Apache-2.0
"""Trains a small BERT with the Trainer of Hugging Face Transformers.

No line of it is about reporting: inside a TrainJob the Trainer reports by itself. Versions of Transformers before 5.4.0 do
so when the package milepost is installed. Runs on one CPU in less than a minute, and needs neither the network nor data:
the task is to say whether most numbers of a sequence are large.

Needs torch, transformers and accelerate.
"""

import argparse
import tempfile

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

NUMBERS, LENGTH = 16, 15


class Sequences(torch.utils.data.Dataset):
    """Random sequences of numbers, and whether most of each are in the upper half."""

    def __init__(self, size, seed):
        self.numbers = torch.randint(NUMBERS, (size, LENGTH), generator=torch.Generator().manual_seed(seed))
        self.labels = ((self.numbers >= NUMBERS // 2).sum(dim=1) > LENGTH // 2).long()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"input_ids": self.numbers[index], "labels": self.labels[index]}


# [start:train]
def compute_metrics(prediction):
    """What this returns is reported as eval_accuracy."""
    return {"accuracy": float(np.mean(np.argmax(prediction.predictions, axis=-1) == prediction.label_ids))}


def train(epochs, samples, output):
    """Trains a model, and returns the metrics of a last evaluation."""
    trainer = Trainer(
        model=BertForSequenceClassification(
            BertConfig(
                vocab_size=NUMBERS,
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=2,
                intermediate_size=64,
                max_position_embeddings=LENGTH,
            )
        ),
        args=TrainingArguments(
            output_dir=output,
            num_train_epochs=epochs,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            logging_steps=10,
            eval_strategy="epoch",  # compute_metrics runs then
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=Sequences(samples, seed=1),
        eval_dataset=Sequences(256, seed=2),
        compute_metrics=compute_metrics,
    )
    trainer.train()
    return trainer.evaluate()


# [end:train]


def main():
    """Reads the arguments and trains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--samples", type=int, default=2000, help="sequences to train with")
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(0)
    with tempfile.TemporaryDirectory() as output:
        metrics = train(args.epochs, args.samples, output)
    print(f"accuracy {metrics['eval_accuracy']:.3f}")


if __name__ == "__main__":
    main()
