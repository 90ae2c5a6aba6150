#!/usr/bin/env python3
"""Makes the model directories of the encoders with halves of large language models, as make_golden.py does for BERT's.

    pip install -r requirements.txt transformers==5.24.0 && python make_modern.py [FAMILY ...]
"""

import json
import shutil

import torch
import transformers as t
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers.models.eurobert.modeling_eurobert import EuroBertRMSNorm
from transformers.models.gemma3.modeling_gemma3 import Gemma3RMSNorm
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

import make_golden as golden
from make_families import LONG, MORE, SHORT, make_named, small
from make_golden import EXPECTED, HERE, PIECES, SENTENCES, labels, make


def normed(norm, eps, offset):
    """The reference rounds to floats here, whatever the type of the model is."""
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + getattr(self, eps)) * (offset + self.weight)
    norm.forward = forward


normed(EuroBertRMSNorm, "variance_epsilon", 0)
normed(Qwen3RMSNorm, "variance_epsilon", 0)
normed(Gemma3RMSNorm, "eps", 1)


def around_zero(randomize):
    """Gemma's norms multiply by 1 + weight."""
    def randomize_all(model, std, seed):
        randomize(model, std, seed)
        with torch.no_grad():
            for module in model.modules():
                if isinstance(module, Gemma3RMSNorm):
                    module.weight -= 1
    return randomize_all


golden.randomize = around_zero(golden.randomize)


def make_eurobert():
    """Heads of keys and values that are shared, and each head of the family with each way to read a text."""
    size = dict(max_position_embeddings=130, num_attention_heads=6, num_key_value_heads=2, pad_token_id=0)
    make("eurobert", t.EuroBertForMaskedLM, small(t.EuroBertConfig, **size), std=0.3, lengths=(1, 9, 30, 120),
         layers=3, attention=True)
    make("eurobert-biased", t.EuroBertForMaskedLM, small(t.EuroBertConfig, **{**size, "num_key_value_heads": 3},
         attention_bias=True, mlp_bias=True, hidden_act="gelu", tie_word_embeddings=True), std=0.3, lengths=LONG,
         dtype=torch.bfloat16)
    for pooling in ("late", "mean", "bos"):
        make("eurobert-" + pooling, t.EuroBertForSequenceClassification, small(t.EuroBertConfig, **size,
             classifier_pooling=pooling, **labels("a", "b", "c")), std=0.1, lengths=LONG)
    make("eurobert-ner", t.EuroBertForTokenClassification, small(t.EuroBertConfig, **size, **labels("O", "B-X")),
         std=0.3, lengths=SHORT)


def make_qwen3():
    """Heads wider than the hidden size by their number; a token sees none behind it."""
    size = dict(max_position_embeddings=130, num_attention_heads=4, num_key_value_heads=2, head_dim=10, pad_token_id=0,
                use_cache=False)
    make("qwen3", t.Qwen3Model, small(t.Qwen3Config, **size), std=0.3, lengths=(1, 9, 30, 120), layers=3,
         attention=True)
    make("qwen3-classifier", t.Qwen3ForSequenceClassification, small(t.Qwen3Config, **size, attention_bias=True,
         **labels("a", "b", "c")), std=0.1, lengths=LONG, dtype=torch.bfloat16)


def make_gemma3():
    """Norms around, a scale of its own, near tokens in most layers; in both directions and in one."""
    size = dict(max_position_embeddings=130, num_attention_heads=6, num_key_value_heads=2, head_dim=16, sliding_window=9,
                query_pre_attn_scalar=24, pad_token_id=0, use_cache=False)
    for name, both in (("gemma3", True), ("gemma3-causal", False)):
        make(name, t.Gemma3TextModel, small(t.Gemma3TextConfig, **size, num_hidden_layers=3,
             layer_types=["sliding_attention", "full_attention", "sliding_attention"], use_bidirectional_attention=both),
             std=0.3, lengths=(1, 9, 30, 120), layers=3, attention=True)
    make("gemma3-classifier", t.Gemma3TextForSequenceClassification, small(t.Gemma3TextConfig, **size,
         use_bidirectional_attention=True, **labels("a", "b", "c")), std=0.1, lengths=LONG + MORE)


QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def qwen_tokenizer():
    """Bytes and Qwen's pattern; one token behind a text, none before it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN), "isolated"),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(SENTENCES + PIECES, trainers.BpeTrainer(
        vocab_size=320, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_end|>"])
    end = tokenizer.token_to_id("<|endoftext|>")
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="$A <|endoftext|>", pair="$A $B <|endoftext|>", special_tokens=[("<|endoftext|>", end)])])
    return tokenizer, {"tokenizer_class": "Qwen2Tokenizer", "pad_token": "<|endoftext|>", "eos_token": "<|im_end|>",
                       "model_max_length": 64}


def gemma_tokenizer():
    """Pieces with bytes behind them, <bos> and <eos> around a text."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.train_from_iterator(" ".join(SENTENCES + PIECES).replace(" ", " \u2581").split(), trainers.BpeTrainer(
        vocab_size=400, special_tokens=special + [f"<0x{i:02X}>" for i in range(256)], show_progress=False))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos>:0 $A:0 <eos>:0", pair="<bos>:0 $A:0 <eos>:0 <bos>:1 $B:1 <eos>:1",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<bos>", "<eos>")])
    return tokenizer, {"tokenizer_class": "GemmaTokenizer", "model_max_length": 64, "bos_token": "<bos>",
                       "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}


def make_sentence(name, model_class, config, tokenizer, files, modules, prompt):
    """A directory as sentence-transformers writes it, and the fp64 vectors without and with the prompt `query`."""
    base, directory = HERE / "st-base.tmp", HERE / f"st-{name}"
    for folder in (base, directory):
        shutil.rmtree(folder, ignore_errors=True)
    model = model_class(config)
    golden.randomize(model, 0.3, 7)
    model.save_pretrained(base)
    tokenizer.save(str(base / "tokenizer.json"))
    (base / "tokenizer_config.json").write_text(json.dumps(files) + "\n")
    st = SentenceTransformer(modules=[Transformer(str(base)), *modules, Normalize()], prompts={"query": prompt},
                             device="cpu")
    st.save(str(directory), create_model_card=False)
    for file in base.iterdir():
        shutil.copy(file, directory / file.name)
    vectors = golden.embed(directory) + golden.embed(directory, prompt=prompt)
    lines = ["\t".join(f"{x:.17g}" for x in vector) for vector in vectors]
    (EXPECTED / f"st-{name}.tsv").write_text("\n".join(lines) + "\n")
    shutil.rmtree(base)


def make_sentences():
    """Qwen3-Embedding and EmbeddingGemma, small."""
    size = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                intermediate_size=24, max_position_embeddings=64, use_cache=False)
    tokenizer, files = qwen_tokenizer()
    make_sentence("qwen3", t.Qwen3Model, t.Qwen3Config(**size, vocab_size=tokenizer.get_vocab_size()), tokenizer, files,
                  [Pooling(16, pooling_mode="lasttoken")], "Instruct: find what answers\nQuery:")
    tokenizer, files = gemma_tokenizer()
    layers = [Dense(16, 40, bias=False, activation_function=torch.nn.Identity()),
              Dense(40, 16, bias=False, activation_function=torch.nn.Identity())]
    for seed, layer in enumerate(layers):
        golden.randomize(layer, 0.3, 8 + seed)
    config = t.Gemma3TextConfig(**size, vocab_size=tokenizer.get_vocab_size(), sliding_window=6,
                                query_pre_attn_scalar=8, use_bidirectional_attention=True, pad_token_id=0)
    make_sentence("gemma3", t.Gemma3TextModel, config, tokenizer, files, [Pooling(16, pooling_mode="mean"), *layers],
                  "task: search result | query: ")


if __name__ == "__main__":
    make_named(globals())
