#!/usr/bin/env python3
"""A model of a known size with random weights and a masked LM head, for measuring speed where no weights are at hand.

    make_model.py tiny|minilm|base|large VOCAB_TXT DIR [bert|mpnet|roberta|xlm-roberta]

Whatever the family, the tokenizer is BERT's: for speed only the number of tokens counts.
"""

import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForMaskedLM, BertTokenizer

SIZES = {"tiny": (128, 2, 2), "minilm": (384, 6, 12), "base": (768, 12, 12), "large": (1024, 24, 16)}


def main():
    size, vocab, directory = sys.argv[1:4]
    family = sys.argv[4] if len(sys.argv) > 4 else "bert"
    hidden, layers, heads = SIZES[size]
    torch.manual_seed(1)
    pieces = Path(vocab).read_text(encoding="utf-8").splitlines()
    # Families whose positions begin behind the padding token's have two rows more for 512 tokens.
    changes = {} if family == "bert" else {"max_position_embeddings": 514, "pad_token_id": 1}
    config = AutoConfig.for_model(
        family, vocab_size=len(pieces), hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=4 * hidden, **changes,
    )
    AutoModelForMaskedLM.from_config(config).save_pretrained(directory)
    BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)}).save_pretrained(directory)
    shutil.copy(vocab, Path(directory) / "vocab.txt")


if __name__ == "__main__":
    main()
