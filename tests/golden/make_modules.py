#!/usr/bin/env python3
"""Makes modules-*, directories of sentence-transformers 6 made of modules, and what the reference computes of texts.

    pip install -r requirements.txt && python make_modules.py

expected/modules.tsv: model, what is computed, one or two texts, numbers: score (CrossEncoder's, of a pair, then the same
without an activation), vector (SentenceTransformer's), weights (SparseEncoder's, all V of them); query and document are
those of encode_query and encode_document. All in fp64.
"""

import json
import shutil

import torch
from sentence_transformers import CrossEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Dense, Normalize, Router, Transformer
from sentence_transformers.cross_encoder.modules import LogitScore
from sentence_transformers.sentence_transformer.modules import CNN, LayerNorm, Pooling, WeightedLayerPooling
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling
from torch import nn
from transformers import BertConfig, BertForMaskedLM, BertModel, BertTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from make_modern import qwen_tokenizer
from make_golden import HERE, PIECES, SENTENCES, randomize, write_json, write_tokenizer

PAIRS = [("who sat?", "the cat sat on the mat."), ("what is the capital of France?", "Paris is the capital of France."),
         ("a dog", ""), ("the cat ran", "the movie was great, the book was not so good; the music was bad!")]
ROWS = []
SIZE = dict(vocab_size=len(PIECES), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
            max_position_embeddings=64)


def source(seed, kind=BertModel, **config):
    """A random model with its tokenizer, in a folder that is thrown away."""
    folder = HERE / f"modules-{seed}.tmp"
    shutil.rmtree(folder, ignore_errors=True)
    model = kind(BertConfig(**SIZE, **config))
    randomize(model, 0.3, seed)
    model.save_pretrained(folder)
    write_tokenizer(folder, len(PIECES), max_length=48)
    return str(folder)


def random(module, seed):
    randomize(module, 0.4, seed)
    return module


def save(name, model):
    shutil.rmtree(HERE / name, ignore_errors=True)
    model.save_pretrained(str(HERE / name), create_model_card=False)


def add(name, what, texts, numbers):
    ROWS.append("\t".join([name, what, *texts] + [f"{x:.9g}" for x in numbers]))


def cross_encoder(name, seed, pooling, hidden, activation, **dense):
    model = CrossEncoder(modules=[
        Transformer(source(seed)), Pooling(16, pooling),
        random(Dense(16 * len(pooling), hidden, activation_function=activation, **dense), seed),
        random(LayerNorm(hidden), seed + 1),
        random(Dense(hidden, 1, activation_function=nn.Identity(), module_output_name="scores"), seed + 2)],
        device="cpu", **({"activation_fn": nn.Identity()} if name.endswith("logits") else {}))
    save(name, model)
    if not name.endswith("logits"):  # as it is where nobody names a function
        path = HERE / name / "config_sentence_transformers.json"
        write_json(path, {key: value for key, value in json.loads(path.read_text()).items() if key != "activation_fn"})
    model = CrossEncoder(str(HERE / name), device="cpu").double()
    for pair in PAIRS:
        scores = [model.predict([pair], activation_fn=f, convert_to_tensor=True).double()[0]
                  for f in (None, nn.Identity())]
        add(name, "score", pair, [score.item() for score in scores])


def vectors(name, model):
    save(name, model)
    model = SentenceTransformer(str(HERE / name), device="cpu").double()
    for text in SENTENCES:
        add(name, "vector", [text], model.encode(text, convert_to_tensor=True).tolist())
    return model


CHAT = """{%- set task = messages | selectattr("role", "eq", "system") | map(attribute="content") | first
   | default("find what answers") -%}
{# what stands around a pair #}
<|im_end|>system
Judge. <Instruct>: {{ task }}
   {%- set words = messages | selectattr("role", "eq", "query") | map(attribute="content") | first | trim %}
<Query>: {{ words }}
<Document>: {{ (messages | selectattr('role', 'eq', 'document') | first).content }}<|im_end|>
<think>

</think>

"""


def logit_score(name, seed, no, prompts, **config):
    """A causal model's logits of two tokens, or of one, behind the text that a chat template makes of a pair."""
    folder = HERE / f"modules-{seed}.tmp"
    shutil.rmtree(folder, ignore_errors=True)
    tokenizer, settings = qwen_tokenizer()
    model = Qwen3ForCausalLM(Qwen3Config(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
        intermediate_size=24, max_position_embeddings=160, use_cache=False, vocab_size=tokenizer.get_vocab_size(),
        **config))
    randomize(model, 0.3, seed)
    model.tie_weights()
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json", {**settings, "model_max_length": 112, "chat_template": CHAT})
    ce = CrossEncoder(modules=[Transformer(str(folder), transformer_task="text-generation"),
                               LogitScore(true_token_id=70, false_token_id=no)], prompts=prompts,
                      default_prompt_name="task" if prompts else None, device="cpu")
    save(name, ce)
    if no is None:  # the template as a file, or as a key
        (HERE / name / "chat_template.jinja").unlink(missing_ok=True)
        shutil.copy(folder / "tokenizer_config.json", HERE / name)
    ce = CrossEncoder(str(HERE / name), device="cpu").double()
    for pair in [*PAIRS, ("  who sat ", "the cat sat on the mat. " * 6)]:
        scores = [ce.predict([pair], activation_fn=f, convert_to_tensor=True).double()[0] for f in (None, nn.Identity())]
        add(name, "score", pair, [score.item() for score in scores])


def layers():
    """The mean of layers, and layers over tokens and texts."""
    vectors("modules-layers", SentenceTransformer(modules=[
        Transformer(source(21, output_hidden_states=True)),
        WeightedLayerPooling(16, num_hidden_layers=2, layer_start=1,
                             layer_weights=nn.Parameter(torch.tensor([0.3, 1.4]))),
        Pooling(16, ("weightedmean", "max")), random(LayerNorm(32), 3),
        random(Dense(32, 12, use_residual=True), 4),
        random(Dense(12, 12, use_residual=True, activation_function=nn.SiLU(), bias=False), 5), Normalize()],
        device="cpu"))
    vectors("modules-tokens", SentenceTransformer(modules=[
        Transformer(source(22)),
        random(Dense(16, 10, activation_function=nn.GELU(), module_input_name="token_embeddings"), 6),
        Pooling(10, "mean"), random(Dense(10, 8, use_residual=True), 7)], device="cpu"))


def convolutions():
    """Convolutions over tokens, one behind the other."""
    vectors("modules-cnn", SentenceTransformer(modules=[
        Transformer(source(26)), random(CNN(16, 5, [1, 3, 7]), 8), random(CNN(15, 6, [5]), 9),
        Pooling(6, ("mean", "max")), Normalize()], device="cpu"))


def router():
    """Queries and documents by encoders of their own."""
    name = "modules-router"
    save(name, SentenceTransformer(modules=[Router.for_query_document(
        query_modules=[Transformer(source(23)), Pooling(16, "cls")],
        document_modules=[Transformer(source(24)), Pooling(16, "mean"), Normalize()])],
        prompts={"query": "the "}, device="cpu"))
    model = SentenceTransformer(str(HERE / name), device="cpu").double()
    for text in SENTENCES:
        add(name, "vector", [text], model.encode(text, convert_to_tensor=True).tolist())
        add(name, "query", [text], model.encode_query(text, convert_to_tensor=True).tolist())
        add(name, "document", [text], model.encode_document(text, convert_to_tensor=True).tolist())


def sparse():
    """Queries by a table, documents by SPLADE."""
    name = "modules-sparse"
    folder = source(25, BertForMaskedLM)
    torch.manual_seed(25)
    table = SparseStaticEmbedding(BertTokenizerFast.from_pretrained(folder), weight=torch.rand(len(PIECES)) + 0.1)
    save(name, SparseEncoder(modules=[Router.for_query_document(
        query_modules=[table], document_modules=[Transformer(folder, transformer_task="fill-mask"), SpladePooling()])],
        device="cpu"))
    model = SparseEncoder(str(HERE / name), device="cpu").double()
    for text in SENTENCES:
        for what, encode in (("query", model.encode_query), ("document", model.encode_document), ("weights", model.encode)):
            add(name, what, [text], encode(text, convert_to_sparse_tensor=False, convert_to_tensor=True).tolist())


def main():
    cross_encoder("modules-scores", 11, ("cls",), 16, nn.GELU(), bias=False)
    cross_encoder("modules-logits", 12, ("mean", "max"), 20, nn.SiLU(), use_residual=True)
    logit_score("modules-yes-no", 31, 71, {"task": "is it about cats?"}, tie_word_embeddings=True)
    logit_score("modules-yes", 32, None, None)
    layers()
    router()
    sparse()
    convolutions()
    for folder in HERE.glob("modules-*.tmp"):
        shutil.rmtree(folder)
    (HERE / "expected" / "modules.tsv").write_text("\n".join(ROWS) + "\n")


if __name__ == "__main__":
    main()
