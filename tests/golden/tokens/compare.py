#!/usr/bin/env python3
"""Compares `tokenize` with Hugging Face tokenizers on real and generated lines, by hand.

    pip install tokenizers==0.23.3
    compare.py --model DIR [--tool build/bin/tokenize] [--generated N] [--pairs] [FILE | FILE.xz]...

Ids, type ids, offsets and word indices must be equal. DIR has a vocab.txt and perhaps a tokenizer_config.json.
"""
import argparse
import itertools
import json
import lzma
import os
import random
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

SPECIAL = ["[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"]


def reference(folder):
    config = {}
    if os.path.exists(os.path.join(folder, "tokenizer_config.json")):
        with open(os.path.join(folder, "tokenizer_config.json")) as file:
            config = json.load(file)
    tokenizer = Tokenizer(models.WordPiece.from_file(os.path.join(folder, "vocab.txt"), unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=config.get("tokenize_chinese_chars", True),
        strip_accents=config.get("strip_accents"), lowercase=config.get("do_lower_case", True))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(t, tokenizer.token_to_id(t)) for t in ("[CLS]", "[SEP]")])
    return tokenizer


def span(*ranges):
    return [chr(c) for first, last, step in ranges for c in range(first, last, step)]


def generated(count, words, seed=1):
    """Mixed lines: scripts, marks, emoji, invisible characters, special tokens, words of 99 to 101 characters."""
    rng = random.Random(seed)
    pools = [
        list("abcdefghijklmnopqrstuvwxyz"), list("ABCDEFGHIJ KLMNOP"), list("0123456789.,;:!?-_()[]{}#@$%^&*+=~`|\\/<>\"'"),
        list(" \t\n\r\u00a0\u3000\u2003\u2028\x0b\x0c\x85\x01\x7f\u200b\u200d\ufeff\ufffd\u00ad\ufe0f\ufe0e"),
        list("éèêëàâäçñöüßÅÉÈÀÇÑÖÜẞİıŁłøØŒœÆæſ\u212a\u212b"), span((0x300, 0x370, 1)), span((0x370, 0x400, 1)), span((0x400, 0x530, 1)),
        span((0x590, 0x780, 1)), span((0x900, 0xE00, 1)), span((0xE00, 0xE80, 1)), span((0xF00, 0x1000, 1)), span((0x1100, 0x1200, 1)),
        span((0xAC00, 0xD7A4, 7)), span((0x3040, 0x3100, 1)), span((0x4E00, 0xA000, 3)), span((0x3400, 0x4DC0, 11)),
        span((0x20000, 0x2CEB0, 37)), span((0xF900, 0xFB00, 1)), span((0x2F800, 0x2FA20, 1)), span((0x1F300, 0x1F700, 1)),
        span((0x2000, 0x2070, 1)), span((0x1D100, 0x1D1F0, 1)), span((0x1E00, 0x2000, 1)),
        list("\u302a\u302b\u302e\u302f\u0345\u0334\u031b\u0323\u0301\u0f71\u0f72\u0f73\u0344\u05b0\u3099\u309a\U00016ff0\u1dfa"),
        list("，。、！？「」《》——…“”‘’"), [chr(c) for c in range(1, 0x110000, 101) if not 0xD800 <= c < 0xE000],
    ]
    specials = ["[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "[mask]", "[MA\u00adSK]", "［MASK］", "[[MASK]]", "[MASK", " [MASK] ", "##ing"]
    for _ in range(count):
        parts = []
        for _ in range(rng.randint(0, 10)):
            kind, pool, other = rng.random(), rng.choice(pools), rng.choice(pools)
            if kind < 0.3:
                parts.append(rng.choice(words))
            elif kind < 0.38:
                parts.append(rng.choice(specials))
            elif kind < 0.40:
                parts.append("".join(rng.choices(pool, k=rng.choice([99, 100, 101]))))
            elif kind < 0.45:
                parts.append(rng.choice(words).upper() + rng.choice(pools[5]))
            else:
                parts.append("".join(rng.choice(pool if rng.random() < 0.8 else other) for _ in range(rng.randint(1, 8))))
            parts.append(rng.choice(["", " "]))
        yield "".join(parts)


def lines_of(path):
    with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n").replace("\0", "")


def bytes_at(text):
    if text.isascii():
        return range(len(text) + 1)
    return [0, *itertools.accumulate(len(ch.encode()) for ch in text)]


def expected(encoding, texts):
    at = [bytes_at(text) for text in texts]
    offsets = []
    for (begin, end), part, special in zip(encoding.offsets, encoding.sequence_ids, encoding.special_tokens_mask):
        offsets.append([0, 0] if special else [at[part][begin], at[part][end]])
    return encoding.ids, encoding.type_ids, offsets, encoding.word_ids


def compare(options, tokenizer, batch):
    """Returns the number of lines that differ."""
    with tempfile.NamedTemporaryFile() as file:
        for item in batch:
            file.write(("\t".join(item) if options.pairs else item).encode() + b"\0")
        file.flush()
        command = [options.tool, "-m", options.model, "--json", "-0", "-q", "--pair" if options.pairs else "--special", file.name]
        rows = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.split(b"\0")
    assert len(rows) == len(batch) + 1, (len(rows), len(batch))
    wrong = 0
    for item, row, encoding in zip(batch, rows, tokenizer.encode_batch(batch)):
        found = json.loads(row)
        found = found["ids"], found["type_ids"], found["offsets"], found["words"]
        wanted = expected(encoding, item if options.pairs else [item])
        if found != wanted:
            wrong += 1
            if wrong < 4:
                print("DIFFERENT", ascii(item)[:400], "\n  found ", found, "\n  wanted", wanted)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--tool", default="build/bin/tokenize")
    parser.add_argument("--generated", type=int, default=100000)
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--lines", type=int, default=10**9, help="at most, of each file")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    with open(os.path.join(options.model, "vocab.txt"), encoding="utf-8") as file:
        words = [line.strip() for line in file]
    tokenizer = reference(options.model)
    # A CR at the end of a record belongs to its end, so no text ends with one.
    texts = itertools.chain(generated(options.generated, words), *(itertools.islice(lines_of(f), options.lines) for f in options.files))
    texts = (text.rstrip("\r") for text in texts)
    if options.pairs:
        texts = ((a.replace("\t", " ").rstrip("\r"), b.replace("\t", " ").rstrip("\r")) for a, b in zip(texts, texts))
    total = wrong = 0
    while batch := list(itertools.islice(texts, 20000)):
        wrong += compare(options, tokenizer, batch)
        total += len(batch)
        print(f"{total} lines, {wrong} different", file=sys.stderr)
    print(f"{options.model}: {total} lines, {wrong} different")
    return wrong > 0


sys.exit(main())
