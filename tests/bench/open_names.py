#!/usr/bin/env python3
"""Finding names of any types: `ner --labels` against the package gliner, in PyTorch and by its own export to ONNX.

    open_names.py --build BUILD_DIR --text TEXT_FILE [--layers 6] [--lines 100] [--rounds 3] [--precisions f32 bf16 int8]

A random GLiNER of the size of gliner_small-v2.1: DeBERTa-v3 of width 768 with 6 layers (12: as base), a BiLSTM, spans of
at most 12 words; its vocabulary is made of the text. One thread each. The package gets the lines sorted by length, in
batches of 1 and 8; ours in input order, and the time of its whole process counts, with its start. Runs take turns; the
best of the rounds counts. Wants gliner 0.2.29 (pip install --no-deps), torch, transformers, onnx and onnxruntime."""
import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "golden"))
LABELS = ["person", "organization", "location", "date", "drug or medicine"]


def make_model(directory, lines, layers):
    import make_gliner
    import transformers

    def encoder(_, tokenizer, hidden, layers):
        return transformers.DebertaV2Config(
            vocab_size=len(tokenizer), hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=hidden // 64,
            intermediate_size=4 * hidden, relative_attention=True, position_buckets=256, norm_rel_ebd="layer_norm",
            share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False, max_relative_positions=-1,
            type_vocab_size=0, layer_norm_eps=1e-7, pad_token_id=0)

    make_gliner.encoder_config = encoder
    make_gliner.make(directory, "deberta", make_gliner.unigram(lines, 8000), hidden=768, layers=layers, std=0.03,
                     hidden_size=512)


def clocks(who):
    used = resource.getrusage(who)
    return time.perf_counter(), used.ru_utime + used.ru_stime


def timed(run, who=resource.RUSAGE_SELF):
    wall, cpu = clocks(who)
    found = run()
    after = clocks(who)
    return after[0] - wall, after[1] - cpu, found


def package(directory, lines, batch, onnx):
    """The faster of its ways; names found, by line."""
    import torch
    from gliner import GLiNER
    torch.set_num_threads(1)
    options = {}
    if onnx:
        import onnxruntime
        session = onnxruntime.SessionOptions()
        session.intra_op_num_threads = session.inter_op_num_threads = 1
        options = {"runtime": "onnxruntime", "session_options": session}
    model = GLiNER.from_pretrained(directory, local_files_only=True, **options)
    ordered = sorted(lines, key=len)
    model.inference(ordered[:2], LABELS, batch_size=batch)
    return lambda: timed(lambda: sum(map(len, model.inference(ordered, LABELS, batch_size=batch))))


def ours(program, directory, path, precision):
    command = [program, "-m", directory, "--labels", ",".join(LABELS), "-j", "1", "-q", "--dtype", precision, path]

    def run():
        return subprocess.run(command, capture_output=True, check=True).stdout.count(b"\n")
    return lambda: timed(run, resource.RUSAGE_CHILDREN)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precisions", nargs="*", default=["f32", "bf16", "int8"])
    parser.add_argument("--directory", help="keeps the model here")
    a = parser.parse_args()
    work = a.directory or tempfile.mkdtemp()
    model, exported, path = (os.path.join(work, f"{name}-{a.layers}") for name in ("gliner", "exported", "lines"))
    with open(a.text, encoding="utf-8") as file:
        lines = [line for line in (line.strip() for line in file) if 60 < len(line) < 400][:a.lines]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    if not os.path.exists(model):
        make_model(model, lines, a.layers)
    if not os.path.exists(exported):
        from gliner import GLiNER
        GLiNER.from_pretrained(model, local_files_only=True).export_to_onnx(exported)
    program = os.path.join(a.build, "bin", "ner")
    runs = {f"bertutils {p}": ours(program, model, path, p) for p in a.precisions}
    for batch in (1, 8):
        runs[f"gliner PyTorch batch {batch}"] = package(model, lines, batch, False)
        runs[f"gliner ONNX batch {batch}"] = package(exported, lines, batch, True)
    times = {name: [] for name in runs}
    found = {}
    for _ in range(a.rounds):
        for name, run in runs.items():
            wall, cpu, found[name] = run()
            times[name].append((wall, cpu))
    first = min(t[1] for t in next(iter(times.values())))
    print("program", "seconds", "CPU s", "times our f32's CPU s", "names", sep="\t")
    for name, all_times in times.items():
        cpu = min(t[1] for t in all_times)
        print(name, f"{min(t[0] for t in all_times):.2f}", f"{cpu:.2f}", f"{cpu / first:.2f}", found[name], sep="\t")


main()
