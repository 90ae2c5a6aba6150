#!/usr/bin/env python3
"""Makes colbert-*, models of late interaction as three programs write them, and what the reference computes of pairs.

    pip install -r requirements.txt && python make_colbert.py

expected/colbert.tsv: model, query, text, score of MultiVectorEncoder of sentence-transformers. The directories of
PyLate and of ColBERT itself are written here as those programs write them; the reference reads them.
"""

import json
import shutil
import string
from pathlib import Path

import torch
from safetensors.torch import save_file
from sentence_transformers import MultiVectorEncoder
from transformers import BertConfig, BertModel, BertTokenizerFast

from vocabulary import PIECES

HERE = Path(__file__).resolve().parent
QUERIES = ["who sat?", "what is the capital of France?", "the cat ran and the dog sat on the mat, so who is the best?"]
TEXTS = ["the cat sat on the mat.", "Paris is the capital of France.", "", "!?",
         "the movie was great, the book was not so good; the music was bad but the play was the best of all!"]
PYLATE = {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "MaxSim", "query_prefix": "[Q] ",
          "document_prefix": "[D] ", "query_length": 16, "document_length": 24, "attend_to_expansion_tokens": False,
          "skiplist_words": list(string.punctuation), "do_query_expansion": True, "model_type": "ColBERT"}


def trunk(directory, pieces, seed, added=()):
    """A small random BERT, with its tokenizer."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    (directory / "vocab.txt").write_text("".join(p + "\n" for p in pieces))
    tokenizer = BertTokenizerFast(vocab=str(directory / "vocab.txt"), do_lower_case=True)
    tokenizer.add_tokens(list(added))
    (directory / "vocab.txt").unlink()
    torch.manual_seed(seed)
    model = BertModel(BertConfig(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                                 intermediate_size=24, max_position_embeddings=64), add_pooling_layer=False).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(1 + 0.1 * torch.randn(p.shape) if p.dim() == 1 and name.endswith("weight") else
                    0.3 * torch.randn(p.shape))
    return model, tokenizer


def write(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def pylate(name, seed, **settings):
    directory = HERE / name
    model, tokenizer = trunk(directory, PIECES, seed, ["[Q] ", "[D] "])
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    write(directory / "modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"}])
    write(directory / "1_Dense" / "config.json", {
        "in_features": 16, "out_features": 8, "bias": False, "use_residual": False,
        "activation_function": "torch.nn.modules.linear.Identity"})
    save_file({"linear.weight": torch.randn(8, 16)}, directory / "1_Dense" / "model.safetensors")
    write(directory / "sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
    write(directory / "config_sentence_transformers.json", PYLATE | settings)


def native(name, source):
    """What sentence-transformers saves of it."""
    shutil.rmtree(HERE / name, ignore_errors=True)
    model = MultiVectorEncoder(str(HERE / source), device="cpu")
    model[0].query_expansion = {"strategy": "min", "attend": True, "length": 12}
    model.save(str(HERE / name), create_model_card=False)


def stanford(name, seed):
    directory = HERE / name
    model, tokenizer = trunk(directory, PIECES + ["[unused0]", "[unused1]"], seed)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    tensors = {"bert." + key: value.clone() for key, value in model.state_dict().items()}
    save_file(tensors | {"linear.weight": torch.randn(8, 16)}, directory / "model.safetensors", {"format": "pt"})
    config = json.loads((directory / "config.json").read_text())
    write(directory / "config.json", config | {"architectures": ["HF_ColBERT"]})
    write(directory / "artifact.metadata", {
        "query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_maxlen": 20, "doc_maxlen": 30,
        "mask_punctuation": True, "attend_to_mask_tokens": False, "dim": 8, "similarity": "cosine"})


def main():
    pylate("colbert-pylate", 1)
    pylate("colbert-attend", 2, attend_to_expansion_tokens=True, skiplist_words=[])
    pylate("colbert-plain-queries", 3, do_query_expansion=False)
    native("colbert-native", "colbert-pylate")
    stanford("colbert-stanford", 4)
    with open(HERE / "expected" / "colbert.tsv", "w") as out:
        for name in ["pylate", "attend", "plain-queries", "native", "stanford"]:
            model = MultiVectorEncoder(str(HERE / f"colbert-{name}"), device="cpu").double()
            queries, texts = model.encode_query(QUERIES), model.encode_document(TEXTS)
            scores = model.similarity(queries, texts)
            for i, query in enumerate(QUERIES):
                for j, text in enumerate(TEXTS):
                    print(f"colbert-{name}", query, text, f"{scores[i][j].item():.9g}", sep="\t", file=out)


main()
