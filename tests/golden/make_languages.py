#!/usr/bin/env python3
"""Makes tokens/languages/: tokenizers of models that translate or sum up, as directories have them (a tokenizer.json, or
a model of sentencepiece), and what the classes of transformers say of texts. Each line of cases.jsonl is a list: text,
language of the source and of the target or null, ids of the text, ids of it as a target, and the text that the latter
stand for.

    python tests/golden/make_languages.py
"""
import io
import json
import os
import random
import shutil

import sentencepiece
from transformers import (M2M100Tokenizer, MBart50Tokenizer, MBartTokenizer, NllbTokenizer, PegasusTokenizer,
                          T5Tokenizer)
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

from make_translation import TEXTS

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "tokens", "languages")
STRANGE = ["", " ", "  two  blanks ", "▁", "a▁b", "é x", "😀😀 x 😀", "en_XX the", "__en__ the cat", "the eng_Latn cat",
           ">>fr<< the cat", "a</s>b <unk> <pad>c", "the <mask> sat", "<mask_1> x<mask_2>", "<extra_id_0> cat <extra_id_1>",
           "<unk_5>", "<s>", "a\tb\nc"]


def train(kind, size):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 3), model_writer=model, minloglevel=2, hard_vocab_limit=False, vocab_size=size,
        model_type=kind, normalization_rule_name="identity", unk_id=KINDS[kind][0], bos_id=KINDS[kind][1],
        eos_id=KINDS[kind][2], pad_id=KINDS[kind][3])
    return model.getvalue()


KINDS = {"unigram": (0, 1, 2, -1), "bpe": (0, 1, 2, -1)}


def google(size):
    """Padding, the end and the unknown piece come first, as in T5 and PEGASUS."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 3), model_writer=model, minloglevel=2, hard_vocab_limit=False, vocab_size=size,
        model_type="unigram", normalization_rule_name="identity", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    return model.getvalue()


def cases(folder, kind, languages):
    letters = random.Random(5)
    texts = TEXTS + STRANGE
    for _ in range(40):
        texts.append("".join(letters.choice([*"the catofbs ▁ é中国我是", "the ", "</s>", "<mask>"])
                             for _ in range(letters.randrange(18))))
    with open(os.path.join(folder, "cases.jsonl"), "w", encoding="utf-8") as file:
        for i, text in enumerate(texts):
            source, target = languages[i % len(languages)]
            named = {key: value for key, value in (("src_lang", source), ("tgt_lang", target)) if value}
            tokenizer = kind.from_pretrained(folder, **named)
            ids = tokenizer(text_target=text).input_ids
            # M2M100Tokenizer knows no language as special, unless files say so.
            told = ids[1:] if kind is M2M100Tokenizer else ids
            file.write(json.dumps([text, source, target, tokenizer(text).input_ids, ids,
                                   tokenizer.decode(told, skip_special_tokens=True)], ensure_ascii=False) + "\n")


def folder_of(name):
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def write(folder, files):
    for name, content in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode())


def of_model(name, kind, file, model, languages, config):
    """A directory with a model of sentencepiece alone, and one with what transformers saves of it."""
    folder = folder_of(name)
    config = dict(config, tokenizer_class=kind.__name__)
    write(folder, {file: model, "tokenizer_config.json": config})
    cases(folder, kind, languages)
    saved = folder_of(name + "-json")
    kind.from_pretrained(folder).save_pretrained(saved)
    if os.path.exists(os.path.join(saved, file)):
        os.remove(os.path.join(saved, file))
    cases(saved, kind, languages)


def main():
    unigram = train("unigram", 150)
    of_model("mbart", MBartTokenizer, "sentencepiece.bpe.model", unigram,
             [("en_XX", "ro_RO"), ("de_DE", "zh_CN")], {"src_lang": "en_XX", "tgt_lang": "ro_RO"})
    of_model("mbart50", MBart50Tokenizer, "sentencepiece.bpe.model", unigram,
             [("en_XX", "sl_SI"), ("de_DE", "zh_CN")], {"tgt_lang": "de_DE"})
    of_model("pegasus", PegasusTokenizer, "spiece.model", google(150), [(None, None)], {})
    of_model("t5", T5Tokenizer, "spiece.model", google(150), [(None, None)], {"extra_ids": 5})
    bpe = sentencepiece.SentencePieceProcessor(model_proto=train("bpe", 160))
    words = ["<s>", "<pad>", "</s>", "<unk>"]
    words += [bpe.id_to_piece(i) for i in range(3, bpe.get_piece_size()) if i % 11]
    for name, listed in (("m2m100", []), ("m2m100-listed", [f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES["m2m100"]])):
        folder = folder_of(name)
        config = {"tokenizer_class": "M2M100Tokenizer", "tgt_lang": "fr"}
        if listed:
            config["additional_special_tokens"] = listed
        write(folder, {"sentencepiece.bpe.model": bpe.serialized_model_proto(),
                       "vocab.json": {word: i for i, word in enumerate(words)}, "tokenizer_config.json": config})
        cases(folder, M2M100Tokenizer, [("en", "fr"), ("zh", "zu"), ("af", "de")])
    pieces = [bpe.id_to_piece(i) for i in range(3, bpe.get_piece_size())]
    vocabulary = {word: i for i, word in enumerate(["<s>", "<pad>", "</s>", "<unk>"] + pieces)}
    merges = [(word[:i], word[i:]) for word in pieces for i in range(1, len(word))
              if word[:i] in vocabulary and word[i:] in vocabulary]
    for name, legacy in (("nllb", False), ("nllb-legacy", True)):
        folder = folder_of(name)
        tokenizer = NllbTokenizer(vocab=vocabulary, merges=merges, legacy_behaviour=legacy,
                                  extra_special_tokens=["deu_Latn", "eng_Latn", "fra_Latn", "zho_Hans"])
        tokenizer.save_pretrained(folder)
        cases(folder, NllbTokenizer, [("eng_Latn", "fra_Latn"), ("deu_Latn", "zho_Hans")])


if __name__ == "__main__":
    main()
