#!/usr/bin/env python3
"""Writes corpus/{json,config,safetensors,pickle,torch_zip}/ again. Python's standard library only."""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "models"))

from model_files import config, header_of, pickle_of, product, safetensors, tensor_op, text_op, torch_old, torch_zip, write  # noqa: E402

TENSORS = {"a.weight": ("F32", [2, 3], bytes(range(24))), "b": ("F16", [4], bytes(8)), "c": ("I64", [], bytes(8)),
           "d": ("BF16", [0], b"")}


def main():
    write(os.path.join(HERE, "corpus/json"), {
        "scalars": '[0, -1, 1.5e-7, 18446744073709551615, -9223372036854775808, true, false, null, ""]',
        "big": '{"model_max_length": 1000000000000000019884624838656, "x": 1e308}',
        "strings": '["\\u00e9\\ud83d\\ude00\\n\\t\\\\\\"\\/", "\u00e9\u4f60\U0001f600", "\\u0000"]',
        "nested": "[" * 64 + "]" * 64,
        "deep": "[" * 65 + "]" * 65,
        "members": json.dumps({f"key{i}": {"a": i, "b": [i]} for i in range(20)}),
        "twice": '{"a": 1, "b": {"c": 1, "c": 2}}',
        "twice-of-many": '{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"a\\u0000b":1,"a":1,"a\\u0000b":2}',
        "broken": '{"a": [1, 2}',
    })
    write(os.path.join(HERE, "corpus/config"), {
        "bert": config(),
        "distilbert": {"model_type": "distilbert", "dim": 8, "n_layers": 1, "n_heads": 2, "hidden_dim": 16,
                       "activation": "gelu", "vocab_size": 13},
        "electra": {"model_type": "electra", "embedding_size": 4, "id2label": {"0": "no", "1": "yes"},
                    "problem_type": "multi_label_classification"},
        "none": {"architectures": ["BertForMaskedLM"], "hidden_act": "gelu_new", "num_labels": 3},
    })
    header = header_of(TENSORS)
    write(os.path.join(HERE, "corpus/safetensors"), {
        "plain": safetensors(TENSORS), "empty": safetensors({}),
        "metadata": safetensors(TENSORS, {"__metadata__": {"format": "pt"}} | header),
        "blanks": safetensors(TENSORS, text=b" \n" + json.dumps(header).encode() + b"   "),
        "overlap": safetensors(TENSORS, header | {"b": {"dtype": "F16", "shape": [4], "data_offsets": [20, 28]}}),
    })
    first = TENSORS["a.weight"]
    write(os.path.join(HERE, "corpus/pickle"), {
        "plain": pickle_of(TENSORS),
        "transposed": pickle_of(TENSORS, tensor_op(0, [3, 2], product(first[1]), stride=[1, 3])),
        "protocol4": b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94\x8c\x01a\x94" + tensor_op(0, [1], 1) + b"s.",
        "system": b"\x80\x02cos\nsystem\n" + text_op("true") + b"\x85R.",
        "memo": b"\x80\x02]q\0(h\0h\0h\0e.",
    })
    write(os.path.join(HERE, "corpus/torch_zip"), {
        "plain": torch_zip(TENSORS),
        "transposed": torch_zip(TENSORS, pickle_of(TENSORS, tensor_op(0, [3, 2], 6, stride=[1, 3]))),
        "big-endian": torch_zip(TENSORS, byteorder=b"big"),
        "old": torch_old(TENSORS),
        "old-big-endian": torch_old(TENSORS, little=False),
    })


if __name__ == "__main__":
    main()
