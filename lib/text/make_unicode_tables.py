#!/usr/bin/env python3
"""Writes unicode_tables.cpp: the properties of each code point as Hugging Face tokenizers sees them.

    pip install tokenizers==0.23.3
    lib/text/make_unicode_tables.py > lib/text/unicode_tables.cpp

The reference mixes tables of several Unicode versions, so nothing here comes from a newer library:
the script asks the reference itself for every property of every code point. Canonical
mappings and combining classes never change once assigned (Unicode stability policy), so for these the table
stores only whether the reference knows them, and the value comes from utf8proc; the script checks that both agree.
"""
import ctypes
import ctypes.util
import sys
import unicodedata

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
BLOCK = 128

# The order is that of the constants in unicode.h.
(REMOVED, SPACE, WHITE, PUNCTUATION, CJK, MARK, DECOMPOSES, COMBINING, LOWERS, WORD, LETTER, NUMBER, COMPATIBLE,
 ANY_MARK, NOT_LOWER, NOT_UPPER) = (1 << i for i in range(16))


def bert(**on):
    flags = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**(flags | on)).normalize_str


def known_combining_classes(nfd):
    """{code point: combining class in the reference}, found by the order in which its NFD puts pairs of marks."""
    utf8proc = ctypes.CDLL(ctypes.util.find_library("utf8proc"))
    utf8proc.utf8proc_get_property.restype = ctypes.POINTER(ctypes.c_uint16)
    theirs = {c: utf8proc.utf8proc_get_property(c)[1] for c in CODE_POINTS}  # .combining_class

    def swaps(first, second):  # whether NFD puts `second` before `first`
        return nfd("a" + chr(first) + chr(second)) == "a" + chr(second) + chr(first) != "a" + chr(first) + chr(second)

    acute, overlay = 0x301, 0x334  # classes 230 and 1
    marks = [c for c in CODE_POINTS if nfd(chr(c)) == chr(c)
             and (swaps(acute, c) or swaps(c, overlay) or swaps(0x345, c))]
    by_class = {}
    for c in marks:
        by_class.setdefault(theirs[c], c)
    found = {}
    for c in marks:
        below = [k for k, ref in by_class.items() if swaps(c, ref)]
        above = [k for k, ref in by_class.items() if swaps(ref, c)]
        between = [k for k in by_class if k not in below and k not in above]
        assert between == [theirs[c]], (hex(c), between, theirs[c])
        found[c] = theirs[c]
    return found


def check_decompositions(nfd):
    """Checks that utf8proc decomposes as the reference does every code point that the reference decomposes."""
    utf8proc = ctypes.CDLL(ctypes.util.find_library("utf8proc"))
    buffer = (ctypes.c_int32 * 8)()
    last_class = ctypes.c_int(0)
    for c in CODE_POINTS:
        expected = nfd(chr(c))
        if expected == chr(c):
            continue
        # A starter can only come first: Normalizer sorts only the marks after it.
        assert not any(unicodedata.combining(x) == 0 for x in expected[1:] if unicodedata.combining(expected[0])), hex(c)
        n = utf8proc.utf8proc_decompose_char(c, buffer, 8, 1 << 4, ctypes.byref(last_class))  # UTF8PROC_DECOMPOSE
        assert "".join(map(chr, buffer[:n])) == expected, hex(c)


def word_characters():
    r"""Code points that count as \w when the reference looks at the neighbours of a single_word token."""
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.add_tokens([AddedToken("@", single_word=True, normalized=False)])
    return {c for c in CODE_POINTS if tokenizer.encode(chr(c) + "@", add_special_tokens=False).ids[-1:] != [1]}


def check_compatible_decompositions(nfd, nfkd):
    """As check_decompositions, for the code points whose compatibility decomposition is another."""
    utf8proc = ctypes.CDLL(ctypes.util.find_library("utf8proc"))
    buffer = (ctypes.c_int32 * 32)()
    last_class = ctypes.c_int(0)
    for c in CODE_POINTS:
        expected = nfkd(chr(c))
        if expected == nfd(chr(c)):
            continue
        n = utf8proc.utf8proc_decompose_char(c, buffer, 32, 1 << 4 | 1 << 2, ctypes.byref(last_class))  # .. | COMPAT
        assert 0 < n <= 18, hex(c)
        assert nfd("".join(map(chr, buffer[:n]))) == expected, hex(c)


def regex_class(split, ch):
    r"""\p{L}, \p{N} or \s of the pattern that splits words of byte-level vocabularies; 0: none of them."""
    if len(split("a" + ch)) == 1:
        return LETTER
    if len(split("1" + ch)) == 1:
        return NUMBER
    return 0 if len(split("!" + ch)) == 1 else WHITE


def in_class(pattern):
    """Code points that a pattern of one character finds."""
    split, found = pre_tokenizers.Split(Regex(pattern), "removed", invert=True).pre_tokenize_str, set()
    for i in range(0, len(CODE_POINTS), 4096):
        found.update(ord(ch) for ch, _ in split("".join(map(chr, CODE_POINTS[i:i + 4096]))))
    return found


def compositions():
    """[(first, second, composite)] of the reference's NFC, without Hangul, which is arithmetic."""
    nfc, nfd, nfkd = (f().normalize_str for f in (normalizers.NFC, normalizers.NFD, normalizers.NFKD))
    check_compatible_decompositions(nfd, nfkd)
    found = []
    for c in CODE_POINTS:
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) != 2 or parts[0].startswith("<"):
            assert nfd(chr(c)) == chr(c) or nfc(nfd(chr(c))) != chr(c) or len(parts) == 2 or 0xAC00 <= c < 0xD7A4, hex(c)
            continue
        first, second = (int(x, 16) for x in parts)
        if nfc(chr(first) + chr(second)) == chr(c):
            found.append((first, second, c))
    return sorted(found)


def classes():
    clean, cjk, strip = bert(clean_text=True), bert(handle_chinese_chars=True), bert(strip_accents=True)
    lower, nfd = bert(lowercase=True), normalizers.NFD().normalize_str
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    combining, words = known_combining_classes(nfd), word_characters()
    check_decompositions(nfd)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str
    accents, nfkd = normalizers.StripAccents().normalize_str, normalizers.NFKD().normalize_str
    not_lower, not_upper = in_class(r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"), in_class(r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]")
    bits, lowered = [0] * 0x110000, {}
    for c in CODE_POINTS:
        ch, b = chr(c), 0
        cleaned = clean("a" + ch + "b")
        b |= REMOVED if cleaned == "ab" else SPACE if cleaned == "a b" else 0
        assert b or cleaned == "a" + ch + "b"
        pieces = [p for p, _ in split("a" + ch + "b")]
        b |= WHITE if pieces == ["a", "b"] else PUNCTUATION if pieces == ["a", ch, "b"] else 0
        assert b & (WHITE | PUNCTUATION) or pieces == ["a" + ch + "b"]
        b |= CJK if cjk(ch) == f" {ch} " else 0
        b |= DECOMPOSES if nfd(ch) != ch else MARK if strip(ch) == "" else 0
        b |= COMBINING if c in combining else 0
        b |= WORD if c in words else 0
        b |= COMPATIBLE if nfkd(ch) != nfd(ch) else 0
        b |= ANY_MARK if accents(ch) == "" else 0
        b |= (NOT_LOWER if c in not_lower else 0) | (NOT_UPPER if c in not_upper else 0)
        kind = regex_class(byte_level, ch)
        assert (kind == WHITE) == (b & WHITE != 0), hex(c)  # \s is the white space of the other splits
        b |= kind
        if lower(ch) != ch:
            b |= LOWERS
            lowered[c] = lower(ch)
        bits[c] = b
    for c in CODE_POINTS:  # strip_accents is exactly: decompose, drop marks
        assert strip(chr(c)) == "".join(x for x in nfd(chr(c)) if not bits[ord(x)] & MARK), hex(c)
    return bits, lowered


def lower_ranges(lowered):
    """[(first, last, step, delta)] for the code points with a lower case of one code point; only U+0130 has two."""
    assert [c for c, s in lowered.items() if len(s) != 1] == [0x130] and lowered[0x130] == "i\u0307"
    ranges = []
    for c, s in sorted(lowered.items()):
        delta = ord(s[0]) - c
        if ranges and delta == ranges[-1][3]:
            first, last, step, _ = ranges[-1]
            gap = c - last
            if gap <= 2 and (step == gap or first == last):
                ranges[-1] = (first, c, gap, delta)
                continue
        ranges.append((c, c, 1, delta))
    return ranges


def emit(out, name, kind, values, per_line):
    out.write(f"const {kind} {name}[{len(values)}] = {{\n")
    for i in range(0, len(values), per_line):
        out.write("    " + " ".join(f"{v}," for v in values[i:i + per_line]) + "\n")
    out.write("};\n\n")


def main():
    bits, lowered = classes()
    kinds = sorted(set(bits))
    blocks, index = {}, []
    for start in range(0, 0x110000, BLOCK):
        block = tuple(kinds.index(b) for b in bits[start:start + BLOCK])
        index.append(blocks.setdefault(block, len(blocks)))
    assert len(kinds) <= 256 and len(blocks) <= 65536
    out = sys.stdout
    out.write("// Generated by make_unicode_tables.py from Hugging Face tokenizers 0.23.3. Do not edit.\n"
              '#include "text/unicode_tables.h"\n\nnamespace bert::unicode_tables {\n\n')
    emit(out, "kKinds", "uint16_t", kinds, 16)
    emit(out, "kIndex", "uint16_t", index, 24)
    emit(out, "kBlocks", "uint8_t", [k for block in blocks for k in block], 32)
    pairs = [f"{{{first:#x}, {second:#x}, {composite:#x}}}" for first, second, composite in compositions()]
    emit(out, "kCompositions", "Composition", pairs, 5)
    out.write(f"const size_t kCompositionsSize = {len(pairs)};\n\n")
    ranges = [f"{{{first:#x}, {last:#x}, {step}, {delta}}}" for first, last, step, delta in lower_ranges(lowered)]
    emit(out, "kLower", "LowerRange", ranges, 4)
    out.write(f"const size_t kLowerSize = {len(ranges)};\n\n}}  // namespace bert::unicode_tables\n")
    print(len(kinds), "kinds", len(blocks), "blocks", len(ranges), "ranges", file=sys.stderr)


main()
