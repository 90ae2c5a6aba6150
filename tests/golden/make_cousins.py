#!/usr/bin/env python3
"""Writes the cousins of marian: small random models of BART, mBART, PEGASUS, M2M100, T5, mT5 and UMT5, and what
transformers computes of them in fp64 (expected/NAME.safetensors), as make_seq2seq.py does; *-words with tokenizers of
tokens/languages, and what transformers writes for texts (expected/translations.tsv); bart-nli, a classifier; and st-t5, a
model of sentence-transformers. make_languages.py comes first.

    python tests/golden/make_cousins.py
"""
import json
import os
import shutil

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import ByteLevelBPETokenizer
from transformers import (AutoModelForSeq2SeqLM, AutoTokenizer, BartConfig, BartForConditionalGeneration,
                          BartForSequenceClassification, M2M100Config, M2M100ForConditionalGeneration, MBartConfig,
                          MBartForConditionalGeneration, MT5Config, MT5ForConditionalGeneration, PegasusConfig,
                          PegasusForConditionalGeneration, T5Config, T5EncoderModel, T5ForConditionalGeneration,
                          UMT5Config, UMT5ForConditionalGeneration, pipeline)

from make_languages import TEXTS
from make_seq2seq import HERE, save, shake

WORDS = 31
HALVES = {"vocab_size": WORDS, "d_model": 16, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 2,
          "decoder_attention_heads": 4, "encoder_ffn_dim": 18, "decoder_ffn_dim": 12, "max_position_embeddings": 40,
          "init_std": 0.4}
STACKS = {"vocab_size": WORDS, "d_model": 16, "d_kv": 6, "d_ff": 20, "num_layers": 2, "num_decoder_layers": 2,
          "num_heads": 3, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12,
          "initializer_factor": 1.2}


def model(kind, config, end, bias=3.0, **generation):
    made = kind(config)
    shake(made, 0.15)
    with torch.no_grad():
        if hasattr(made, "final_logits_bias"):
            made.final_logits_bias.copy_(torch.randn_like(made.final_logits_bias) * 0.2)
            made.final_logits_bias[0, end] += bias
    for key, value in generation.items():
        setattr(made.generation_config, key, value)
    return made


def cousins():
    yield "bart", model(BartForConditionalGeneration, BartConfig(**HALVES, activation_function="gelu"), 2,
                        forced_bos_token_id=0, no_repeat_ngram_size=3, length_penalty=2.0, min_length=4, num_beams=4,
                        early_stopping=True), 2
    yield "mbart", model(MBartForConditionalGeneration,
                         MBartConfig(**HALVES, scale_embedding=True, activation_function="relu",
                                     decoder_start_token_id=29), 2, forced_bos_token_id=None), 2
    yield "pegasus", model(PegasusForConditionalGeneration,
                           PegasusConfig(**HALVES, scale_embedding=True, activation_function="relu"), 1,
                           length_penalty=0.8, num_beams=2, suppress_tokens=[7]), 1
    yield "m2m100", model(M2M100ForConditionalGeneration, M2M100Config(**HALVES), 2, forced_bos_token_id=28,
                          bad_words_ids=[[5, 6], [9]]), 2
    yield "t5", model(T5ForConditionalGeneration,
                      T5Config(**STACKS, decoder_start_token_id=0, feed_forward_proj="relu"), 1), 1
    yield "t5-gated", model(T5ForConditionalGeneration,
                            T5Config(**STACKS, decoder_start_token_id=0, feed_forward_proj="gated-gelu",
                                     tie_word_embeddings=False), 1), 1
    yield "mt5", model(MT5ForConditionalGeneration, MT5Config(**STACKS), 1), 1
    yield "umt5", model(UMT5ForConditionalGeneration, UMT5Config(**STACKS, feed_forward_proj="gated-silu"), 1), 1


def bytes_tokenizer(folder):
    """vocab.json and merges.txt of RoBERTa's kind."""
    trainer = ByteLevelBPETokenizer()
    trainer.train_from_iterator(TEXTS * 3, vocab_size=290, min_frequency=2, show_progress=False,
                                special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    trainer.save_model(folder)
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        json.dump({"tokenizer_class": "BartTokenizer", "model_max_length": 48}, file)
    return trainer.get_vocab_size()


def pieces(folder, name):
    """The tokenizer files of tokens/languages/NAME; the number of their tokens."""
    for file in os.listdir(os.path.join(HERE, "tokens", "languages", name)):
        if file != "cases.jsonl":
            shutil.copy(os.path.join(HERE, "tokens", "languages", name, file), folder)
    return len(AutoTokenizer.from_pretrained(folder))


def folder_of(name):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def written(rows, name, languages=((None, None),), **options):
    """What transformers writes for texts, in fp64."""
    folder = os.path.join(HERE, name)
    made = AutoModelForSeq2SeqLM.from_pretrained(folder).double().eval()
    for i, text in enumerate(TEXTS[:6]):
        source, target = languages[i % len(languages)]
        named = {key: value for key, value in (("src_lang", source), ("tgt_lang", target)) if value}
        tokenizer = AutoTokenizer.from_pretrained(folder, **named)
        inputs = tokenizer([text], return_tensors="pt", truncation=True)
        if target and name.startswith("mbart-"):
            options["decoder_start_token_id"] = tokenizer.convert_tokens_to_ids(target)
        elif target:
            code = f"__{target}__" if name.startswith("m2m") else target
            options["forced_bos_token_id"] = tokenizer.convert_tokens_to_ids(code)
        found = made.generate(inputs.input_ids, attention_mask=inputs.attention_mask, max_new_tokens=12, **options)
        special = set(tokenizer.all_special_ids)
        if target:
            special.add(tokenizer.convert_tokens_to_ids(code if not name.startswith("mbart-") else target))
        line = tokenizer.decode([t for t in found[0].tolist() if t not in special])
        rows.append([name, text, f"{source}:{target}" if target else "-", " ".join(line.split("\n"))])


def with_tokenizers():
    rows = []
    torch.manual_seed(31)
    halves = dict(HALVES, d_model=12, encoder_ffn_dim=16, init_std=0.6, max_position_embeddings=64)
    folder = folder_of("bart-words")
    sizes = dict(halves, vocab_size=bytes_tokenizer(folder))
    model(BartForConditionalGeneration, BartConfig(**sizes), 2, 1.0, forced_bos_token_id=0, no_repeat_ngram_size=2,
          length_penalty=2.0, min_length=6, num_beams=4, early_stopping=True).save_pretrained(folder)
    written(rows, "bart-words")
    folder = folder_of("m2m100-words")
    sizes = dict(halves, vocab_size=pieces(folder, "m2m100-listed"))
    model(M2M100ForConditionalGeneration, M2M100Config(**sizes), 2, num_beams=3).save_pretrained(folder)
    written(rows, "m2m100-words", [("en", "fr"), ("zh", "de"), ("af", "zu")])
    folder = folder_of("mbart-words")
    sizes = dict(halves, vocab_size=pieces(folder, "mbart-json"))
    model(MBartForConditionalGeneration, MBartConfig(**sizes, decoder_start_token_id=114), 2, 1.0).save_pretrained(folder)
    written(rows, "mbart-words", [("en_XX", "ro_RO"), ("de_DE", "zh_CN")])
    folder = folder_of("t5-words")
    stacks = dict(STACKS, d_model=12, initializer_factor=2.5, vocab_size=pieces(folder, "t5"))
    model(T5ForConditionalGeneration, T5Config(**stacks, decoder_start_token_id=0), 1).save_pretrained(folder)
    written(rows, "t5-words", num_beams=2)
    with open(os.path.join(HERE, "expected", "translations.tsv"), "w", encoding="utf-8") as file:
        for row in rows:
            file.write("\t".join(row) + "\n")


def encoders():
    """The mean over the tokens of a text of the states of each encoder alone, in fp64."""
    with open(os.path.join(HERE, "expected", "encoders.tsv"), "w", encoding="utf-8") as file:
        for name in ("marian", "bart-words", "m2m100-words", "mbart-words", "t5-words"):
            folder = os.path.join(HERE, name)
            tokenizer = AutoTokenizer.from_pretrained(folder)
            encoder = AutoModelForSeq2SeqLM.from_pretrained(folder).double().eval().get_encoder()
            for text in ["the cat", "ich liebe china"] if name == "marian" else TEXTS[:4]:
                with torch.no_grad():
                    vector = encoder(**tokenizer([text], return_tensors="pt")).last_hidden_state[0].mean(0).tolist()
                file.write("\t".join([name, text] + [f"{x:.9g}" for x in vector]) + "\n")


def zero_shot():
    """A classifier of natural language inference, and what the pipeline says of texts."""
    torch.manual_seed(41)
    folder = folder_of("bart-nli")
    config = BartConfig(**dict(HALVES, d_model=12, vocab_size=bytes_tokenizer(folder), max_position_embeddings=64), num_labels=3,
                        id2label={0: "contradiction", 1: "neutral", 2: "entailment"},
                        label2id={"contradiction": 0, "neutral": 1, "entailment": 2})
    made = BartForSequenceClassification(config)
    shake(made, 0.3)
    made.save_pretrained(folder)
    made = BartForSequenceClassification.from_pretrained(folder).double().eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    labels = ["a city", "music", "an animal"]
    with open(os.path.join(HERE, "expected", "bart-nli.tsv"), "w", encoding="utf-8") as file:
        for several in (False, True):
            ask = pipeline("zero-shot-classification", model=made, tokenizer=tokenizer)
            for text in TEXTS[:5]:
                found = ask(text, candidate_labels=labels, multi_label=several)
                scores = dict(zip(found["labels"], found["scores"]))
                file.write("\t".join([f"{scores[label]:.9g}" for label in labels] + [text]) + "\n")
        ask = pipeline("text-classification", model=made, tokenizer=tokenizer, top_k=None)
        for text in TEXTS[:5]:
            scores = {one["label"]: one["score"] for one in ask([text])[0]}
            file.write("\t".join([f"{scores[config.id2label[i]]:.9g}" for i in range(3)] + [text]) + "\n")


def sentence_t5():
    torch.manual_seed(51)
    folder = folder_of("st-t5")
    words = folder_of("st-t5-trunk")
    stacks = dict(STACKS, d_model=12, initializer_factor=2.0, vocab_size=pieces(words, "t5-json"))
    trunk = T5EncoderModel(T5Config(**stacks, feed_forward_proj="gated-gelu"))
    shake(trunk, 0.2)
    trunk.save_pretrained(words)
    dense = Dense(12, 8, bias=False, activation_function=torch.nn.Identity())
    made = SentenceTransformer(modules=[Transformer(words), Pooling(12, pooling_mode="mean"), dense, Normalize()],
                               device="cpu")
    made.save(folder, create_model_card=False)
    for file in os.listdir(words):
        shutil.copy(os.path.join(words, file), folder)
    shutil.rmtree(words)
    made = SentenceTransformer(folder, device="cpu").double()
    with open(os.path.join(HERE, "expected", "st-t5.tsv"), "w", encoding="utf-8") as file:
        for text in TEXTS:
            vector = made.encode([text], convert_to_tensor=True)[0].tolist()
            file.write("\t".join(f"{x:.9g}" for x in vector) + "\t" + text + "\n")


def main():
    draw = torch.Generator().manual_seed(11)
    torch.manual_seed(21)
    for name, made, end in cousins():
        shutil.rmtree(os.path.join(HERE, name), ignore_errors=True)
        os.makedirs(os.path.join(HERE, name))
        sources = [torch.randint(3, WORDS - 3, (n,), generator=draw).tolist() + [end] for n in (1, 3, 17, 5)]
        save(name, made, sources)
    with_tokenizers()
    encoders()
    zero_shot()
    sentence_t5()


if __name__ == "__main__":
    main()
