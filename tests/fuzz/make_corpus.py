#!/usr/bin/env python3
"""Writes corpus/ again, but for heatmap, hub_list, tokenizer and tokenizer_files. Python's standard library only."""

import bz2
import gzip
import json
import lzma
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "models"))

from model_files import config, header_of, pickle_of, product, safetensors, tensor_op, text_op, torch_old, torch_zip, write  # noqa: E402

TENSORS = {"a.weight": ("F32", [2, 3], bytes(range(24))), "b": ("F16", [4], bytes(8)), "c": ("I64", [], bytes(8)),
           "d": ("BF16", [0], b"")}

# A byte that says how long the text behind it is, and how many letters stand before all its copies: long_text.h.
def long_text(text, letters=0):
    text = text.encode() if isinstance(text, str) else text
    return bytes([letters << 5 | len(text)]) + text


def charsmap(units, replacements):
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + replacements


def circular(replacement):
    """A trie in which each byte leads back to one block, that may end a key: keys of any length."""
    units = [0] * 512
    units[0], units[256] = 256 << 10, 1 << 31
    for c in range(1, 256):
        units[256 + c] = c << 10 | 1 << 8 | c
    return charsmap(units, replacement + b"\0")


def one_key(key, replacement):
    """A trie with one key: each byte of it has a block of its own."""
    units = [0] * (256 * (len(key) + 2))
    units[0] = 256 << 10
    for i, c in enumerate(key):
        here, there = 256 * (i + 1), 256 * (i + 2)
        last = i + 1 == len(key)
        units[here ^ c] = (here ^ c ^ there) << 10 | (1 << 8 if last else 0) | c
    units[256 * (len(key) + 1)] = 1 << 31
    return charsmap(units, replacement + b"\0")


def varint(number):
    text = b""
    while number >= 0x80:
        text, number = text + bytes([number & 0x7F | 0x80]), number >> 7
    return text + bytes([number])


def message(*fields):
    """A message of a protocol buffer: numbers of fields with integers, floats, bytes."""
    text = b""
    for number, value in fields:
        if isinstance(value, float):
            text += varint(number << 3 | 5) + struct.pack("<f", value)
        elif isinstance(value, int):
            text += varint(number << 3) + varint(value)
        else:
            text += varint(number << 3 | 2) + varint(len(value)) + value
    return text


NORMAL, UNKNOWN, CONTROL, USER, BYTE, UNUSED = 1, 2, 3, 4, 6, 5
PIECES = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("[CLS]", 0.0, CONTROL),
          ("\u2581", -2.0, NORMAL), ("a", -1.0, NORMAL), ("\u00e9", -1.5, NORMAL), ("\u2581a", -1.2, NORMAL),
          ("a\u00e9", -0.5, NORMAL), ("\u00e9\u00e9", -0.25, UNUSED), ("<x>", 0.0, USER), ("\u4e2d", -3.0, NORMAL)]


def sentencepiece(kind, text, letters=0, normalizer=(), pieces=PIECES, trainer=()):
    model = [(1, message((1, piece.encode()), (2, score), (3, type_))) for piece, score, type_ in pieces]
    model += [(2, message((3, kind), *trainer)), (3, message(*normalizer))]
    return long_text(text, letters) + message(*model)


def npy(dict_, numbers, version=1):
    size = struct.pack("<H" if version == 1 else "<I", len(dict_) + 1)
    return b"\x93NUMPY" + bytes([version, 0]) + size + dict_.encode() + b"\n" + numbers


def changes(*places):
    return b"".join(struct.pack("<I", place | byte << 24) for place, byte in places)


def text_corpora():
    write(os.path.join(HERE, "corpus/charsmap"), {
        "circular": b"\1" + long_text("\u00e9", 1) + circular(b"x"),
        "circular-removes": b"\1" + long_text("\U0001f600", 2) + circular(b""),
        "circular-clusters": b"\0" + long_text("e\u0301\u0323", 0) + circular("\u00e9 x".encode()),
        "one-key": b"\0" + long_text("\u00bd \r\n\u0301", 3) + one_key("\u00bd".encode(), b"1/2"),
        "longest": b"\1" + long_text("a\xff\u00e9\u00e9", 0) + one_key("\u00e9\u00e9".encode(), b" "),
    })
    bytes_ = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    write(os.path.join(HERE, "corpus/sentencepiece"), {
        "unigram": sentencepiece(1, "a\u00e9 \u4e2d<x>"),
        "circular": sentencepiece(1, "\u00e9", 1, [(2, circular(b"x"))]),
        "bytes": sentencepiece(1, "\u00e9\U0001f600 ", 2, [(3, 0), (4, 0)], PIECES + bytes_, [(35, 1)]),
        "bpe": sentencepiece(2, "a\u00e9\u00e9 <x>", 3, [(2, one_key("\u4e2d".encode(), b"a "))]),
        "words": sentencepiece(3, "a a\u00e9  ", 0, [(5, 0)], trainer=[(24, 1)]),
        "characters": sentencepiece(4, "a\u0301\xff<x>", 1, [(2, circular("\u00e9 ".encode()))]),
    })
    write(os.path.join(HERE, "corpus/posix_regex"), {
        "words": "\\<[[:upper:]]\\w+|(a|b)*c{2,3}\nThe Cat abacccc",
        "unicode": "^[\u00e0-\u00ff]+.?\\b|\u4e2d$\n\u00e9\u00e8! \u4e2d",
        "brackets": "[]^a-][^[=b=]c]|[[.-.]x]\n]xa-",
        "empty": "(|a)*(b{0}|)?\naab",
        "invalid": b"\\W.\\s|\\B\na\xff \xe4\xb8 b\0",
        "nested": "((((a?){9}){9}){9})\n" + "a" * 40,
    })


def number_corpora():
    text = b"the cat sat\n" * 9
    write(os.path.join(HERE, "corpus/unpack"), {
        "gzip": gzip.compress(text, mtime=0) * 2, "xz": lzma.compress(text), "bzip2": bz2.compress(text),
        "zstd": bytes.fromhex("28b52ffd045861000074686520636174207361740a198e6bce"), "utf16": "the cat \U0001d11e\n".encode("utf-16"),
        "cut": gzip.compress(text, mtime=0)[:30]})
    write(os.path.join(HERE, "corpus/npy"), {
        "plain": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", bytes(24)),
        "fortran": npy("{'descr': '<i2', 'fortran_order': True, 'shape': (3,)}", bytes(6), 2),
        "scalar": npy('{"shape": (), "descr": "|u1", "fortran_order": False}', bytes(1), 3),
        "empty": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9), }", b""),
        "wraps": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", b""),
        "objects": npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", bytes(4)),
    })
    write(os.path.join(HERE, "corpus/index"), {
        "as-built": b"", "cut": changes((0xFFFFFF, 0)), "version": changes((8, 9)), "links": changes((130, 1), (134, 200)),
        "many-links": changes((128, 255)), "entry": changes((88, 255), (96, 3)), "bundles": changes((64, 199), (72, 149)),
    })
    write(os.path.join(HERE, "corpus/memo"), {
        "greeting": b"\0memo 3 10 1 2 1 0 3 5\nabckey\n\0",
        "cut-greeting": b"\0memo 3 10 0",
        "replies": b"\x017 4 0\na\tb\n8 0 3\nbad9 1 0\nx",
        "wrapping-reply": b"\x011 18446744073709551615 1\nx",
        "endless-reply": b"\x01" + b"0" * 230 + b"1 1 1",
        "request": b"\x0220\t12\t3\ta file\tthe\tline",
        "cut-request": b"\x025\t12\t3\t",
    })


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
    write(os.path.join(HERE, "corpus/csv"), {
        "plain": 'aa,b\n1,2\n3,4\n', "quotes": 'e"x, ""y""\r\nz",2\r\n"",\n', "behind": 'c"a"b,c\na"b"\n"a',
        "columns": "gEU\tB-ORG\nrejects\tO\n\n# x y\nGerman B-MISC\n", "numbers": "b1.5\t-2e3\tnan\n1e400\n",
    })
    write(os.path.join(HERE, "corpus/subwords"), {
        "ties": bytes([4, 12, *(n % 5 for n in range(60))]) + bytes(range(40)),
        "long": bytes([7, 23, *(n * n % 11 for n in range(200))]), "unknown": bytes([3, 5]) + bytes([6, 5] * 20),
        "letters": bytes([1, 31, *(n * 7 % 64 for n in range(90))]),
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
    text_corpora()
    number_corpora()


if __name__ == "__main__":
    main()
