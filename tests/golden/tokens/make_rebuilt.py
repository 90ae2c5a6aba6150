#!/usr/bin/env python3
"""Writes what classes of transformers that build their tokenizer anew make of hostile texts, for tokenizer_rebuilt_test.cpp.

    pip install transformers==5.24.0 tokenizers==0.23.3
    tests/golden/tokens/make_rebuilt.py

rebuilt/NAME/tokenizer_config.json with tokenizer.json, vocab.txt, or vocab.json and merges.txt   a directory whose class is named there
rebuilt/NAME/cases.jsonl      texts with their ids, type ids, byte offsets and decoded texts
"""
import json
import os
import random
import re
import sys

import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

assert transformers.__version__.startswith("5.24."), transformers.__version__
FOLDER = os.path.dirname(os.path.abspath(__file__))
CORPUS = """The tokenizer doesn't know what the text says, and it's not its task: it splits words into pieces.
We'll see that the pieces which they've learnt are those that stand there most often. I'm sure they're right, I'd say.
In 1998 and 2024 there were 10,000 and 250 words; the other words were the others' words, the same as before.
Die Wörter der Sprache stehen überall, größer als vorher. Où est-ce que les élèves étaient déjà allés hier soir?
Слова этого языка стоят там, где стояли другие слова. 你好世界 你好 日本語のテキスト
""" * 3
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
        r"\s+(?!\S)|\s+")
AMINO = "<cls> <pad> <eos> <unk> L A G V S E R T I D P K Q N F Y M H W C X B U Z O . - <null_1> <mask>".split()


def byte_at(text):
    """[i]: the byte where character i begins."""
    at = [0]
    for ch in text:
        at.append(at[-1] + len(ch.encode()))
    return at


def texts(count, seed, special):
    chance = random.Random(seed)
    blanks = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n \n", "\u00a0", "\u3000", "\u2028", "\x85", "\u200b", "\x1c", "\ufeff", "\0"]
    words = ("the The pieces it's WE'LL they'VE 'd 'S '\u017f '' `` don't 1998 10,000 1234567 ½ Ⅷ ² x² ﬁnd Wörter größer Où e\u0301 "
             "E\u0301\u0323 \u0301 İ ſ 한국어 你好世界 日本語 हिन्दी ไทย שָׁלוֹם 🏳️‍🌈 👨‍👩‍👧 ▁ ▁a b▁c Ġ Ġthe a_b x\u0001y \U0010fffd ... !? "
             "(the) <0x41> http://x.y/z// camelCase HTTPServer ǅ --- $5 #1").split(" ")
    found = ["", " ", "  ", "\n", "the", " the", "the  words ", "it's the  other's\n\n words", "a" * 70, " " * 40 + "x",
             "1998" * 20]
    while len(found) < count:
        parts = []
        for _ in range(chance.randint(1, 7)):
            kind = chance.random()
            parts.append(chance.choice(words if kind < .55 else blanks if kind < .85 else special))
            if chance.random() < .4:
                parts.append(" ")
        found.append("".join(parts))
    return found


def proteins(count, seed):
    chance = random.Random(seed)
    found = ["", " ", "MKTAYIAKQR", "mktayiakqr", "M K T A Y", "MK<mask>AY", "<mask>", "<mas", "MKJTé", "M<cls>K <null_1>.-", "M\x1cK\x1dj j\x85j"]
    while len(found) < count:
        found.append("".join(chance.choice([*AMINO, *"LAGVlagvJé \t\n<>", "<mask>", "  ", "<m", "ask>", "\u3000", "\x1f"])
                             for _ in range(chance.randint(1, 12))))
    return found


def learn(size, pre_tokenizer, special, alphabet=(), normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(CORPUS.splitlines(), trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=sorted(alphabet), show_progress=False))
    return tokenizer


def with_bytes(tokenizer):
    state = json.loads(tokenizer.to_str())
    vocab = state["model"]["vocab"]
    for byte in range(256):
        vocab.setdefault(f"<0x{byte:02X}>", len(vocab))
    state["model"].update(byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    return Tokenizer.from_str(json.dumps(state))


def bos_template(bos, number):
    return processors.TemplateProcessing(single=f"{bos}:0 $A:0", pair=f"{bos}:0 $A:0 {bos}:1 $B:1", special_tokens=[(bos, number)])


def qwen(processor):
    tokenizer = learn(350, pre_tokenizers.ByteLevel(False), ["<|endoftext|>", "<|im_end|>"], pre_tokenizers.ByteLevel.alphabet())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN), "isolated"),
                                                       pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    bytes_of = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    end = processors.TemplateProcessing(single="$A:0 <|endoftext|>:0", pair="$A:0 <|endoftext|>:0 $B:1 <|endoftext|>:1",
                                        special_tokens=[("<|endoftext|>", 0)])
    tokenizer.post_processor = processors.Sequence([bytes_of, end]) if processor else bytes_of
    return tokenizer


def gemma():  # its tokenizer.json alone says whether <bos> stands before a text
    tokenizer = with_bytes(learn(300, pre_tokenizers.Metaspace(), ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.post_processor = bos_template("<bos>", 2)
    return tokenizer


def llama():
    tokenizer = with_bytes(learn(300, pre_tokenizers.Metaspace(), ["<unk>", "<s>", "</s>"]))
    tokenizer.pre_tokenizer = None
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = bos_template("<s>", 1)
    return tokenizer


def t5():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(CORPUS.splitlines(), trainers.UnigramTrainer(
        vocab_size=250, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    state = json.loads(tokenizer.to_str())
    with open(os.path.join(FOLDER, "composed", "unigram", "tokenizer.json")) as file:
        charsmap = next(step for step in json.load(file)["normalizer"]["normalizers"] if step["type"] == "Precompiled")
    state["normalizer"] = {"type": "Sequence", "normalizers": [charsmap, {"type": "Lowercase"}]}
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def directories():
    """(name, class, configuration, tokenizer, special tokens)"""
    end = ["<|endoftext|>", "<|im_end|>"]
    yield "qwen2", "Qwen2Tokenizer", dict(eos_token="<|im_end|>", pad_token="<|endoftext|>"), qwen(False), end
    yield "qwen2-ends", "Qwen2Tokenizer", dict(pad_token="<|endoftext|>"), qwen(True), end
    yield "qwen2-prefix", "Qwen2TokenizerFast", dict(add_prefix_space=True), qwen(True), end
    yield "qwen3_5", "Qwen3_5Tokenizer", dict(pad_token="<|endoftext|>"), qwen(True), end
    marks = ["<bos>", "<eos>", "<mask>", "<unk>", "<pad>"]
    yield "gemma", "GemmaTokenizer", {}, gemma(), marks
    bare = gemma()
    bare.post_processor = None
    yield "gemma-bare", "GemmaTokenizerFast", dict(add_bos_token=True, add_eos_token=True), bare, marks
    marks = ["<s>", "</s>", "<unk>"]
    yield "llama", "LlamaTokenizer", dict(add_bos_token=True, add_eos_token=False, legacy=False), llama(), marks
    yield "llama-legacy", "LlamaTokenizerFast", dict(legacy=True), llama(), marks
    yield "llama-bare", "LlamaTokenizer", dict(add_prefix_space=False), llama(), marks
    yield "t5", "T5Tokenizer", dict(extra_ids=3), t5(), ["</s>", "<pad>", "<unk>", "<extra_id_0>", "<extra_id_2>"]
    yield "esm", "EsmTokenizer", {}, None, []
    ending = dict(eos_token="<|endoftext|>", add_eos_token=True)
    yield "backend", "TokenizersBackend", ending, qwen(False), end
    yield "gpt2", "GPT2Tokenizer", dict(add_prefix_space=True), qwen(True), end
    # Without a tokenizer.json
    yield "gpt2-files", "GPT2TokenizerFast", {}, qwen(False), end
    yield "gpt2-ends-files", "GPT2Tokenizer", dict(add_prefix_space=True, add_bos_token=True), qwen(False), end
    yield "qwen2-files", "Qwen2TokenizerFast", dict(eos_token="<|im_end|>", pad_token="<|endoftext|>"), qwen(False), end
    yield "qwen2-ends-files", "Qwen2Tokenizer", dict(add_eos_token=True, add_bos_token=True, add_prefix_space=True), qwen(False), end


def open_reference(folder, name):
    return getattr(transformers, name).from_pretrained(folder)


def pieces_of_list(tokenizer, text):
    """Offsets of EsmTokenizer, which tells none: its words in the order of the text."""
    at, done, spans = byte_at(text), 0, []
    for part in tokenizer.tokens_trie.split(text):
        known = part in tokenizer.all_tokens
        for word in [part] if known else part.split():
            begin = text.index(word, done)
            done = begin + len(word)
            spans.append([at[begin], at[done]])
    return spans


def encoding_of(tokenizer, text, pair=None):
    given = [text] if pair is None else [text, pair]
    if not tokenizer.is_fast:
        ids = tokenizer(*given)["input_ids"]
        spans = [pieces_of_list(tokenizer, t) for t in given]
        offsets = [[0, 0]]
        for span in spans:
            offsets += span + [[0, 0]]
        types = [0] * len(ids)
    else:
        e = tokenizer(*given, return_offsets_mapping=True, return_token_type_ids=True)
        ids, types = e["input_ids"], e["token_type_ids"]
        ats = [byte_at(t) for t in given]
        offsets = [[0, 0] if s is None else [ats[s][x] for x in span]
                   for span, s in zip(e["offset_mapping"], e.sequence_ids())]
    return dict(ids=ids, type_ids=types, offsets=offsets, decoded=tokenizer.decode(ids, skip_special_tokens=True),
                kept=tokenizer.decode(ids))


def write_directory(folder, name, config, tokenizer):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as out:
        json.dump(dict(tokenizer_class=name, **config), out)
        out.write("\n")
    if tokenizer is None:
        with open(os.path.join(folder, "vocab.txt"), "w") as out:
            out.write("\n".join(AMINO))
        return
    if folder.endswith("-files"):
        model = json.loads(tokenizer.to_str())["model"]
        with open(os.path.join(folder, "vocab.json"), "w") as out:
            json.dump(model["vocab"], out, ensure_ascii=False, separators=(",", ":"))
        with open(os.path.join(folder, "merges.txt"), "w") as out:
            out.write("".join(line + "\n" for line in ["#version: 0.2", *map(" ".join, model["merges"])]))
        return
    with open(os.path.join(folder, "tokenizer.json"), "w") as out:
        json.dump(json.loads(tokenizer.to_str()), out, ensure_ascii=False, separators=(",", ":"))
        out.write("\n")


def main():
    for seed, (name, kind, config, tokenizer, special) in enumerate(directories()):
        folder = os.path.join(sys.argv[1] if len(sys.argv) > 1 else os.path.join(FOLDER, "rebuilt"), name)
        write_directory(folder, kind, config, tokenizer)
        reference = open_reference(folder, kind)
        cases = proteins(40, seed) if tokenizer is None else texts(30, seed, special)
        with open(os.path.join(folder, "cases.jsonl"), "w") as out:
            for given in [*((text,) for text in cases), cases[-2:]]:
                row = dict(text=given[0], **(dict(pair=given[1]) if len(given) > 1 else {}), **encoding_of(reference, *given))
                out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
