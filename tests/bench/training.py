#!/usr/bin/env python3
"""training.py BIN_DIR MODEL_DIR|SHAPE [THREADS [STEPS]]: fine-tuning speed beside PyTorch's, in one run.

SHAPE is deberta-v3-small or modernbert-base: a random model of these sizes, since speed does not depend on the weights.
Same model, sequences and precision (fp32; bf16: our products, PyTorch's autocast); PyTorch pads each batch to its longest sequence, as its users do. Prints
tokens per second and per CPU second (which other load disturbs less), and their ratios.
"""

import resource
import subprocess
import sys
import tempfile
import time

import torch
import transformers


SHAPES = {
    "deberta-v3-small": lambda: transformers.DebertaV2Config(
        vocab_size=128100, hidden_size=768, num_hidden_layers=6, num_attention_heads=12, intermediate_size=3072,
        max_position_embeddings=512, type_vocab_size=0, relative_attention=True, position_biased_input=False,
        pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm", position_buckets=256,
        max_relative_positions=-1, layer_norm_eps=1e-7, pooler_hidden_size=768),
    "modernbert-base": lambda: transformers.ModernBertConfig(reference_compile=False),
}


def random_model(shape, folder):
    """A directory with a random model of a shape."""
    torch.manual_seed(1)
    config = SHAPES[shape]()
    config.num_labels = 2
    transformers.AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    return folder


def with_dropout(config, rate):
    """Sets every rate of dropout of a config, whatever it is called."""
    for name, value in config.to_dict().items():
        if "dropout" in name and isinstance(value, (int, float)):
            setattr(config, name, rate)
    return config


def run_torch(directory, lengths, threads, steps, dropout, dtype):
    torch.set_num_threads(threads)
    config = with_dropout(transformers.AutoConfig.from_pretrained(directory, num_labels=2), dropout)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(directory, config=config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    tokens = 0
    for step in range(-1, steps):
        rows = []
        for s in range(32):
            n = (step + 1) * 32 + s
            length = 4 + n * 7919 % 40 if lengths == "short" else 128
            rows.append([1000 + (n * 31 + t * 17) % 20000 for t in range(length)])
        longest = max(map(len, rows))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        if step == 0:
            begin, usage = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
        labels = torch.tensor([s % 2 for s in range(32)])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bf16"):
            loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step >= 0:
            tokens += sum(map(len, rows))
    end = resource.getrusage(resource.RUSAGE_SELF)
    cpu = end.ru_utime + end.ru_stime - usage.ru_utime - usage.ru_stime
    return tokens, time.monotonic() - begin, cpu, end.ru_maxrss // 1024


def main():
    binaries, directory = sys.argv[1:3]
    folder = tempfile.TemporaryDirectory()
    if directory in SHAPES:
        directory = random_model(directory, folder.name)
    threads = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    steps = int(sys.argv[4]) if len(sys.argv) > 4 else 8
    print("lengths\tdropout\tdtype\tours tok/s\ttorch tok/s\tratio\tours tok/cpu-s\ttorch tok/cpu-s\tratio\tours MB\ttorch MB")
    for lengths in ("short", "long"):
        for dropout, dtype in ((0.0, "f32"), (0.1, "f32"), (0.1, "bf16")):
            command = [f"{binaries}/bench_training", directory, lengths, threads, steps, dropout, dtype]
            ours = [float(x) for x in subprocess.check_output(list(map(str, command)), text=True).split()]
            torchs = run_torch(directory, lengths, threads, steps, dropout, dtype)
            row = [ours[0] / ours[1], torchs[0] / torchs[1]]
            row += [row[0] / row[1], ours[0] / ours[2], torchs[0] / torchs[2]]
            row += [row[3] / row[4]]
            print(lengths, dropout, dtype, *[f"{x:.4g}" for x in row], int(ours[3]), torchs[3], sep="\t", flush=True)


if __name__ == "__main__":
    main()
