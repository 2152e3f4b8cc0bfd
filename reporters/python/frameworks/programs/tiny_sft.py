# SPDX-License-Identifier: Apache-2.0
"""Fine-tunes a tiny model with the SFTTrainer of TRL, which is derived from the Trainer of Transformers."""

from __future__ import annotations

import tempfile

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

torch.set_num_threads(1)

words = ["[PAD]", "[EOS]", "the", "cat", "dog", "sat", "ran", "."]
tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="."))  # noqa: S106
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()

with tempfile.TemporaryDirectory() as output:
    SFTTrainer(
        model=LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(words),
                hidden_size=16,
                intermediate_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                num_key_value_heads=2,
            )
        ),
        processing_class=PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            pad_token="[PAD]",  # noqa: S106  # a token of text
            eos_token="[EOS]",  # noqa: S106
        ),
        train_dataset=Dataset.from_list(
            [{"text": f"the {who} {what} ."} for who in words[3:5] for what in words[5:7]] * 8
        ),
        args=SFTConfig(
            output_dir=output,
            max_steps=12,
            per_device_train_batch_size=2,
            logging_steps=2,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
            bf16=False,
            dataset_num_proc=None,
        ),
    ).train()
