#!/usr/bin/env python3
"""Rules of the code that a count or a word decides: rules.py [ROOT]

tests/lint/exceptions.txt has what breaks them today, `KIND PLACE [COUNT]` each. The list may only shrink: what is no
longer an exception, or has become shorter, must be changed there too. tests/lint/planted.sh tries each rule.
"""

import pathlib
import re
import subprocess
import sys

MOST = {"function": 40, "file": 400, "comments": 0}
ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
# An indented `{` of these is no body of a function.
OTHER_BLOCK = re.compile(r"\s*(namespace|class|struct|enum|union|extern|if|else|for|while|switch|do|try|return|template)\b")
INITIALIZER = re.compile(r"(=|\breturn|[,({])\s*\{$|\)\s*->|\[[^]]*\]\s*(\([^)]*\))?\s*(mutable)?\s*\{$")


def sources():
    """The files that people write: paths relative to the root, and their lines."""
    for folder in ("lib", "tools"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cpp", ".h") and not path.name.endswith("_tables.cpp"):
                yield path.relative_to(ROOT), path.read_text().split("\n")[:-1]


def functions(lines):
    """The name and the number of lines, braces included, of each function outside of functions."""
    i = 0
    while i < len(lines):
        start = begin = i
        i += 1
        if not lines[start].endswith("{") or lines[start].lstrip().startswith(("//", "#")):
            continue
        while begin > 0 and not re.search(r"([;{}:>]|^|^\s*(//|#).*)$", lines[begin - 1]):
            begin -= 1  # to the first line of a signature of several lines
        head = lines[begin]
        indent = len(head) - len(head.lstrip())
        signature = " ".join(lines[begin : start + 1])
        if indent > 4 or OTHER_BLOCK.match(head) or INITIALIZER.search(lines[start]) or "(" not in signature:
            continue
        end = next((k for k in range(i, len(lines)) if re.match(r" {%d}}" % indent, lines[k])), None)
        if end is None:
            continue
        name = re.search(r"([\w:~]+)\s*\(", signature)
        yield (name.group(1) if name else head.strip()), end - start + 1
        i = end + 1


def too_long():
    """Functions and files above their limits: ("function", "lib/a.cpp:name"), lines."""
    for path, lines in sources():
        if len(lines) > MOST["file"]:
            yield f"file {path}", len(lines)
        longest = {}
        for name, count in functions(lines):
            if count > MOST["function"]:
                longest[name] = max(count, longest.get(name, 0))
        for name, count in longest.items():
            yield f"function {path}:{name}", count


def headers():
    """Each .cpp of the library has its header, and no two headers have one name."""
    seen = {}
    for path, _ in sources():
        if path.parts[0] != "lib" or "include" in path.parts:
            continue
        kernels = path.match("lib/ops/kernels/kernels_*.cpp")  # of each instruction set; their header is kernel_table.h
        system = path.match("lib/base/platform_*.cpp")  # of each system; their header is platform.h
        if path.suffix == ".cpp" and not kernels and not system and not (ROOT / path.with_suffix(".h")).exists():
            yield f"no-header {path}", None
        elif path.suffix == ".h":
            if path.name in seen:
                yield f"same-name {path}", None
            seen.setdefault(path.name, path)


def words():
    """Comments of members that begin like the rest of a sentence; bytes of rows that are read as numbers."""
    for path, lines in sources():
        comments = sum(bool(re.search(r"///<\s+(of|those|that of)\b", line)) for line in lines)
        if comments:
            yield f"comments {path}", comments
        for line in lines:
            if re.search(r"(reinterpret_cast|memcpy).*\bbytes\(\)", line) and path.parts[:2] != ("lib", "io"):
                yield f"cast {path}", None


def exceptions():
    known = {}
    for line in (ROOT / "tests/lint/exceptions.txt").read_text().split("\n"):
        if line and not line.startswith("#"):
            *what, last = line.split(" ")
            known[" ".join(what) if last.isdigit() else line] = int(last) if last.isdigit() else None
    return known


def pages():
    """Each model type of the families' tables stands in bert-model(5)."""
    page = ROOT / "man/bert-model.5"
    text = page.read_text() if page.exists() else ""
    for path, lines in sources():
        if path.parts[:3] != ("lib", "model", "family"):
            continue
        for name in re.findall(r'\.model_type = "([^"]+)"', "\n".join(lines)):
            if not re.search(rf"^\.It (Cm )?(.* )?{re.escape(name)}( |$)", text, re.M):
                yield f"{path}: the model type {name} is not in man/bert-model.5"


# What README calls types of models whose own name says it otherwise.
CALLED = {"new": "gte", "data2vec-text": "data2vec", "deberta-v2": "deberta 1 to 3", "jina_embeddings_v3": "jina v3",
          "gemma3_text": "embeddinggemma"}


def models():
    """Each model type of the families' tables stands in README's list of models."""
    readme = ROOT / "README.md"
    if not readme.exists():
        return
    text = readme.read_text().partition("\n## Models\n")[2].partition("\n## ")[0]
    known = re.sub(r"[-_\s]", "", text).lower()
    for path, lines in sources():
        if path.parts[:3] != ("lib", "model", "family"):
            continue
        for name in re.findall(r'\.model_type = "([^"]+)"', "\n".join(lines)):
            if re.sub(r"[-_\s]", "", CALLED.get(name, name)) not in known:
                yield f"{path}: the model type {name} is not in README's list of models"


def subjects():
    """Subjects of commits have at most 72 characters. Those before the rule are not looked at."""
    log = ["git", "-C", str(ROOT), "log", "--no-merges", "--since=2026-11-28T00:00:00", "--format=%h %s"]
    try:
        lines = subprocess.run(log, capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):  # no git, or an archive of one commit
        return
    for line in lines:
        commit, _, subject = line.partition(" ")
        if len(subject) > 72:
            yield f"commit {commit}: its subject has {len(subject)} characters, wants at most 72"


def main():
    known = exceptions()
    found = {}
    for rule in (too_long, headers, words):
        found.update(rule())
    faults = [*subjects(), *pages(), *models()]
    for what, count in found.items():
        kind = what.split(" ")[0]
        if what not in known:
            faults.append(what + (f": {count}, wants at most {MOST[kind]}" if count else ""))
        elif count and count > known[what]:
            faults.append(f"{what}: {count}, was {known[what]}: an exception may only shrink")
    for what, count in known.items():
        if what not in found:
            faults.append(f"{what}: is no exception any more; take it out of tests/lint/exceptions.txt")
        elif count and found[what] < count:
            faults.append(f"{what}: {found[what]}; tests/lint/exceptions.txt says {count}")
    print("\n".join(faults) if faults else f"rules: ok, {len(known)} exceptions")
    sys.exit(1 if faults else 0)


main()
