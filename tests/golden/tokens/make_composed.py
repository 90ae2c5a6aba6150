#!/usr/bin/env python3
"""Writes what Hugging Face tokenizers makes of hostile texts in composed tokenizers, for tokenizer_composed_test.cpp.

    pip install tokenizers==0.23.3 sentencepiece==0.2.3
    tests/golden/tokens/make_composed.py

composed/NAME/tokenizer.json   a composition of normalizers, pre-tokenizers, a model, a decoder
composed/NAME/cases.jsonl      texts with their ids, type ids, byte offsets, word ids and decoded texts
"""
import json
import os
import random

import tokenizers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "composed")
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN3_5 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
           r"\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CORPUS = """The tokenizer doesn't know what the text says, and it's not its task: it splits words into pieces.
We'll see that the pieces which they've learnt are those that stand there most often. I'm sure they're right, I'd say.
In 1998 and 2024 there were 10,000 and 250 words; the other words were the others' words, the same as before.
Die Wörter der Sprache stehen überall, größer als vorher. Où est-ce que les élèves étaient déjà allés hier soir?
Слова этого языка стоят там, где стояли другие слова. Οι λέξεις της γλώσσας. 你好世界 你好 日本語のテキスト
""" * 3


def byte_at(text):
    """[i]: the byte where character i begins."""
    at = [0]
    for ch in text:
        at.append(at[-1] + len(ch.encode()))
    return at


def text_pieces():
    """What the hostile texts are made of."""
    blanks = [" ", "  ", "   ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\x85", "\u200b", "\ufeff"]
    words = ("the The pieces it's WE'LL they've 'd '' `` don't 1998 10,000 ½ Ⅷ ² x² ﬁnd ﬀ Wörter größer Où e\u0301 E\u0301\u0323 "
             "a\u0323\u0301\u0300 \u0301 \u0344 İ ẛ̣ ſ 한국어 각 你好世界 日本語 ｶﾞ ﷺ हिन्दी क़ ไทย שָׁלוֹם مرحبا 🏳️‍🌈 👨‍👩‍👧 🇩🇪 "
             "\U0001d15e ▁ ▁a b▁c Ġ Ġthe ## ##ing _ a_b x\u0001y \ud7ff \U0010fffd ... !? (the) [UNK] <0x41> -- --- $5 € #1 "
             "foo foofoo Bar BAR bar É! é!").split(" ")
    return blanks, words, ["<s>", "</s>", "<mask>", "<e>", "foo", "Bar", "É!", "<unk>"]


def texts(count, seed):
    chance = random.Random(seed)
    blanks, words, added = text_pieces()
    found = ["", " ", "  ", "\n", "the", " the", "the  words ", "it's the  other's\n\n words", "\u0301", "a" * 70, " " * 40 + "x",
             "words " * 12, "1998" * 20]
    while len(found) < count:
        parts = []
        for _ in range(chance.randint(1, 7)):
            kind = chance.random()
            parts.append(chance.choice(words if kind < .55 else blanks if kind < .85 else added))
            if chance.random() < .4:
                parts.append(" ")
        found.append("".join(parts))
    return found


def learn(size, pre_tokenizer, alphabet=(), **options):
    """A BPE of the corpus."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", **options))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(CORPUS.splitlines(), trainers.BpeTrainer(
        vocab_size=size, special_tokens=SPECIAL, initial_alphabet=list(alphabet), show_progress=False, **options))
    return tokenizer


def byte_level(pre_tokenizer, normalizer=None, processor=None, **options):
    tokenizer = learn(520, pre_tokenizers.ByteLevel(), pre_tokenizers.ByteLevel.alphabet())
    tokenizer.model.unk_token = "<unk>"
    for name, value in options.items():
        setattr(tokenizer.model, name, value)
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.post_processor = processor or processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, False)
    return tokenizer


def split_words(pattern, normalizer=None, **options):
    """A byte-level BPE whose words are those of a pattern: Llama 3 and later models."""
    return byte_level(pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                               pre_tokenizers.ByteLevel(False, use_regex=False)]),
                      normalizer, template(), **options)


def template():
    return processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s>:1 $B:1 </s>:1",
                                         special_tokens=[("<s>", 0), ("</s>", 2)])


def metaspace(size, parts, normalizer, scheme, before=(), split=True):
    mark = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    tokenizer = learn(size, pre_tokenizers.Metaspace())
    for name, value in parts.items():
        setattr(tokenizer.model, name, value)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*before, mark]) if before else mark
    tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    tokenizer.post_processor = template()
    return tokenizer


def llama():
    tokenizer = learn(700, pre_tokenizers.Metaspace(), [])
    state = json.loads(tokenizer.to_str())
    vocab = state["model"]["vocab"]
    for byte in range(256):
        vocab.setdefault(f"<0x{byte:02X}>", len(vocab))
    state["model"].update(byte_fallback=True, fuse_unk=True)
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.pre_tokenizer = None
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = template()
    return tokenizer


def suffixed():
    tokenizer = learn(400, pre_tokenizers.Whitespace(), end_of_word_suffix="</w>")
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    tokenizer.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def wordpiece():
    words = sorted(set(CORPUS.replace(".", " ").replace(",", " ").split()))[::3]
    letters = sorted(set(CORPUS) - set("\n "))
    vocab = {t: i for i, t in enumerate([*SPECIAL, *words, *letters, *("##" + c for c in letters)])}
    vocab = {t: i for i, t in enumerate(vocab)}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="<unk>", max_input_chars_per_word=20))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    tokenizer.decoder = decoders.WordPiece("##", cleanup=True)
    tokenizer.post_processor = template()
    return tokenizer


def unigram():
    """Pieces and charsmap of make_unigram.py's model."""
    proto = sentencepiece_model_pb2.ModelProto()
    with open(os.path.join(HERE, "..", "sentencepiece", "bytes.model"), "rb") as file:
        proto.ParseFromString(file.read())
    vocab = [(t, 0.0) for t in SPECIAL] + [(piece.piece, piece.score) for piece in proto.pieces[3:]]
    tokenizer = Tokenizer(models.Unigram(vocab, 3, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap),
                                                 normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="always")])
    tokenizer.post_processor = template()
    return tokenizer


def compositions():
    blank_runs = normalizers.Replace(Regex(" {2,}"), " ")
    yield "roberta", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    yield "roberta-prefix", byte_level(
        pre_tokenizers.ByteLevel(add_prefix_space=True), ignore_merges=True,
        processor=processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, True))
    yield "modernbert", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), normalizers.NFC(), template())
    yield "split", byte_level(
        pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(GPT2), "removed", invert=True),
                                 pre_tokenizers.Split("e", "merged_with_previous"),
                                 pre_tokenizers.ByteLevel(False, use_regex=False)]),
        normalizers.NFKD(), processors.Sequence([processors.ByteLevel(trim_offsets=True), template()]))
    yield "xlm-r", metaspace(420, dict(fuse_unk=True), blank_runs, "always", [pre_tokenizers.WhitespaceSplit()])
    yield "albert", metaspace(
        420, {}, normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
                                       normalizers.StripAccents(), normalizers.Lowercase(), blank_runs]), "first")
    yield "deberta", metaspace(
        420, dict(fuse_unk=True), normalizers.Sequence([normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "), normalizers.NFC(),
                                                        normalizers.Strip()]), "always", [pre_tokenizers.Punctuation("contiguous")])
    yield "unsplit", metaspace(420, {}, normalizers.BertNormalizer(lowercase=False), "never", split=False)
    yield "llama", llama()
    yield "suffix", suffixed()
    yield "wordpiece", wordpiece()
    yield "unigram", unigram()
    yield "llama3", split_words(LLAMA3, ignore_merges=True)
    yield "qwen3_5", split_words(QWEN3_5, normalizers.NFC())
    yield "o200k", split_words(O200K)


def add_tokens(tokenizer):
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False, lstrip=t == "<mask>") for t in SPECIAL])
    tokenizer.add_special_tokens([AddedToken("<e>", special=True, normalized=False, lstrip=True, rstrip=True)])
    tokenizer.add_tokens([AddedToken("foo", single_word=True, normalized=True), AddedToken("Bar", normalized=True, lstrip=True),
                          AddedToken("É!", normalized=True, rstrip=True)])


def encoding_of(tokenizer, text, pair=None):
    at, e = byte_at(text), tokenizer.encode(text, pair)
    second = byte_at(pair) if pair is not None else at
    offsets = [[(second if s == 1 else at)[x] for x in span] for span, s in zip(e.offsets, e.sequence_ids)]
    return dict(ids=e.ids, type_ids=e.type_ids, words=[-1 if w is None else w for w in e.word_ids], offsets=offsets,
                decoded=tokenizer.decode(e.ids), kept=tokenizer.decode(e.ids, skip_special_tokens=False))


def main():
    for seed, (name, tokenizer) in enumerate(compositions()):
        if seed != 2 and seed != 6:  # those stay without, which is another way through the code
            add_tokens(tokenizer)
        folder = os.path.join(HERE, name)
        os.makedirs(folder, exist_ok=True)
        state = json.loads(tokenizer.to_str())
        if name != "roberta":  # the older layout of merges
            merges = state["model"].get("merges")
            if merges:
                state["model"]["merges"] = [" ".join(m) for m in merges]
        with open(os.path.join(folder, "tokenizer.json"), "w") as out:
            json.dump(state, out, ensure_ascii=False, separators=(",", ":"))
            out.write("\n")
        with open(os.path.join(folder, "cases.jsonl"), "w") as out:
            cases = texts(40, seed)
            if name == "unigram":  # what goes away at the beginning moves all offsets
                cases = ["\u200bthe dog and the fox", "\x01\u200b \ufb01 the  dog"] + cases
            for text in cases:
                out.write(json.dumps(dict(text=text, **encoding_of(tokenizer, text)), ensure_ascii=False,
                                     separators=(",", ":")) + "\n")
            pair = cases[-2:]
            out.write(json.dumps(dict(text=pair[0], pair=pair[1], **encoding_of(tokenizer, *pair)), ensure_ascii=False,
                                 separators=(",", ":")) + "\n")


main()
