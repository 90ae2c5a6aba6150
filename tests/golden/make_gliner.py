#!/usr/bin/env python3
"""Makes gliner-*: small random models that find entities of any names, by the classes of the package gliner, and
expected/gliner.tsv: what the package finds with them in fp64. Each line: model, kind of choice, text,
begin and end in bytes, name, score.

    pip install -r requirements.txt && pip install --no-deps gliner==0.2.29 && python make_gliner.py
"""

import collections
import contextlib
import json
import os
import shutil
import warnings
from pathlib import Path

import tokenizers as tk
import torch
import transformers as t
from gliner import GLiNER, GLiNERConfig
from gliner.model import UniEncoderSpanGLiNER, UniEncoderTokenGLiNER
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

import make_golden as golden
from make_golden import HERE

TEXTS = [
    "Paris is the capital of France, and London is the capital of England.",
    "The drug ibuprofen was given to Mr. O'Neil-Smith at the court of Köln in 2021.",
    "We sing the songs of the best singers_of_the world (near the river).",
    "A café in Tokyo: the e-mail of John   Smith is js@x.org, he said — 巴黎 is far.",
    "x",
]
NAMES = ["person", "city", "a drug or medicine"]
THRESHOLD = 0.4
# Kinds of choice, as ner and the package call them.
CHOICES = {"flat": {}, "nested": {"flat_ner": False}, "multi": {"multi_label": True},
           "both": {"flat_ner": False, "multi_label": True}}


def pieces(texts, size, begin, within):
    """Characters, and the most frequent words, beginnings and ends of words: a vocabulary that is the same each time."""
    counts = collections.Counter()
    single = set()
    for text in texts:
        for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text):
            single |= {begin + word[0], *(within + c for c in word[1:])}
            counts.update({begin + word, *(begin + word[:n] for n in (2, 3, 4)), *(within + word[n:] for n in (2, 3, 4))})
    frequent = sorted((piece for piece in counts if len(piece) > len(within)), key=lambda p: (-counts[p], p))
    return list(dict.fromkeys(sorted(single) + frequent))[:max(size, len(single))]


def wordpiece(texts, size):
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocab = {piece: i for i, piece in enumerate(specials + pieces(texts, size, "", "##"))}
    return t.BertTokenizer(vocab=vocab, do_lower_case=False, model_max_length=512)


def unigram(texts, size):
    specials = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    vocab = [(piece, 0.0) for piece in specials]
    vocab += [(piece, -3.0 - i / 10) for i, piece in enumerate(reversed(pieces(texts, size, "▁", "") + ["▁"]))]
    return t.DebertaV2Tokenizer(vocab=vocab, unk_id=3)


def byte_level(texts, size):
    tokenizer = tk.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    specials = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, special_tokens=specials,
                                                             initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                                             show_progress=False))
    ids = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]",
                                                             special_tokens=ids)
    names = dict(unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", mask_token="[MASK]")
    return t.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=8192, **names)


def encoder_config(family, tokenizer, hidden, layers):
    sizes = dict(vocab_size=len(tokenizer), hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=2,
                 intermediate_size=hidden * 3 // 2)
    if family == "bert":
        return t.BertConfig(max_position_embeddings=512, **sizes)
    if family == "modernbert":
        return t.ModernBertConfig(max_position_embeddings=8192, pad_token_id=3, cls_token_id=1, sep_token_id=2,
                                  bos_token_id=1, eos_token_id=2, **sizes)
    return t.DebertaV2Config(max_position_embeddings=512, relative_attention=True, position_buckets=32,
                             norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"],
                             position_biased_input=False, max_relative_positions=-1, type_vocab_size=0,
                             layer_norm_eps=1e-7, pad_token_id=0, **sizes)


@contextlib.contextmanager
def seeded(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        yield


def calibrate(model, spread=2.0, shift=-1.0):
    """Scales and shifts the last layers so that the logits of TEXTS vary around `shift`, since a score of 1 tells
    nothing."""
    model.eval()
    prepared = model.prepare_batch(TEXTS, NAMES)
    batch = model.collate_batch(prepared["input_x"], prepared["entity_types"])
    core = model.model
    with torch.no_grad():
        if model.config.span_mode == "token_level":
            last = core.scorer.out_mlp[3]
            factor = spread / model.run_batch(batch).logits.std()
            last.weight *= factor
            last.bias *= factor
            last.bias += shift + 1.8 - model.run_batch(batch).logits.mean((0, 1, 2))
            return
        last = core.prompt_rep_layer[3]
        factor = spread / model.run_batch(batch).logits.std()
        last.weight *= factor
        last.bias *= factor
        output = model.run_batch(batch)
        names = output.prompts_embedding.mean(0)  # [C, G]
        missing = shift - output.logits.mean((0, 1, 2))
        core.span_rep_layer.span_rep_layer.out_project[3].bias += torch.linalg.pinv(names) @ missing


def make(directory, family, tokenizer, *, hidden=16, layers=1, seed=1, std=0.3, safe=True, borrowed="", **config):
    """A directory as the package writes it. `borrowed`: the encoder's own directory, which then has the config and
    the tokenizer, as in old repositories."""
    encoder = encoder_config(family, tokenizer, hidden, layers)
    with seeded(seed):
        if borrowed:
            tokenizer.save_pretrained(borrowed)
            encoder.save_pretrained(borrowed)
        settings = GLiNERConfig(model_name=str(borrowed) or "none", encoder_config=encoder.to_dict(), **config)
        cls = UniEncoderTokenGLiNER if settings.span_mode == "token_level" else UniEncoderSpanGLiNER
        model = cls(settings, tokenizer=tokenizer, backbone_from_pretrained=False)
        cls._resize_token_embeddings(model, settings, tokenizer)
        golden.randomize(model.model, std, seed)
        calibrate(model)
        shutil.rmtree(directory, ignore_errors=True)
        model.save_pretrained(directory, safe_serialization=safe)
    path = os.path.join(directory, "gliner_config.json")
    with open(path) as file:
        written = json.load(file)
    if borrowed:
        for name in os.listdir(directory):
            if "token" in name or name.endswith((".model", "vocab.txt")):
                os.remove(os.path.join(directory, name))
        written.update(encoder_config=None, vocab_size=-1, class_token_index=-1)
    written["encoder_config"] = written["encoder_config"] and {
        k: v for k, v in written["encoder_config"].items() if v is not None}
    golden.write_json(Path(path), written)
    return directory


def open_reference(directory):
    with seeded(0):
        model = GLiNER.from_pretrained(str(directory), local_files_only=True)
    model.model.double()
    return model


def find(model, text, names, choice, threshold):
    """Entities: begin and end in bytes, name, score."""
    with seeded(0):
        found = model.inference([text], names, threshold=threshold, batch_size=1, **CHOICES[choice])[0]
    return [(len(text[: e["start"]].encode()), len(text[: e["end"]].encode()), e["label"], e["score"]) for e in found]


MODELS = {
    "gliner-bert": dict(family="bert", make_tokenizer=wordpiece, size=120, hidden_size=10, max_width=4, max_len=40),
    "gliner-deberta": dict(family="deberta", make_tokenizer=unigram, size=160, hidden_size=16, max_width=3,
                           num_rnn_layers=0, safe=False, borrowed="gliner-deberta-encoder"),
    "gliner-modernbert": dict(family="modernbert", make_tokenizer=byte_level, size=300, hidden_size=16,
                              span_mode="token_level", subtoken_pooling="mean", embed_ent_token=False),
}


def main():
    os.chdir(HERE)
    lines = []
    for seed, (name, settings) in enumerate(MODELS.items(), 3):
        settings = dict(settings)
        tokenizer = settings.pop("make_tokenizer")(TEXTS, settings.pop("size"))
        make(name, tokenizer=tokenizer, seed=seed, **settings)
        reference = open_reference(name)
        if settings.get("borrowed"):  # by the name of a model of the hub
            path = Path(name) / "gliner_config.json"
            path.write_text(path.read_text().replace(settings["borrowed"], "gliner/deberta"))
        for choice in CHOICES:
            for i, text in enumerate(TEXTS, 1):
                for begin, end, label, score in find(reference, text, NAMES, choice, THRESHOLD):
                    lines.append((name, choice, i, begin, end, label, repr(float(score))))
    with open("expected/gliner.tsv", "w") as file:
        file.writelines("\t".join(map(str, line)) + "\n" for line in lines)
    with open("expected/gliner.txt", "w") as file:
        file.writelines(text + "\n" for text in TEXTS)
    print(len(lines), "entities")


if __name__ == "__main__":
    main()
