#!/usr/bin/env python3
"""Writes the Dense layer that turns one model's vectors into those of its teacher, by least squares.

usage: fit.py FEATURES WIDTH TEACHER TEACHER_WIDTH DIR, the first two files as embed --format f32 writes them.
DIR/config.json and DIR/model.safetensors are a Dense of sentence-transformers without bias, in F16.
"""
import json
import pathlib
import struct
import sys

import numpy

features, teacher = (numpy.fromfile(sys.argv[i], dtype="<f4").reshape(-1, int(sys.argv[i + 1])).astype(float) for i in (1, 3))
teacher /= numpy.linalg.norm(teacher, axis=1, keepdims=True)
gram = features.T @ features  # [F, F]
gram[numpy.diag_indices_from(gram)] += 1e-4 * numpy.trace(gram) / len(gram)
weight = numpy.linalg.solve(gram, features.T @ teacher).T.astype("<f2")  # [T, F]

directory = pathlib.Path(sys.argv[5])
directory.mkdir(exist_ok=True)
header = json.dumps({"linear.weight": {"dtype": "F16", "shape": weight.shape, "data_offsets": [0, weight.nbytes]}})
header += " " * (-len(header) % 8)
(directory / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header.encode() + weight.tobytes())
(directory / "config.json").write_text(json.dumps({
    "in_features": weight.shape[1],
    "out_features": weight.shape[0],
    "bias": False,
    "activation_function": "torch.nn.modules.linear.Identity",
}, indent=2) + "\n")
