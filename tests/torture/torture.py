#!/usr/bin/env python3
"""Makes calls of every tool fail, and kills what writes: torture.py BIN_DIR [--faults N] [--kills N] [--only TOOL] [-j N]
[--under PROGRAM]

Each command of COMMANDS runs once whole; the calls of each kind that it makes are counted. It then runs again and again,
and in each run one call fails (see fail_nth.cpp, whose library BERT_FAIL_NTH names). N faults (20,000) are spread over the
commands and the kinds. What must hold of each run:

  no signal ends it, and it does not hang;
  the status is 0, and the output is that of the whole run; or it is one of FAILED, and a line of standard error begins with
  the tool's name; what was printed is whole rows of the whole run's output, from its first;
  a file that has its final name is the whole run's file, or what was there before.

A command that writes is then killed at N calls of any kind (1,000), and run again: the second run ends with the whole run's
files.

With --under, each command runs once as an argument of PROGRAM, such as valgrind, and must end with 0.
"""
import argparse, os, random, re, signal, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
GOLDEN = TESTS / "golden"
sys.path.append(str(TESTS / "hub"))
from fake_hub import FakeHub  # noqa: E402, for bert-pull

KINDS = ["malloc", "mmap", "open", "stat", "thread", "read", "write", "sync", "name"]
FAILED = {66, 69, 71, 73, 74, 77}  # see bert-tsv(5)
CURL = {76}  # also of bert-pull: libcurl takes a fault for an odd answer
TEXT = "".join(f"{'the cat' if i % 2 else 'a [MASK] sat'} {i} cat\tdogs the play{i % 7}\n" for i in range(40))
GOLD = "".join(f"the {'movie' if i % 2 else 'book'} was {'good' if i % 3 else 'bad'} {i}\t{'pos' if i % 3 else 'neg'}\n" for i in range(12))
FILES = {
    "text": TEXT, "gold": GOLD, "many": TEXT * 30,
    "docs": "the cat sat\nthe dog sat\n\nparis is good\nthe city was bad\n",
    "tasks": "-\tmlm\tdocs\tdocs\tbatch=2 length=24\n",
    "pairs": "abc\tcba\nhello\tolleh\nxy\tyx\nzyxw\twxyz\nq\tq\n",
    "weights": "".join(f"1\t0\t0\t{i // 3}\t{i % 3}\t0.{i + 1}\t{'abc'[i // 3]}\t{'abc'[i % 3]}\n" for i in range(9)),
    "tags": "the\tO\ncat\tB-PER\n\nparis\tB-LOC\nis\tO\n",
    "points": "".join(f"{i}\t{i * i % 7}\n" for i in range(20)), "values": "".join(f"{i % 5}\n" for i in range(20)),
}

# What runs: a command line, MODEL/ for a model of tests/golden; then the files and folders that it writes.
COMMANDS = [
    ("tokenize -m MODEL/tiny-bert text", ""),
    ("tokenize -m MODEL/roberta-mlm --offsets -j 2 text", ""),
    ("tokenize -m MODEL/tiny-bert packed.gz", ""),
    ("tokenize -m MODEL/albert --json packed.xz", ""),
    ("chunk -m MODEL/tiny-bert --spans text", ""),
    ("embed -m MODEL/st-mean text", ""),
    ("embed -m MODEL/st-dense --dtype int8 -j 2 text", ""),
    ("embed -m MODEL/st-mean --dtype bf16 --format npy --rows 40 text", ""),
    ("embed -m MODEL/sharded --words text", ""),
    ("embed -m MODEL/static-model2vec text", ""),
    ("embed -m MODEL/st-dense --adapter MODEL/lora-st text", ""),
    ("mlm-fill -m MODEL/tiny-bert -k 2 text", ""),
    ("mlm-mask -m MODEL/tiny-bert --seed 1 text", ""),
    ("mlm-score -m MODEL/tiny-bert text", ""),
    ("nsp-score -m MODEL/tiny-bert text", ""),
    ("nsp-pairs --seed 1 docs", ""),
    ("classify -m MODEL/tiny-classifier text", ""),
    ("classify -m MODEL/deberta-v3-classifier --gold 2 --rename neg,pos gold", ""),
    ("qa -m MODEL/tiny-qa text", ""),
    ("qa -m MODEL/tiny-qa -q=cat -C 1 text", ""),
    ("rank -m MODEL/tiny-cross-encoder text", ""),
    ("rank -m MODEL/tiny-cross-encoder -q=cat -C 1 text", ""),
    ("ner -m MODEL/tiny-ner --inline text", ""),
    ("ner -m MODEL/gliner-bert --labels drug,dosage text", ""),
    ("translate -m MODEL/marian --max-new-tokens 4 text", ""),
    ("translate -m MODEL/t5-words --max-new-tokens 4 --beam 2 text", ""),
    ("attend -m MODEL/tiny-bert docs", ""),
    ("attention-pool -K points -V values points", ""),
    ("heatmap weights", ""),
    ("bert-info MODEL/tiny-bert", ""),
    ("bert-info --check MODEL/tiny-heads", ""),
    ("nearest -m MODEL/st-mean --unique 0.99 text", ""),
    ("nearest -m MODEL/st-mean -q=cat text", ""),
    ("nearest -m MODEL/st-mean -q=cat -C 1 text", ""),
    ("nearest --vectors v.npy --query-vectors v.npy --index v.idx -j 1", "v.idx"),
    ("nearest --vectors v.npy --query-vectors v.npy --index v.i8 --exact -j 1", "v.i8"),
    ("memo cache text -- tokenize -m MODEL/tiny-bert", ""),
    ("bert-pull org/st-dense", ".cache"),
    ("quantize -m MODEL/tiny-heads --output out", "out"),
    ("quantize -m MODEL/tiny-bert --dtype bf16 --output out", "out"),
    ("train-vocab --size 60 gold", ""),
    ("finetune -m MODEL/tiny-bert --task classify --train gold --dev gold --output out --epochs 2 --batch-size 4 -j 1 --resume", "out"),
    ("finetune -m MODEL/st-mean --task embed --train pairs --output out --epochs 1 --batch-size 2 -j 1 --resume", "out"),
    ("finetune -m MODEL/tiny-bert --task ner --train tags --output out --epochs 1 --batch-size 2 -j 2 --resume", "out"),
    ("pretrain docs --init MODEL/tiny-bert --output out --steps 4 --save-steps 2 --batch-size 2 --max-seq-length 16 -j 1 --resume", "out"),
    ("train-seq2seq --train pairs --output out --steps 4 --save-steps 2 --batch-size 2 --hidden 16 -j 1 --resume", "out"),
    ("multitask tasks -m MODEL/tiny-bert --output out --steps 2 -j 1 --resume", "out"),
    ("attention-pool -K points -V values --score gauss --leave-one-out --learn values --steps 3 --params width points", "width"),
]


class Command:
    """A command in a folder of its own, whose files are FILES."""

    def __init__(self, line, writes, options):
        self.line, self.options = line, options
        self.tool = line.split()[0]
        self.argv = [str(options.bin / self.tool), *line.replace("MODEL", str(GOLDEN)).split()[1:]]
        self.writes = writes.split()
        self.trains = "--epochs" in line or "--steps" in line
        self.whole = None

    def run(self, folder, **fail):
        """(status, stdout, stderr) of a run in the folder, which may have files of an earlier one."""
        folder.mkdir(exist_ok=True)
        for file in self.options.files.iterdir():
            if not (folder / file.name).exists():
                os.symlink(file, folder / file.name)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("BERT_", "HF_", "LC_"))}
        environment |= {"LC_ALL": "C", "HOME": str(folder), "HF_ENDPOINT": self.options.hub, "PATH": f"{self.options.bin}:{os.environ['PATH']}"}
        if fail:
            environment |= {"LD_PRELOAD": os.environ["BERT_FAIL_NTH"], "FAIL_PROGRAM": self.tool}
            environment |= {f"FAIL_{key.upper()}": str(value) for key, value in fail.items()}
        try:
            run = subprocess.run([*self.options.under.split(), *self.argv], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                 capture_output=True, timeout=900 if self.options.under else 60)
        except subprocess.TimeoutExpired:
            return "hangs", b"", b""
        return run.returncode, run.stdout.replace(str(folder).encode(), b"~"), run.stderr

    def written(self, folder):
        """Path and bytes of each file that has its final name."""
        files = {}
        for name in self.writes:
            paths = [folder / name] if (folder / name).is_file() else (folder / name).rglob("*")
            for path in paths:
                unfinished = re.search(r"/(checkpoints|.*\.tmp\..*|\.lock|.*\.incomplete|\.locks)(/|$)", str(path))
                if path.is_file() and not unfinished:
                    files[str(path.relative_to(folder))] = path.read_bytes()
        return files

    def half(self, found):
        """Files that are neither the whole run's nor a part that the tool writes on purpose: rows of loss.tsv so far, its
        picture, the best model of an epoch."""
        def whole(name, content):
            want = self.whole[1].get(name, b"")
            if name.endswith("/loss.tsv"):
                return want.startswith(content)
            return want == content or name.endswith("/loss.svg") or self.trains and name.endswith("/model.safetensors")
        return " ".join(name for name, content in found.items() if not whole(name, content))

    def learn(self):
        """Runs whole, and counts the calls of each kind."""
        with tempfile.TemporaryDirectory() as scratch:
            status, out, err = self.run(Path(scratch, "whole"))
            if status != 0:
                sys.exit(f"torture: {self.line}: status {status} without a fault: {err.decode()}")
            self.whole = out, self.written(Path(scratch, "whole"))
            if self.writes and not self.whole[1]:
                sys.exit(f"torture: {self.line}: no file {self.writes}")
            self.calls = {}
            for kind in [*KINDS, "any"]:
                count = Path(scratch, kind)
                self.run(Path(scratch, f"run-{kind}"), call=kind, at=0, count=count)
                self.calls[kind] = int(count.read_text())

    def once(self):
        """One run without a fault: what is wrong of it."""
        with tempfile.TemporaryDirectory() as scratch:
            status, _, err = self.run(Path(scratch, "run"))
        return f"status {status}: {err.decode(errors='replace')}" if status else ""

    def fault(self, kind, at, on):
        """One run with a fault: what is wrong of it."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "run")
            status, out, err = self.run(folder, call=kind, at=at, **({"on": 1} if on else {}))
            want, files = self.whole
            found = self.written(folder)
            left = [str(p) for p in folder.rglob("*.tmp*") if "checkpoints" not in str(p)]
        if status == "hangs" or status < 0:
            return f"status {status}"
        curve = b"row could not be written" in err  # of loss.tsv, and loss.svg is drawn from it: no end of a training
        other = [n for n in files.keys() | found.keys() if files.get(n) != found.get(n) and not (curve and "/loss." in n)]
        if status == 0:
            return "status 0 with another output" if out != want else f"status 0 with other {other}" if other else ""
        last = [line for line in err.decode(errors="replace").split("\n") if line.startswith(f"{self.tool}: ")][-1:]
        last = last[0] if last else ""
        if status == 65 and ("--rows: found 0" in last or "of which there are 0" in last):
            return ""  # of a file that could not be opened, which a line before tells
        if status == 1 and self.line.startswith("bert-info --check") and b"error" in out:
            return ""  # the fault is what it found
        if status not in (FAILED | CURL if self.tool == "bert-pull" else FAILED):
            return f"status {status}: {last}"
        if not last:
            return f"status {status} without a word: {err!r}"
        bare = " -C " in self.line and kind == "read" and on  # what was found, but no context can be read any more
        if not bare and not (want.startswith(out) and (out[-1:] in (b"", b"\n") or "npy" in self.line)):
            return f"status {status}: output is no part of the whole: {last}"
        if half := self.half(found):
            return f"status {status}: {half} is not whole: {last}"
        return f"status {status}: left {left}" if left and kind not in ("name", "malloc") and not on else ""

    def kill(self, at):
        """One run that is killed, and the next: what is wrong of them."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "run")
            status, _, _ = self.run(folder, call="any", at=at, kill=1)
            if status not in (0, -signal.SIGKILL):
                return f"status {status} instead of a kill"
            files = self.whole[1]
            if half := self.half(self.written(folder)):
                return f"after the kill {half} is not whole"
            status, out, err = self.run(folder) if status else (0, self.whole[0], b"")
            if status and b"overwrite" in err: # a whole result is there, which is not written again
                return "" if self.written(folder) == files else "after the kill, a result that is not whole is kept"
            if status:
                return f"then status {status}: {err.decode(errors='replace')}"
            return "" if self.written(folder) == files else "then other files"


def spread(count, wanted):
    """At most `wanted` numbers of 1..count: each of few, the first and a spread of many."""
    if count <= wanted:
        return list(range(1, count + 1))
    first = wanted // 4
    rest = random.Random(1).sample(range(first + 1, count + 1), wanted - first)
    return [*range(1, first + 1), *sorted(rest)]


def faults(commands, total):
    """(command, kind, number, whether all after it fail, too) of each run. Kinds with few calls leave theirs to the others."""
    groups = sorted(((c, k, on) for c in commands for k in KINDS for on in (False, True)), key=lambda g: g[0].calls[g[1]])
    left = total
    for n, (command, kind, on) in enumerate(groups):
        chosen = spread(command.calls[kind], left // (len(groups) - n))
        left -= len(chosen)
        for at in chosen:
            yield command.fault, (kind, at, on)


def kills(commands, wanted):
    for command in commands:
        if command.writes or command.tool == "memo":
            for at in spread(command.calls["any"], wanted):
                yield command.kill, (at,)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=lambda path: Path(path).resolve())
    parser.add_argument("--faults", type=int, default=20000)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--under", default="")
    options = parser.parse_args()
    if not options.under and not os.environ.get("BERT_FAIL_NTH"):
        sys.exit("torture: BERT_FAIL_NTH is to name the library of fail_nth.cpp")
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.j) as pool:
        options.files = Path(scratch)
        for name, text in FILES.items():
            Path(scratch, name).write_text(text)
        subprocess.run("gzip <text >packed.gz && xz <text >packed.xz && "
                       f"{options.bin}/embed -m {GOLDEN}/st-mean --format npy <text >v.npy", shell=True, cwd=scratch, check=True)
        hub = FakeHub()
        hub.add_folder("org/st-dense", GOLDEN / "st-dense")
        options.hub = hub.url
        commands = [Command(line, writes, options) for line, writes in COMMANDS if options.only in line]
        if options.under:
            work = [("runs", [(command.once, ()) for command in commands])]
        else:
            list(pool.map(Command.learn, commands))
            work = [("faults", [*faults(commands, options.faults)]), ("kills", [*kills(commands, options.kills)])]
        failed = 0
        for what, runs in work:
            for (call, arguments), wrong in zip(runs, pool.map(lambda run: run[0](*run[1]), runs)):
                if wrong:
                    failed += 1
                    print(f"FAIL {call.__self__.line}: {what} {arguments}: {wrong}", flush=True)
            print(f"{len(runs)} {what} of {len(commands)} commands", flush=True)
    print(f"{failed} failed")
    sys.exit(failed > 0)


main()
