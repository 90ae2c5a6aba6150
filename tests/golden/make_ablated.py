#!/usr/bin/env python3
"""Writes expected/ablated.safetensors: what transformers computes in fp64 with some heads of attention off.

    python make_ablated.py

A hook before the output projection of attention zeroes what these heads bring to it. For each model NAME:
`NAME.heads`, pairs of layer and head from 1, and `NAME`, [12, H] at most, the first last hidden states of the sequence
`NAME.rows` of expected/NAME.safetensors, its second of at least three tokens.
"""

import torch
import transformers
from safetensors.torch import load_file, save_file

from make_golden import EXPECTED, HERE

# ALBERT's layers share weights, but are turned off one by one.
MODELS = {
    "tiny-bert": [(1, 2), (2, 1), (2, 4)],
    "albert": [(2, 1), (3, 3)],
    "distilbert-mlm": [(1, 1)],
    "electra-mlm": [(1, 2), (2, 1)],
    "roberta-mlm": [(1, 3), (2, 1), (2, 2), (2, 3)],
    "mpnet": [(1, 1), (2, 3)],
    "deberta-v3": [(1, 2), (2, 1)],
    "deberta-v2-mlm": [(1, 1), (1, 3)],
    "modernbert": [(1, 1), (2, 2), (4, 3)],
    "nomic": [(1, 3), (2, 2)],
    "gte": [(1, 1), (2, 1)],
}
PROJECTIONS = ("attention.output.dense", "attention.out_lin", "attention.dense", "attention.attn.o", "attn.Wo",
               "self_attn.o_proj", "attention.o_proj")


def ablate(model, heads):
    """Turns them off for one pass."""
    count = model.config.num_attention_heads
    passes = {"layer": 0}

    def hook(module, inputs):
        passes["layer"] += 1
        off = [head - 1 for layer, head in heads if layer == passes["layer"]]
        context = inputs[0].clone()
        size = context.shape[-1] // count
        for head in off:
            context[..., head * size : (head + 1) * size] = 0
        return (context, *inputs[1:])

    projections = [m for name, m in model.named_modules() if name.endswith(PROJECTIONS)]
    assert projections, [name for name, _ in model.named_modules()]
    for module in projections:
        module.register_forward_pre_hook(hook)
    return passes


def main():
    tensors = {}
    for name, heads in MODELS.items():
        golden = load_file(EXPECTED / f"{name}.safetensors")
        cu = golden["cu_seq_lens"].tolist()
        begin, end = [(a, b) for a, b in zip(cu, cu[1:]) if b - a >= 3][1]
        model = transformers.AutoModel.from_pretrained(HERE / name, dtype=torch.float64).eval()
        passes = ablate(model, heads)
        inputs = {"input_ids": golden["input_ids"][begin:end].long()[None]}
        if getattr(model.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = golden["token_type_ids"][begin:end].long()[None]
        with torch.inference_mode():
            hidden = model(**inputs).last_hidden_state[0]
        assert passes["layer"] == model.config.num_hidden_layers
        assert hidden.dtype == torch.float64
        difference = (hidden - golden["hidden"][begin:end]).abs().max().item()
        assert difference > 1e-3, (name, difference)
        print(f"{name}: {end - begin} tokens, changed by up to {difference:.3f}")
        tensors[name] = hidden[:12].clone()  # each of them has seen all tokens
        tensors[f"{name}.heads"] = torch.tensor(heads, dtype=torch.int32).flatten()
        tensors[f"{name}.rows"] = torch.tensor([begin, end], dtype=torch.int32)
    save_file(tensors, EXPECTED / "ablated.safetensors")


if __name__ == "__main__":
    main()
