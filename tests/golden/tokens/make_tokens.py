#!/usr/bin/env python3
"""Writes what Hugging Face tokenizers makes of every code point, and of hostile texts, for tokenizer_test.cpp.

    pip install tokenizers==0.23.3
    tests/golden/tokens/make_tokens.py [cases | code-points]

code_points.tsv   one CRC-32 per flag set, context and block of code points. The vocabulary gives each
                  character that can stand in a word two ids, alone and as a continuation, so ids tell what
                  normalising makes of it:  5 + 2 k and 6 + 2 k for the k-th code point that is no white space.
                  Hashed as u32, little endian: number of pieces, then of each id, begin, end (bytes), word.
cases.jsonl       texts with their ids, type ids, byte offsets, word ids, overflowing windows, decoded text
SET/              the model directories of these cases
"""
import json
import os
import random
import struct
import sys
import zlib

import tokenizers
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
HERE = os.path.dirname(os.path.abspath(__file__))
SETS = {
    "uncased": dict(lowercase=True, strip_accents=None, handle_chinese_chars=True),
    "cased": dict(lowercase=False, strip_accents=None, handle_chinese_chars=True),
    "keep-accents": dict(lowercase=True, strip_accents=False, handle_chinese_chars=True),
    "no-cjk": dict(lowercase=True, strip_accents=None, handle_chinese_chars=False),
}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BLOCK = 8192
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
WHITE = {*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}


def build(vocab, **flags):
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, **flags)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(t, tokenizer.token_to_id(t)) for t in ("[CLS]", "[SEP]")])
    return tokenizer


def byte_at(text):
    """[i]: the byte where character i begins."""
    at = [0]
    for ch in text:
        at.append(at[-1] + len(ch.encode()))
    return at


# Every code point

def code_point_digests():
    vocab = {t: i for i, t in enumerate(SPECIAL)}
    for c in CODE_POINTS:
        if c not in WHITE:
            vocab[chr(c)] = len(vocab)
            vocab["##" + chr(c)] = len(vocab)
    contexts = {"alone": "{}", "between": "a{}b", "marks": "e\u0301{}\u0323"}
    with open(os.path.join(HERE, "code_points.tsv"), "w") as out:
        out.write("# set\tcontext\tfirst code point\tcrc32\n")
        for name, flags in SETS.items():
            tokenizer = build(vocab, **flags)
            for context, form in contexts.items():
                for start in range(0, 0x110000, BLOCK):
                    texts = [form.format(chr(c)) for c in range(start, start + BLOCK) if not 0xD800 <= c < 0xE000]
                    crc = 0
                    for text, e in zip(texts, tokenizer.encode_batch(texts, add_special_tokens=False)):
                        at, row = byte_at(text), [len(e.ids)]
                        for token, (begin, end), word in zip(e.ids, e.offsets, e.word_ids):
                            row += [token, at[begin], at[end], word]
                        crc = zlib.crc32(struct.pack(f"<{len(row)}I", *row), crc)
                    out.write(f"{name}\t{context}\t{start:x}\t{crc:08x}\n")


# Hostile texts

PIECES = SPECIAL + list(".,!?;:'\"-()[]#&%$+<=>^`|~@/\\*_{}") + [
    "the", "a", "##a", "##b", "##c", "b", "c", "x", "##x", "e", "##e", "é", "##é", "E", "É", "can", "cancer", "did",
    "##n", "t", "mask", "un", "##aff", "##able", "paris", "Paris", "word", "##word", "##ing", "ing", "i", "##i", "İ", "s",
    "##s", "ss", "ß", "σ", "##σ", "ς", "##ς", "ο", "##ο", "δ", "k", "å", "Å", "中", "文", "##文", "##国", "国", "家",
    "か", "##\u3099", "が", "ᄒ", "##ᅡ", "##ᆫ", "한", "हि", "ह", "##ि", "##न", "न", "ก", "##ำ", "กำ", "😀", "☺",
    "\u0301", "##\u0301", "。", "，", "—", "“", "0", "1", "##0", "##1", "##2", "##3", "2", "##\u200d", "ﷺ", "˚",
    "##\u0307", "##\u0323", "\U00011938", "##\u302e"]

TEXTS = [
    "", " ", "\t \n\r", "\u200b\u00ad\x00\x01\x7f", "the", "The THE tHe", "unaffable unaffab", "didn't", "can cancer!",
    "[MASK]", "a[MASK]b", "[mask]", "[MA\u00adSK]", "［MASK］", "[[MASK]]", "[MASK[SEP]", "[CLS] the [SEP][PAD][UNK]",
    "é e\u0301 É E\u0301 e\u0323\u0301 e\u0301\u0323", "\u0301the", "the\u0301", "e" + "\u0301" * 120, "中\u0301文", "中文国家",
    "中x文", "\ufa0e\uf900\U0002f800", "\U00020000\U0002b820\U0002b91f\U0002b920", "か\u3099 が", "한 \u1112\u1161\u11ab",
    "हिन", "กำ", "İ I i\u0307 ı", "ẞ ß ss", "ΟΔΟΣ οδος", "K Å \u212b", "\ufdfa", "😀☺\ufe0f\ufe0e", "a\u200db", "a\u00a0b\u3000c",
    "a\u2028b\u2029c\u0085d", "a\x0bb\x0cc", "0123", "$+<=>^`|~", "a" * 99, "a" * 100, "a" * 101, "e\u0301" * 100, "e\u0301" * 101,
    "x" * 300, "\U0001f600" * 100, "\U0001f600" * 101, "。，—“", "\u037e\u1fef\u2000", "a\ufffdb", "\U00011935\U00011930",
    "e\u302e\u0323\u0301", "é\u302e\u0323", "\u0344\u0f73\u0334", "\u0f73\u302e", "\u1d16f\U0001d165", "\u16fe2\u061d", "##ing ##",
    "the\tthe\nthe\r\nthe", "a\u0000b", "\U000e0001a", "\ue000a", "word\u0378word", "the  the   the", "\ufeffthe",
]


def texts(rng):
    pools = ["the can a b c x e ", "éÉeE\u0301\u0323\u0307\u302e\u0345", "中文国家か\u3099が한", "हिनกำ\u0e33", "[MASK][SEP] ", ".,!?'\"-",
             "İIıßẞΣσς\u212a\u212b", "\u200b\u00ad\x00\u2028\u00a0\ufffd", "😀☺\ufe0f\u200d🏽", "\uf900\U0002f800\ufdfa\u0344\U0001d165"]
    for _ in range(70):
        yield "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 24)))


def described(tokenizer, encoding, parts):
    at = [byte_at(part) for part in parts]
    offsets = []
    for (begin, end), sequence, special in zip(encoding.offsets, encoding.sequence_ids, encoding.special_tokens_mask):
        offsets.append([0, 0] if special else [at[sequence][begin], at[sequence][end]])
    return {"ids": encoding.ids, "type_ids": encoding.type_ids, "offsets": offsets,
            "words": [-1 if w is None else w for w in encoding.word_ids]}


def write_case(out, tokenizer, **case):
    parts = [case["text"]] + ([case["pair"]] if "pair" in case else [])
    tokenizer.encode_special_tokens = case.get("literal", False)
    if "max_length" in case:
        tokenizer.enable_truncation(case["max_length"], stride=case.get("stride", 0), strategy=case["truncation"])
    else:
        tokenizer.no_truncation()
    encoding = tokenizer.encode(*parts)
    case |= described(tokenizer, encoding, parts)
    if "stride" in case:
        case["windows"] = [described(tokenizer, e, parts) for e in encoding.overflowing]
    case["decoded"] = tokenizer.decode(encoding.ids, skip_special_tokens=True)
    out.write(json.dumps(case, separators=(",", ":")) + "\n")


def write_directory(name, flags):
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "vocab.txt"), "w", newline="\n") as out:
        out.write("\n".join(PIECES) + "\n")
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as out:
        json.dump({"do_lower_case": flags["lowercase"], "strip_accents": flags["strip_accents"],
                   "tokenize_chinese_chars": flags["handle_chinese_chars"], "model_max_length": 512}, out)


def cases():
    vocab = {piece: i for i, piece in enumerate(PIECES)}
    assert len(vocab) == len(PIECES)
    rng = random.Random(1)
    with open(os.path.join(HERE, "cases.jsonl"), "w") as out:
        for name, flags in SETS.items():
            write_directory(name, flags)
            tokenizer = build(vocab, **flags)
            for text in TEXTS + list(texts(rng)):
                write_case(out, tokenizer, set=name, text=text)
        tokenizer = build(vocab, **SETS["uncased"])
        for text in TEXTS:
            if "[" in text:
                write_case(out, tokenizer, set="uncased", text=text, literal=True)
        for strategy in ("longest_first", "only_first", "only_second"):
            for n1, n2, length in ((0, 9, 8), (3, 9, 8), (9, 3, 8), (9, 9, 8), (9, 9, 9), (9, 8, 10), (12, 5, 13), (2, 2, 7), (5, 1, 7)):
                pair = dict(text="the " * n1, pair="can " * n2)
                try:
                    write_case(out, tokenizer, set="uncased", max_length=length, truncation=strategy, **pair)
                except Exception:
                    pass  # the text is too short to give way
        for n, length, stride in ((20, 7, 0), (20, 7, 2), (20, 7, 4), (5, 7, 2), (6, 7, 2), (11, 8, 5), (0, 7, 1)):
            text = "".join(rng.choice(["the ", "unaffable ", "é "]) for _ in range(n))
            write_case(out, tokenizer, set="uncased", text=text, max_length=length, truncation="longest_first", stride=stride)
            write_case(out, tokenizer, set="uncased", text="can a", pair=text, max_length=length + 3,
                       truncation="only_second", stride=stride)
        added(out, vocab, rng)
        mpnet(out, rng)


def added(out, vocab, rng):
    """A directory with tokenizer.json and added tokens of all kinds."""
    for name, flags in {"added": SETS["uncased"], "added-cased": SETS["cased"]}.items():
        tokenizer = build(vocab, **flags)
        tokenizer.add_tokens([AddedToken("<ent>", lstrip=True, normalized=False), AddedToken("Foo Bar", normalized=True),
                              AddedToken("café", normalized=True, rstrip=True), AddedToken("ab", single_word=True, normalized=False),
                              AddedToken("the can", single_word=True, normalized=True), AddedToken("国家", normalized=True)])
        tokenizer.add_special_tokens([AddedToken("<e1>", special=True, rstrip=True), AddedToken("<e1>x", special=True)])
        os.makedirs(os.path.join(HERE, name), exist_ok=True)
        tokenizer.save(os.path.join(HERE, name, "tokenizer.json"))
        atoms = ["<ent>", "Foo Bar", "foo bar", "FOO  BAR", "café", "CAFE\u0301", "cafe", "ab", "the can", "the", " ", "  ", "\u3000",
                 "\t", "x", "_", "é", "中", "国家", "国", ".", "<e1>", "<e1>x", "[MASK]", "9", "\u0301", "\u200d", "<e1"]
        for i in range(80):
            text = "".join(rng.choice(atoms) for _ in range(rng.randint(1, 9)))
            write_case(out, tokenizer, set=name, text=text, literal=i % 5 == 0)


def mpnet(out, rng):
    """MPNet's frame and <mask>: a directory as transformers reads it, and a tokenizer.json of cased text."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]"] + PIECES[len(SPECIAL):] + ["\u0120x", "##a\u0120", "\u0120", "<mask>"]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    for name, flags, prefix_space in (("mpnet", SETS["uncased"], False), ("mpnet-cased", SETS["cased"], True)):
        tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, **flags)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece(prefix="##")
        tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "[UNK]", AddedToken("<mask>", lstrip=True)])
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, prefix_space)
        folder = os.path.join(HERE, name)
        os.makedirs(folder, exist_ok=True)
        if name == "mpnet":
            with open(os.path.join(folder, "vocab.txt"), "w", newline="\n") as file:
                file.write("\n".join(pieces) + "\n")
            with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
                json.dump({"tokenizer_class": "MPNetTokenizer", "do_lower_case": True, "model_max_length": 512}, file)
        else:
            tokenizer.save(os.path.join(folder, "tokenizer.json"))
        atoms = ["<mask>", " <mask>", "  <mask>", "\u3000<mask>", "the", "The", "unaffable", "é", "É", "中", "\u0120x", "xa\u0120", "\u0120",
                 " ", ".", "<s>", "</s>", "<unk>", "[MASK]", "[UNK]", "\x01"]
        def text():
            return "".join(rng.choice(atoms) + rng.choice(["", " "]) for _ in range(rng.randint(1, 8)))
        for i in range(50):
            write_case(out, tokenizer, set=name, text=text(), literal=i % 5 == 0)
        for i in range(25):
            write_case(out, tokenizer, set=name, text=text(), pair=text())
        for n, length, stride in ((20, 7, 0), (20, 7, 2), (6, 7, 2), (11, 8, 5)):
            text_of_n = "".join(rng.choice(["the ", "unaffable ", " <mask> "]) for _ in range(n))
            write_case(out, tokenizer, set=name, text=text_of_n, max_length=length, truncation="longest_first", stride=stride)
            write_case(out, tokenizer, set=name, text="can a", pair=text_of_n, max_length=length + 4,
                       truncation="only_second", stride=stride)


if "code-points" not in sys.argv[1:]:
    cases()
if "cases" not in sys.argv[1:]:
    code_point_digests()
