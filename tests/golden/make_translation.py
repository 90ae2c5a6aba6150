#!/usr/bin/env python3
"""Makes tokens/translation/: the tokenizers of Marian directories, with models of sentencepiece of each type, and what
MarianTokenizer of transformers says of texts. Each line of cases.jsonl is a list: text, ids of the source, ids of the
target, and the text that the target's ids stand for, decoded by target.spm.

    pip install -r requirements.txt sentencepiece && python make_translation.py
"""

import io
import json
import os
import random
import shutil
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from transformers import MarianTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "tokens", "translation")
TEXTS = [
    "Paris is the capital of France, and London is the capital of England.",
    "The cat sat on the mat; it's not the best cat in the world!",
    "We sing the songs of the best singers, and they play the best games.",
    "A café in Köln (near the river) has the best coffee of the world.",
    "Das ist die beste Katze der Welt, und sie sitzt auf der Matte.",
    "我是中国人，我爱中国。", "他在北京的大学里学习中文。",
]
# Replacements, as nmt_nfkc has them: a ligature, wide letters, blanks, what vanishes, letters with marks.
RULES = {"ﬁ": "fi", "Ａ": "A", "Ｂ": "B", "\u00a0": " ", "\u3000": " ", "\t": " ", "\u200b": "", "e\u0301": "é",
         "½": "1/2", "\u0301": ""}
STRANGE = ["", " ", "  two  blanks ", "▁", "a▁b", "ﬁne ＡＢ½", "e\u0301\u0301x", "\u200bx\u00a0y\u3000", "😀😀 x 😀",
           ">>fr<< the cat", ">>fr<<the cat", ">>xx<<", " >>fr<< x", "a</s>b <unk> <pad>c", "</s>>>fr<< x", ">><<",
           "<x>the<x>y the<y>", "the the", "<0x41>", "<s>"]


def train(name, **options):
    model = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        for source, target in RULES.items():
            rules.write("{}\t{}\n".format(*(" ".join(f"{ord(c):x}" for c in text) for text in (source, target))))
        rules.flush()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS * 3), model_writer=model, minloglevel=2, hard_vocab_limit=False,
            normalization_rule_tsv=rules.name, **options)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto


def unused(proto):
    """Every third piece of several characters may not be used."""
    for piece in [p for p in proto.pieces if p.type == 1 and len(p.piece) > 1][::3]:
        piece.type = 5
    return proto


def even(proto):
    """Scores of which many sums are equal, or nearly."""
    for i, piece in enumerate(proto.pieces):
        if piece.type == 1:
            piece.score = -(i % 7 + 1) / 10
    return proto


def vocabulary(protos, leave_out):
    ids = {"</s>": 0, "<unk>": 1, "<pad>": 2, ">>fr<<": 3}  # equal in both, since transformers mixes them up
    for proto in protos:
        for i, piece in enumerate(proto.pieces):
            if leave_out == 0 or i % leave_out:
                ids.setdefault(piece.piece, len(ids))
    return ids


def make(name, source, target, separate=False, leave_out=0, **config):
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)

    def write(file, content):
        with open(os.path.join(folder, file), "wb") as f:
            f.write(content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode())

    write("source.spm", source.SerializeToString())
    write("target.spm", target.SerializeToString())
    write("vocab.json", vocabulary([source] if separate else [source, target], leave_out))
    if separate:
        write("target_vocab.json", vocabulary([target], leave_out))
    write("tokenizer_config.json", {"tokenizer_class": "MarianTokenizer", "separate_vocabs": separate, **config})
    tokenizer = MarianTokenizer.from_pretrained(folder)
    letters = random.Random(7)
    texts = TEXTS + STRANGE
    for _ in range(60):
        texts.append("".join(letters.choice([*"the catofbs ▁ <x>ﬁＡ½é中国我是\u0301\u200b\u3000", "the ", "<x>", "</s>"])
                             for _ in range(letters.randrange(20))))
    with open(os.path.join(folder, "cases.jsonl"), "w") as f:
        for text in texts:
            ids = tokenizer(text_target=text).input_ids
            decoded = tokenizer.decode(ids, use_source_tokenizer=False)
            f.write(json.dumps([text, tokenizer(text).input_ids, ids, decoded], ensure_ascii=False) + "\n")


def main():
    unigram = train("unigram", vocab_size=150, user_defined_symbols=["<x>", "the"])
    bpe = train("bpe", vocab_size=420, model_type="bpe", byte_fallback=True)
    make("unigram-bpe", unigram, bpe)
    make("separate", even(train("even", vocab_size=150)), unused(train("bpe", vocab_size=150, model_type="bpe")), True)
    make("characters-words", train("c", model_type="char", add_dummy_prefix=False),
         train("w", model_type="word", treat_whitespace_as_suffix=True), leave_out=5)
    make("blanks", train("s", vocab_size=120, treat_whitespace_as_suffix=True, remove_extra_whitespaces=False),
         unused(train("n", vocab_size=150, split_by_whitespace=False)), bos_token="<s>", mask_token="[MASK]",
         additional_special_tokens=["<y>"], clean_up_tokenization_spaces=True)


if __name__ == "__main__":
    main()
