#!/usr/bin/env python3
"""A model of a known size with random weights and a masked LM head, for measuring speed where no weights are at hand.

    make_model.py tiny|minilm|base|large VOCAB_TXT DIR
"""

import shutil
import sys
from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

SIZES = {"tiny": (128, 2, 2), "minilm": (384, 6, 12), "base": (768, 12, 12), "large": (1024, 24, 16)}


def main():
    size, vocab, directory = sys.argv[1:]
    hidden, layers, heads = SIZES[size]
    torch.manual_seed(1)
    pieces = Path(vocab).read_text(encoding="utf-8").splitlines()
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=4 * hidden,
    )
    BertForMaskedLM(config).save_pretrained(directory)
    BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)}).save_pretrained(directory)
    shutil.copy(vocab, Path(directory) / "vocab.txt")


if __name__ == "__main__":
    main()
