#!/usr/bin/env python3
"""Makes bge-m3, an XLM-RoBERTa with BGE-M3's two layers beside it, and what its three ways give.

    pip install -r requirements.txt FlagEmbedding==1.4.0 && python make_m3.py

expected/m3-pairs.tsv: query, text, score of the vectors of tokens; expected/m3-weights.tsv: text, token:weight ... as
BGEM3FlagModel of FlagEmbedding computes them.
"""

import json
import shutil
from pathlib import Path

import torch
from FlagEmbedding import BGEM3FlagModel
from transformers import XLMRobertaConfig, XLMRobertaModel

from make_golden import randomize

HERE = Path(__file__).resolve().parent
QUERIES = ["who sat?", "what is the capital of France?", "the cat ran and the dog sat on the mat, so who is the best?"]
TEXTS = ["the cat sat on the mat.", "Paris is the capital of France.", "", "!?", "naïve café <unk> 😀 <mask> cat cat",
         "the movie was great, the book was not so good; the music was bad but the play was the best of all!"]


def write(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def main():
    directory = HERE / "bge-m3"
    shutil.rmtree(directory, ignore_errors=True)
    words = HERE / "words-unigram-mlm"
    config = json.loads((words / "config.json").read_text())
    size = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24)
    model = XLMRobertaModel(XLMRobertaConfig(vocab_size=config["vocab_size"], max_position_embeddings=66,
                                             type_vocab_size=1, pad_token_id=1, **size))
    randomize(model, 0.3, 5)
    model.save_pretrained(directory)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(words / name, directory)
    torch.manual_seed(9)
    torch.save(torch.nn.Linear(16, 16).state_dict(), directory / "colbert_linear.pt")
    torch.save(torch.nn.Linear(16, 1).state_dict(), directory / "sparse_linear.pt")
    write(directory / "modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])
    write(directory / "1_Pooling" / "config.json", {"word_embedding_dimension": 16, "pooling_mode_cls_token": True,
                                                    "pooling_mode_mean_tokens": False})
    write(directory / "sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})

    m3 = BGEM3FlagModel(str(directory), use_fp16=False, devices="cpu")
    options = dict(return_dense=True, return_sparse=True, return_colbert_vecs=True, max_length=64)
    texts, queries = m3.encode(TEXTS, **options), m3.encode(QUERIES, **options)
    with open(HERE / "expected" / "m3-pairs.tsv", "w", encoding="utf-8") as file:
        for query, q in zip(QUERIES, queries["colbert_vecs"]):
            for text, d in zip(TEXTS, texts["colbert_vecs"]):
                print(query, text, f"{float(m3.colbert_score(q, d)):.6g}", sep="\t", file=file)
    with open(HERE / "expected" / "m3-weights.tsv", "w", encoding="utf-8") as file:
        for text, weights, dense in zip(TEXTS, texts["lexical_weights"], texts["dense_vecs"]):
            items = sorted(((float(w), int(i)) for i, w in weights.items()), key=lambda item: (-item[0], item[1]))
            print(text, " ".join(f"{i}:{w:.6g}" for w, i in items), *(f"{x:.6g}" for x in dense), sep="\t", file=file)


if __name__ == "__main__":
    main()
