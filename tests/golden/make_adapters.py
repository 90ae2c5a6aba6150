#!/usr/bin/env python3
"""Makes lora-*, adapters of PEFT over models of this folder, and what the reference computes of texts with them.

    pip install -r requirements.txt && python make_adapters.py

expected/adapters.tsv: adapter, what is computed, text, numbers: vector (the mean of the last hidden states, or the
vector of sentence-transformers), classify (logits), mlm (the best three pieces for the mask but special ones, behind
each its probability). All in fp64, and not merged: PEFT adds what the adapter computes to what the model computes.
"""

import shutil
from pathlib import Path

import peft
import torch
import transformers as t
from transformers import BertTokenizerFast

from make_golden import HERE

TEXTS = ["the cat sat on the mat.", "Paris is the [MASK] of France.", "a [MASK]!"]
ROWS = []


def fill(model, seed):
    """Each tensor of the adapter is random, B too."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.requires_grad:
                p.copy_(p + 0.3 * torch.randn(p.shape))


def tokens(base, text):
    tokenizer = BertTokenizerFast(vocab=str(HERE / base / "vocab.txt"), do_lower_case=True)
    return torch.tensor([tokenizer(text)["input_ids"]]), tokenizer.mask_token_id


def make(name, base, kind, what, seed, keep=(), **lora):
    directory = HERE / name
    shutil.rmtree(directory, ignore_errors=True)
    model = kind.from_pretrained(HERE / base, dtype=torch.float32, **dict(keep))
    model = peft.get_peft_model(model, peft.LoraConfig(base_model_name_or_path=base, **lora)).eval()
    fill(model, seed)
    model.peft_config["default"].base_model_name_or_path = base
    model.save_pretrained(directory)
    (directory / "README.md").unlink()
    model = model.double()
    for text in TEXTS:
        ids, mask = tokens(base, text)
        with torch.inference_mode():
            out = model(input_ids=ids)
        if what == "vector":
            numbers = out.last_hidden_state[0].mean(0)
        elif what == "classify":
            numbers = out.logits[0]
        else:
            if mask not in ids[0].tolist():
                continue
            best = out.logits[0, ids[0].tolist().index(mask)].softmax(0)
            pieces = (HERE / base / "vocab.txt").read_text().split("\n")
            best = (best * torch.tensor([not piece.startswith("[") for piece in pieces[:len(best)]])).topk(3)
            ROWS.append("\t".join([name, what, text] + [f"{pieces[i]}\t{p:.9g}" for p, i in zip(*map(list, best))]))
            continue
        ROWS.append("\t".join([name, what, text] + [f"{x:.9g}" for x in numbers.tolist()]))


def make_sentences(name, base, seed):
    """An adapter with modules and tokenizer of its own, as sentence-transformers saves it."""
    from sentence_transformers import SentenceTransformer

    shutil.rmtree(HERE / name, ignore_errors=True)
    shutil.copytree(HERE / base, HERE / name, ignore=shutil.ignore_patterns("config.json", "model.safetensors"))
    for folder in (HERE / base).glob("*_*/"):
        shutil.copytree(folder, HERE / name / folder.name, dirs_exist_ok=True)
    model = SentenceTransformer(str(HERE / base), device="cpu", model_kwargs={"dtype": torch.float32})
    adapted = peft.get_peft_model(model[0].model, peft.LoraConfig(
        r=3, lora_alpha=6, target_modules=["value", "output.dense"], use_rslora=True)).eval()
    fill(adapted, seed)
    adapted.peft_config["default"].base_model_name_or_path = base
    adapted.save_pretrained(HERE / name)
    (HERE / name / "README.md").unlink()
    model = model.double()
    for text in TEXTS:
        numbers = model.encode(text, convert_to_tensor=True).tolist()
        ROWS.append("\t".join([name, "vector", text] + [f"{x:.9g}" for x in numbers]))


def main():
    make("lora-vectors", "tiny-bert", t.BertModel, "vector", 1, r=4, lora_alpha=16,
         target_modules=["query", "value"], task_type="FEATURE_EXTRACTION")
    # A head of its own over a masked LM, biases, other ranks and scales by patterns.
    make("lora-classifier", "tiny-bert", t.BertForSequenceClassification, "classify", 2, keep={"num_labels": 3}.items(),
         r=4, lora_alpha=8, use_rslora=True, bias="all", target_modules="all-linear", task_type="SEQ_CLS",
         rank_pattern={"layer.0.attention.self.key": 2, r"layer\.\d+\.output\.dense": 3},
         alpha_pattern={r"layer.1.*query": 3, "value": 5}, modules_to_save=["classifier", "pooler"])
    # The word table, of which the decoder keeps the old numbers.
    make("lora-words", "gamma-beta", t.BertForMaskedLM, "mlm", 3, r=2, lora_alpha=4, bias="lora_only",
         target_modules=["word_embeddings", "dense"])
    make("lora-modernbert", "modernbert-mlm", t.ModernBertForMaskedLM, "mlm", 4, r=4, lora_alpha=4, lora_bias=False,
         target_modules=["Wqkv", "Wi", "decoder"])
    # A decoder that is the word table, of a head that has nothing else of its own.
    make("lora-eurobert", "eurobert-biased", t.EuroBertForMaskedLM, "mlm", 6, r=2, lora_alpha=4,
         target_modules=["embed_tokens", "q_proj"])
    make_sentences("lora-st", "st-dense", 5)
    (HERE / "expected" / "adapters.tsv").write_text("\n".join(ROWS) + "\n")


if __name__ == "__main__":
    main()
