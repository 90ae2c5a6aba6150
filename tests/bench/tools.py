#!/usr/bin/env python3
"""Measures whole programs beside what a user would run instead: start-up, text to vectors, tokens, PLL.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python tools.py --build BUILD --model DIR --text FILE [WHAT...]

WHAT: start embed tokenize pll (default: all). Every line is the median of --rounds runs that take turns, with the
lowest and highest; peak memory is that of the process, mapped files included (ru_maxrss).
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")

IMPORT = "import sys, time, os, warnings; warnings.filterwarnings('ignore'); os.environ['HF_HUB_OFFLINE'] = '1'\n"
READ = "lines = sys.stdin.read().splitlines()\n"

SENTENCE_TRANSFORMERS = IMPORT + READ + """
from sentence_transformers import SentenceTransformer
import torch
torch.set_num_threads(int(sys.argv[2]))
vectors = SentenceTransformer(sys.argv[1], device='cpu').encode(lines, batch_size=32)
sys.stdout.buffer.write(vectors.tobytes())
"""

ONNX = IMPORT + READ + """
import numpy as np, onnxruntime as ort
from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file(sys.argv[1] + '/tokenizer.json')
tokenizer.enable_padding()
options = ort.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
session = ort.InferenceSession(sys.argv[3], options, providers=['CPUExecutionProvider'])
for i in range(0, len(lines), 32):
    batch = tokenizer.encode_batch(lines[i:i + 32])
    ids = np.array([e.ids for e in batch], np.int64)
    mask = np.array([e.attention_mask for e in batch], np.int64)
    hidden = session.run(None, {'input_ids': ids, 'attention_mask': mask, 'token_type_ids': ids * 0})[0]
    sys.stdout.buffer.write((hidden * mask[..., None]).mean(1).tobytes())
"""

TOKENIZERS = IMPORT + READ + """
from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file(sys.argv[1] + '/tokenizer.json')
tokenizer.no_padding(); tokenizer.no_truncation()
begin = time.perf_counter()
for i in range(0, len(lines), 1000):
    tokenizer.encode_batch_fast(lines[i:i + 1000], add_special_tokens=False)
print(time.perf_counter() - begin)
"""

FLASH = IMPORT + READ + """
import json
from flash_tokenizer import BertTokenizerFlash
lower = json.load(open(sys.argv[1] + '/tokenizer_config.json')).get('do_lower_case', True)
tokenizer = BertTokenizerFlash(sys.argv[1] + '/vocab.txt', do_lower_case=lower).tokenizer
begin = time.perf_counter()
for i in range(0, len(lines), 1000):
    tokenizer.batch_encode(lines[i:i + 1000], 'longest', 512, int(sys.argv[2]) > 1)
print(time.perf_counter() - begin)
"""

MINICONS = IMPORT + READ + """
import torch
torch.set_num_threads(int(sys.argv[2]))
from transformers import PreTrainedTokenizerBase
for name in ('batch_encode_plus', 'encode_plus'):  # minicons 0.3 was written for transformers 4
    if not hasattr(PreTrainedTokenizerBase, name):
        setattr(PreTrainedTokenizerBase, name, PreTrainedTokenizerBase.__call__)
from minicons import scorer
model = scorer.MaskedLMScorer(sys.argv[1], 'cpu')
begin = time.perf_counter()
scores = []
for i in range(0, len(lines), 16):
    scores += model.sequence_score(lines[i:i + 16], reduction=lambda x: x.sum().item())
print(time.perf_counter() - begin, *scores)
"""


# Linux counts a process' memory before exec to it, so a small one starts the measured one.
LAUNCHER = """
import os, sys, time
begin = time.perf_counter()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(time.perf_counter() - begin, status, usage.ru_maxrss / 1024, file=os.fdopen(int(sys.argv[1]), 'w'))
"""


def run(command, text, variables=None):
    """Seconds, stdout and peak megabytes of one process."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile("w+") as measured:
        given.write(text)
        given.seek(0)
        subprocess.run(
            [sys.executable, "-IS", "-c", LAUNCHER, str(measured.fileno()), *map(str, command)],
            stdin=given, stdout=out, stderr=subprocess.DEVNULL, pass_fds=[measured.fileno()],
            env={**os.environ, **(variables or {})}, check=True,
        )
        measured.seek(0)
        seconds, status, megabytes = map(float, measured.read().split())
        if status:
            raise RuntimeError(f"{command[0]} ended with {os.waitstatus_to_exitcode(int(status))}")
        out.seek(0)
        return seconds, out.read(), megabytes


def take_turns(contenders, text, rounds):
    """{name: [(seconds, stdout, megabytes)]}; a contender that fails is said and dropped."""
    results = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, (command, variables) in contenders.items():
            if results[name] is None:
                continue
            try:
                results[name].append(run(command, text, variables))
            except (RuntimeError, FileNotFoundError) as error:
                print(f"# {name}: {error}")
                results[name] = None
    return {name: result for name, result in results.items() if result}


def spread(values, unit="s", scale=1.0):
    values = sorted(v * scale for v in values)
    return f"{statistics.median(values):.4g} {unit} ({values[0]:.4g} .. {values[-1]:.4g})"


class Bench:
    def __init__(self, arguments):
        self.a = arguments
        with open(arguments.text, "rb") as file:
            self.lines = [line for line in file.read().split(b"\n") if line.strip()]

    def tool(self, name, *options):
        return [f"{self.a.build}/bin/{name}", "-m", self.a.model, "-j", self.a.threads, *options], {}

    def python(self, script, *arguments, **variables):
        return [sys.executable, "-c", script, self.a.model, self.a.threads, *arguments], variables

    def onnx_file(self):
        from pathlib import Path

        import peers

        cache = peers.cache_for(self.a.model, self.a.cache)
        return peers.OnnxRuntime.convert(Path(self.a.model), cache, "f32")

    def report(self, what, contenders, text, of_output=False):
        results = take_turns(contenders, text, self.a.rounds)
        seconds = {
            name: [float(out.split()[0]) if of_output and name != "ours" else s for s, out, _ in rounds]
            for name, rounds in results.items()
        }
        for name, values in seconds.items():
            ratio = statistics.median(values) / statistics.median(seconds["ours"])
            megabytes = max(m for _, _, m in results[name])
            speed = f"{len(text) / statistics.median(values) / 1e6:.2f} MB/s"
            print(f"{what}\t{name}\t{spread(values)}\t{speed}\t{ratio:.2f} x ours\t{megabytes:.0f} MB", flush=True)
        return results

    def start(self):
        """Time to the first row: a process that embeds one line."""
        contenders = {
            "ours": self.tool("embed", "--format", "f32"),
            "onnxruntime script": self.python(ONNX, self.onnx_file()),
            "sentence-transformers": self.python(SENTENCE_TRANSFORMERS),
        }
        self.report("start", contenders, self.lines[0] + b"\n")

    def embed(self):
        contenders = {
            "ours": self.tool("embed", "--format", "f32"),
            "onnxruntime script": self.python(ONNX, self.onnx_file()),
            "sentence-transformers": self.python(SENTENCE_TRANSFORMERS),
        }
        self.report("embed", contenders, b"\n".join(self.lines[: self.a.lines]) + b"\n")

    def tokenize(self):
        """Peers without their start-up, ours with: the text is long enough."""
        text = b"\n".join(self.lines) + b"\n"
        text *= max(1, (self.a.megabytes << 20) // len(text))
        threads = str(self.a.threads)
        contenders = {
            "ours": self.tool("tokenize", "--ids"),
            "tokenizers": self.python(TOKENIZERS, RAYON_NUM_THREADS=threads, TOKENIZERS_PARALLELISM="true"),
            "flash_tokenizer": self.python(FLASH, OMP_NUM_THREADS=threads),
        }
        self.report("tokenize", contenders, text, of_output=True)
        seconds = statistics.median(run(["cat"], text)[0] for _ in range(self.a.rounds))
        print(f"tokenize\tcat\t{seconds:.4g} s\t{len(text) / seconds / 1e6:.0f} MB/s")

    def pll(self):
        """Needs a model with its masked LM head, and minicons 0.3."""
        lines = self.lines[: self.a.lines // 8]
        contenders = {"ours": self.tool("mlm-score"), "minicons": self.python(MINICONS)}
        results = self.report("pll", contenders, b"\n".join(lines) + b"\n", of_output=True)
        if "minicons" in results and "ours" in results:
            theirs = list(map(float, results["minicons"][0][1].split()[1:]))
            ours = [float(row.split(b"\t")[0]) for row in results["ours"][0][1].splitlines()]
            worst = max(abs(x - y) for x, y in zip(ours, theirs, strict=True))
            print(f"pll\tlargest difference of a score\t{worst:.2e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--cache", default=os.path.expanduser("~/.cache/bert-bench"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--lines", type=int, default=2000, help="lines to embed; an eighth of them to score")
    parser.add_argument("--megabytes", type=int, default=64, help="text to tokenize")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("what", nargs="*", default=["start", "embed", "tokenize", "pll"])
    arguments = parser.parse_args()
    for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        if variable in os.environ:
            sys.exit(f"start with env -u {variable}: it slows peers that read it")
    arguments.build, arguments.model = (os.path.abspath(p) for p in (arguments.build, arguments.model))
    print("what\tcontender\tseconds (median, lowest .. highest)\tspeed\tratio\tpeak memory")
    bench = Bench(arguments)
    for what in arguments.what:
        getattr(bench, what)()


if __name__ == "__main__":
    main()
