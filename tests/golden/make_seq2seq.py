#!/usr/bin/env python3
"""Writes marian-* and bert2bert-*: small random models that translate, and what transformers computes of
them in fp64 (expected/NAME.safetensors): see README.md.

    python tests/golden/make_seq2seq.py
"""
import json
import os
import shutil

import sentencepiece
import torch
from safetensors.torch import save_file
from transformers import (BertConfig, EncoderDecoderConfig, EncoderDecoderModel, GenerationConfig, MarianConfig,
                          MarianMTModel, RobertaConfig)

HERE = os.path.dirname(os.path.abspath(__file__))
PAIRS = [("ich liebe china", "i love china"), ("der hund schläft", "the dog sleeps"),
         ("die katze sitzt auf der matte", "the cat sits on the mat"), ("wir lieben den hund", "we love the dog"),
         ("das ist gut", "this is good"), ("ich sitze auf der matte", "i sit on the mat")]


def write_pieces(directory):
    """source.spm, target.spm and vocab.json of the two columns, as opus-mt has them."""
    pieces = []
    for column, name in enumerate(("source", "target")):
        path = os.path.join(directory, name)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([pair[column] for pair in PAIRS] * 4), model_prefix=path, vocab_size=40,
            hard_vocab_limit=False, bos_id=-1, eos_id=0, unk_id=1, normalization_rule_name="identity", minloglevel=2)
        os.rename(path + ".model", path + ".spm")
        with open(path + ".vocab", encoding="utf-8") as file:
            pieces += [line.split("\t")[0] for line in file]
        os.remove(path + ".vocab")
    words = ["</s>", "<unk>"] + sorted(set(pieces) - {"</s>", "<unk>", "<s>"}) + ["<pad>"]
    with open(os.path.join(directory, "vocab.json"), "w", encoding="utf-8") as file:
        json.dump({word: i for i, word in enumerate(words)}, file, ensure_ascii=False)
    with open(os.path.join(directory, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        json.dump({"source_lang": "de", "target_lang": "en", "model_max_length": 40,
                   "tokenizer_class": "MarianTokenizer"}, file)
    return len(words)


def shake(model, spread):
    """Biases and norms that are not all alike."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * spread)


def marian(directory, words, **options):
    sizes = {"vocab_size": words, "d_model": 24, "encoder_layers": 2, "decoder_layers": 2,
             "encoder_attention_heads": 2, "decoder_attention_heads": 3, "encoder_ffn_dim": 30, "decoder_ffn_dim": 20,
             "activation_function": "swish", "scale_embedding": True, "max_position_embeddings": 48, "init_std": 0.3,
             "pad_token_id": words - 1, "decoder_start_token_id": words - 1, "eos_token_id": 0,
             "forced_eos_token_id": 0}
    sizes.update(options)
    model = MarianMTModel(MarianConfig(**sizes))
    shake(model, 0.1)
    with torch.no_grad():
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias) * 0.2)
        model.final_logits_bias[0, 0] += 3
    model.generation_config.bad_words_ids = [[words - 1]]
    return model


def bert2bert(encoder, decoder, **options):
    config = EncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    model = EncoderDecoderModel(config)
    shake(model, 0.2)
    with torch.no_grad():
        model.decoder.get_output_embeddings().bias[3] += 3
    model.config.pad_token_id, model.config.decoder_start_token_id, model.config.eos_token_id = 0, 2, 3
    model.generation_config = GenerationConfig(pad_token_id=0, decoder_start_token_id=2, eos_token_id=3, **options)
    return model


def expect(name, model, sources):
    """Logits and attention of a forced target, greedy targets and those of four beams, in fp64."""
    model = model.double().eval()
    model.set_attn_implementation("eager")
    found = {"input_ids": [], "cu_seq_lens": [0], "target_ids": [], "cu_target_lens": [0], "logits": [], "attention": [],
             "greedy": [], "cu_greedy": [0], "beams": [], "cu_beams": [0], "scores": []}
    ends = model.generation_config.eos_token_id

    def add(key, ids):
        ids = ids[:ids.index(ends) + 1] if ends in ids else ids
        found[key] += ids
        found["cu_" + key].append(len(found[key]))
    for source in sources:
        ids, mask = torch.tensor([source]), torch.ones(1, len(source), dtype=torch.long)
        found["input_ids"] += source
        found["cu_seq_lens"].append(len(found["input_ids"]))
        with torch.no_grad():
            greedy = model.generate(ids, attention_mask=mask, num_beams=1, max_new_tokens=14)
            beams = model.generate(ids, attention_mask=mask, num_beams=4, num_return_sequences=4, max_new_tokens=14,
                                   return_dict_in_generate=True, output_scores=True)
            target = greedy[:, :-1]
            forced = model(input_ids=ids, attention_mask=mask, decoder_input_ids=target, output_attentions=True,
                           use_cache=False)
        add("greedy", greedy[0, 1:].tolist())
        for row in beams.sequences:
            add("beams", row[1:].tolist())
        found["scores"] += beams.sequences_scores.tolist()
        found["target_ids"] += target[0].tolist()
        found["cu_target_lens"].append(len(found["target_ids"]))
        found["logits"] += forced.logits[0].tolist()
        found["attention"] += forced.cross_attentions[-1].flatten().tolist()
    save_file({key: torch.tensor(value, dtype=torch.float64 if isinstance(value[0], (float, list)) else torch.int32)
               for key, value in found.items()}, os.path.join(HERE, "expected", name + ".safetensors"))


def save(name, model, sources):
    directory = os.path.join(HERE, name)
    model.save_pretrained(directory)
    expect(name, type(model).from_pretrained(directory), sources)


def main():
    draw = torch.Generator().manual_seed(7)

    def sources(vocabulary):
        return [torch.randint(4, vocabulary - 1, (n,), generator=draw).tolist() + [0 if n % 2 else 3] for n in (1, 3, 8, 5)]
    for name in ("marian", "marian-own", "bert2bert", "bert2roberta"):
        shutil.rmtree(os.path.join(HERE, name), ignore_errors=True)
        os.makedirs(os.path.join(HERE, name))
    torch.manual_seed(1)
    words = write_pieces(os.path.join(HERE, "marian"))
    save("marian", marian("marian", words), sources(words))
    torch.manual_seed(2)
    save("marian-own",
         marian("marian-own", 31, share_encoder_decoder_embeddings=False, decoder_vocab_size=37, pad_token_id=30,
                decoder_start_token_id=30, tie_word_embeddings=False, activation_function="relu", scale_embedding=False,
                forced_eos_token_id=None), sources(31))
    bert = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 18,
            "max_position_embeddings": 40, "initializer_range": 0.3}
    cross = {"is_decoder": True, "add_cross_attention": True}
    torch.manual_seed(3)
    for name in ("vocab.txt", "tokenizer_config.json"):
        shutil.copy(os.path.join(HERE, "tiny-classifier", name), os.path.join(HERE, "bert2bert", name))
    with open(os.path.join(HERE, "bert2bert", "vocab.txt"), encoding="utf-8") as file:
        words = len(file.readlines())
    save("bert2bert", bert2bert(BertConfig(vocab_size=words, **bert),
                                BertConfig(vocab_size=words, **bert, **cross), num_beams=2), sources(words))
    torch.manual_seed(4)
    wide = dict(bert, hidden_size=24, num_attention_heads=3)
    save("bert2roberta", bert2bert(BertConfig(vocab_size=29, **bert),
                                   RobertaConfig(vocab_size=33, pad_token_id=1, **wide, **cross), repetition_penalty=1.3),
         sources(29))


if __name__ == "__main__":
    main()
