#!/usr/bin/env python3
"""Makes sparse-*, SPLADE models as sentence-transformers 5 and 6 write them, and the vectors of the reference.

    pip install -r requirements.txt && python make_sparse.py

expected/sparse.tsv: model, then the fp64 vector [V] of SparseEncoder, for each line of sentences.txt in turn; of
sparse-native the vectors with the prompt "query" follow. distilbert-mlm has no modules: SPLADE's default.
"""

import json
import shutil
from pathlib import Path

import torch
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sparse_encoder.modules import SpladePooling
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast, DistilBertConfig, DistilBertForMaskedLM

from vocabulary import PIECES

HERE = Path(__file__).resolve().parent
SENTENCES = (HERE / "expected" / "sentences.txt").read_text().split("\n")[:-1]


def write(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def save(name, model, seed):
    """A random model of such weights that about half of the logits are above 0, and its tokenizer."""
    directory = HERE / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    torch.manual_seed(seed)
    with torch.no_grad():
        for key, p in model.named_parameters():
            p.copy_(1 + 0.1 * torch.randn(p.shape) if p.dim() == 1 and key.endswith("weight") else
                    0.3 * torch.randn(p.shape))
    model.save_pretrained(directory)
    (directory / "vocab.txt").write_text("".join(p + "\n" for p in PIECES))
    BertTokenizerFast(vocab=str(directory / "vocab.txt"), do_lower_case=True, model_max_length=64).save_pretrained(
        directory)
    return directory


def native(name, seed):
    """What sentence-transformers 6 saves."""
    size = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24)
    source = save(name + ".tmp", BertForMaskedLM(BertConfig(vocab_size=len(PIECES), max_position_embeddings=64, **size)),
                  seed)
    encoder = SparseEncoder(modules=[Transformer(str(source), transformer_task="fill-mask"),
                                     SpladePooling("sum", "log1p_relu")], prompts={"query": "who is "}, device="cpu")
    shutil.rmtree(HERE / name, ignore_errors=True)
    encoder.save_pretrained(str(HERE / name), create_model_card=False)
    shutil.rmtree(source)


def legacy(name, seed):
    """What version 5 saved, as most models of the hub are."""
    directory = save(name, DistilBertForMaskedLM(DistilBertConfig(
        vocab_size=len(PIECES), max_position_embeddings=64, dim=16, n_layers=2, n_heads=2, hidden_dim=24)), seed)
    models = "sentence_transformers.sparse_encoder.models"
    write(directory / "modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": models + ".MLMTransformer"},
        {"idx": 1, "name": "1", "path": "1_SpladePooling", "type": models + ".SpladePooling"}])
    (directory / "1_SpladePooling").mkdir()
    write(directory / "1_SpladePooling" / "config.json", {
        "pooling_strategy": "max", "activation_function": "relu", "word_embedding_dimension": len(PIECES)})
    write(directory / "sentence_bert_config.json", {"max_seq_length": 12, "do_lower_case": False})
    write(directory / "config_sentence_transformers.json", {
        "model_type": "SparseEncoder", "prompts": {}, "default_prompt_name": None, "similarity_fn_name": "dot"})


def vectors(name, **options):
    encoder = SparseEncoder(str(HERE / name), device="cpu").double()
    for sentence in SENTENCES:
        vector = encoder.encode(sentence, convert_to_sparse_tensor=False, convert_to_tensor=True, **options)
        yield "\t".join([name] + [f"{x:.12g}" for x in vector.tolist()])


native("sparse-native", 5)
legacy("sparse-legacy", 6)
rows = [row for name in ("sparse-native", "sparse-legacy", "distilbert-mlm") for row in vectors(name)]
rows[len(SENTENCES):len(SENTENCES)] = vectors("sparse-native", prompt_name="query")
(HERE / "expected" / "sparse.tsv").write_text("\n".join(rows) + "\n")
