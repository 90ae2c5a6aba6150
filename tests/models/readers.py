#!/usr/bin/env python3
"""A refusal that recommends tools recommends those that read the directory.

    readers.py TOOLS_FOLDER [DIRECTORY...]

Each tool reads each kind of directory of tests/golden. Where it refuses one, the tools that its message names must
end well with that directory; bert-info --check must not name others either, and must find no error in it.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
TEXT, PAIR = "the cat sat", "the cat sat\tthe dog"
TOOLS = {
    "tokenize": ([], TEXT), "embed": ([], TEXT), "embed (--sparse)": (["--sparse"], TEXT), "attend": ([], TEXT),
    "mlm-fill": ([], "the [MASK] <mask> sat"), "mlm-score": ([], TEXT), "nsp-score": ([], PAIR), "classify": ([], TEXT),
    "qa": ([], PAIR), "rank": ([], PAIR), "rank (--maxsim)": (["--maxsim"], PAIR), "ner": ([], TEXT),
    "ner (of names that a user gives)": (["--labels", "person,place"], TEXT),
    "translate": (["--max-new-tokens", "4"], TEXT), "bert-info": (None, ""),  # it has no -m
}
# One of each kind: what it is of, which heads and modules it has.
KINDS = """
    tiny-bert tiny-classifier tiny-cross-encoder tiny-ner tiny-qa tiny-heads electra-mlm distilbert-mlm layers-0
    roberta-mlm deberta-v3 modernbert-mlm dpr-question esm roformer mobilebert eurobert qwen3 gemma3 ibert
    bge-m3 colbert-native colbert-pylate colbert-stanford sparse-native sparse-legacy st-mean st-dense st-qwen3 st-t5
    modules-layers modules-tokens modules-scores modules-logits modules-yes modules-router modules-sparse
    static-embedding static-model2vec gliner-bert gliner-modernbert lora-classifier lora-vectors lora-st
    marian bart-words bart-nli bert2bert t5-words m2m100-words
""".split()


def run(folder, tool, directory):
    name = tool.split(" ")[0]
    options, text = TOOLS[tool]
    command = [os.path.join(folder, name)] + ([] if options is None else ["-j", "1", "-m"]) + [directory] + (options or [])
    done = subprocess.run(command, input=text + "\n", capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def recommended(message):
    """The tools that a message names, as TOOLS has them."""
    names = []
    for part in re.findall(r"[;:] ((?:[a-z-]+(?: \([^)]*\))?(?:, | and )?)+) works? with (?:it|the model)", message):
        names += re.split(r", (?!of )| and ", part)
    for text, tool in (("--sparse of embed writes", "embed (--sparse)"), ("`sparse` of embed writes", "embed (--sparse)"),
                       ("--maxsim of rank compares", "rank (--maxsim)"), ("`maxsim` of rank compares", "rank (--maxsim)"),
                       ("classify gives each label", "classify"), ("classify alone runs it", "classify")):
        if text in message:
            names.append(tool)
    return [re.sub(r"`(\w+)`", r"--\1", name.strip()) for name in names]


def check(folder, kind):
    directory = os.path.join(GOLDEN, kind)
    results = {tool: run(folder, tool, directory) for tool in TOOLS}
    faults, count = [], 0
    for tool, (status, message) in results.items():
        if status == 0:
            continue
        for name in recommended(message):
            count += 1
            if name not in results:
                faults.append(f"{kind}: {tool} recommends {name}, which is no tool of the list: {message}")
            elif results[name][0] != 0:
                faults.append(f"{kind}: {tool} recommends {name}, which says: {results[name][1]}")
    done = subprocess.run([os.path.join(folder, "bert-info"), "--check", directory], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith("error\t"):
            faults.append(f"{kind}: --check: {line}")
        for name in recommended(line.replace("\t", ": ")):
            count += 1
            if results.get(name, (1, ""))[0] != 0:
                faults.append(f"{kind}: --check names {name}: {line}")
    return faults, count


def main():
    folder, kinds = sys.argv[1], sys.argv[2:] or KINDS
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda kind: check(folder, kind), kinds))
    faults = [fault for found, _ in results for fault in found]
    count = sum(number for _, number in results)
    print(*faults, f"{len(kinds)} directories, {count} recommendations, {len(faults)} wrong", sep="\n")
    if faults or (len(kinds) == len(KINDS) and count < 100):
        sys.exit(1)


if __name__ == "__main__":
    main()
