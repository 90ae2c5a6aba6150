#!/usr/bin/env python3
"""A model of a known size with random weights and a masked LM head, for measuring speed where no weights are at hand.

    make_model.py tiny|minilm|base|large VOCAB_TXT DIR [bert|mpnet|roberta|xlm-roberta|modernbert|deberta-v3|eurobert|qwen3]

Whatever the family, the tokenizer is BERT's: for speed only the number of tokens counts.
"""

import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, BertTokenizer

SIZES = {"tiny": (128, 2, 2), "minilm": (384, 6, 12), "base": (768, 12, 12), "large": (1024, 24, 16)}


def main():
    size, vocab, directory = sys.argv[1:4]
    family = sys.argv[4] if len(sys.argv) > 4 else "bert"
    hidden, layers, heads = SIZES[size]
    torch.manual_seed(1)
    pieces = Path(vocab).read_text(encoding="utf-8").splitlines()
    # Families whose positions begin behind the padding token's have two rows more for 512 tokens.
    changes = {"intermediate_size": 4 * hidden, "max_position_embeddings": 514, "pad_token_id": 1}
    if family == "bert":
        changes = {"intermediate_size": 4 * hidden}
    elif family == "modernbert":  # of base size: 22 layers, gated nets
        layers, changes = layers * 22 // 12, {"intermediate_size": 3 * hidden // 2, "pad_token_id": 0}
    elif family == "deberta-v3":
        changes = {"intermediate_size": 4 * hidden, "type_vocab_size": 0, "relative_attention": True,
                   "position_biased_input": False, "pos_att_type": "p2c|c2p", "position_buckets": 256,
                   "norm_rel_ebd": "layer_norm", "share_att_key": True}
    elif family in ("eurobert", "qwen3"):  # heads of queries share keys by three; a gated net
        changes = {"intermediate_size": 8 * hidden // 3 // 64 * 64, "num_key_value_heads": heads // 3,
                   "max_position_embeddings": 8192, "pad_token_id": 0}
        if family == "qwen3":
            changes |= {"head_dim": hidden // heads, "use_cache": False}
    config = AutoConfig.for_model(
        {"deberta-v3": "deberta-v2"}.get(family, family), vocab_size=len(pieces), hidden_size=hidden,
        num_hidden_layers=layers, num_attention_heads=heads, **changes,
    )
    kind = AutoModel if family == "qwen3" else AutoModelForMaskedLM
    kind.from_config(config).save_pretrained(directory)
    BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)}).save_pretrained(directory)
    shutil.copy(vocab, Path(directory) / "vocab.txt")


if __name__ == "__main__":
    main()
