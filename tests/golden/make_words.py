#!/usr/bin/env python3
"""Makes the small models with tokenizers that mark the beginnings of words, and what transformers' pipelines
say of them: words-bytes (RoBERTa, byte-level BPE), words-unigram (XLM-RoBERTa) and words-spaces (ModernBERT, whose
offsets include blanks), each with a masked-LM and a token-classification model.

    pip install -r requirements.txt && python make_words.py
"""

import warnings

import tokenizers as tk
import torch
import transformers as t
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

import make_golden as golden
from make_golden import HERE, labels

TEXTS = [
    "Paris is the capital of France, and London is the capital of England.",
    "The cat sat on the mat; it's not the best cat in the world!",
    "We sing the songs of the best singers, and they play the best games.",
    "A café in Köln (near the river) has the best coffee of the world.",
]
# Punctuation, two blanks, a character of several bytes, an accent.
ENTITIES = ["Paris, the best  (capital) 😀 of it", "the café's cat isn't in Köln!", "x"]
FILLED = ["the {} of the world", "{} sat on the mat.", "(the{}) cat"]


def byte_level(specials):
    tokenizer = tk.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=specials, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def unigram(specials):
    tokenizer = tk.Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=specials, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def finish(tokenizer, specials, pair):
    mask = tk.AddedToken(specials[-1], lstrip=True, special=True, normalized=False)
    tokenizer.add_special_tokens([*specials[:-1], mask])
    cls, sep = specials[0], specials[2]
    ids = [(token, tokenizer.token_to_id(token)) for token in (cls, sep)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}", pair=pair.format(cls=cls, sep=sep), special_tokens=ids)
    return tokenizer


def make(name, tokenizer, specials, config_class, prefix, **size):
    names = dict(zip(("cls_token", "pad_token", "sep_token", "unk_token", "mask_token"), specials))
    for kind, cls, more in (("mlm", "ForMaskedLM", {}), ("ner", "ForTokenClassification", labels("O", "B-X", "I-X"))):
        directory = HERE / f"{name}-{kind}"
        config = config_class(vocab_size=tokenizer.get_vocab_size(), hidden_size=16, num_hidden_layers=1,
                              num_attention_heads=2, intermediate_size=24, max_position_embeddings=66,
                              pad_token_id=1, bos_token_id=0, eos_token_id=2, **size, **more)
        torch.manual_seed(7)
        model = getattr(t, prefix + cls)(config)
        golden.randomize(model, 0.3, 7)
        model.save_pretrained(directory)
        tokenizer.save(str(directory / "tokenizer.json"), pretty=False)
        golden.write_json(directory / "tokenizer_config.json",
                          {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 64, **names})


def write_case(tool, name, command, lines, text):
    """A case of tests/cli whose answer is the reference's."""
    case = HERE.parent / "cli" / tool / name
    case.mkdir(parents=True, exist_ok=True)
    (case / "cmd").write_text(command + "\n")
    (case / "text").write_text("".join(line + "\n" for line in text))
    (case / "expout").write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))
    (case / "tolerance").write_text("1e-5\n")


def fill_case(name, directory):
    """The fill-mask pipeline, and what each token's own mask says of it."""
    fill = t.pipeline("fill-mask", directory, top_k=12)
    tokenizer, model = fill.tokenizer, fill.model
    special = set(tokenizer.all_special_ids)
    # decode sets the pieces after a mask off by a blank where all texts of a vocabulary begin with one.
    texts = [text.format(tokenizer.mask_token) for text in FILLED[: 2 if "unigram" in name else 3]]
    lines = []
    for i, text in enumerate(texts, 1):
        rows = [r for r in fill(text) if r["token"] not in special][:3]
        lines += [(i, 1, k, r["score"], tokenizer.convert_ids_to_tokens(r["token"]), r["sequence"].strip())
                  for k, r in enumerate(rows, 1)]
    write_case("mlm-fill", name, f"mlm-fill $J -m $MODELS/{name}-mlm -k 3 $CASE/text", lines, texts)
    lines = []
    for i, text in enumerate(ENTITIES, 1):
        ids = tokenizer(text)["input_ids"]
        for k in range(1, len(ids) - 1):
            masked = torch.tensor([ids])
            masked[0, k] = tokenizer.mask_token_id
            with torch.inference_mode():
                logprobs = model(input_ids=masked).logits[0, k].double().log_softmax(-1)
            lines.append((i, k, tokenizer.convert_ids_to_tokens(ids[k]), float(logprobs[ids[k]])))
    write_case("mlm-score", name, f"mlm-score $J -m $MODELS/{name}-mlm --per-token -n -o $CASE/text", lines, ENTITIES)


def entity_case(name, directory):
    ner = t.pipeline("token-classification", directory)
    lines = []
    strategies = ("simple", "first", "average", "max")
    for strategy in strategies:
        for i, text in enumerate(ENTITIES, 1):
            for e in ner(text, aggregation_strategy=strategy):
                begin, end = (len(text[: e[k]].encode()) for k in ("start", "end"))
                lines.append((strategy, i, begin, end, e["entity_group"], float(e["score"]), text[e["start"] : e["end"]]))
    command = (f"for a in {' '.join(strategies)}; do\n"
               f'  ner $J -m $MODELS/{name}-ner --aggregation $a -n -o $CASE/text | sed "s/^/$a\t/"\ndone')
    write_case("ner", name, command, lines, ENTITIES)


def vector_case(name, directory):
    """A word is the mean of all its pieces, also where several are of one character."""
    tokenizer, model = t.AutoTokenizer.from_pretrained(directory), t.AutoModel.from_pretrained(directory).eval()
    lines = []
    for i, text in enumerate(ENTITIES, 1):
        encoding = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            hidden = model(input_ids=encoding["input_ids"]).last_hidden_state[0]
        words = encoding.word_ids()
        for word in range(max(w for w in words if w is not None) + 1):
            pieces = [k for k, w in enumerate(words) if w == word]
            begin, end = encoding.token_to_chars(pieces[0]).start, encoding.token_to_chars(pieces[-1]).end
            lines.append((i, word, text[begin:end].strip() or text[begin:end],
                          *hidden[pieces].mean(0)[:3].tolist()))
    write_case("embed", name, f"embed $J -m $MODELS/{name}-mlm --words -n -o --dims 3 $CASE/text", lines, ENTITIES)


def main():
    golden.check_versions()
    warnings.filterwarnings("ignore")
    roberta, bert = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    double, single = "{cls} $A {sep} {sep} $B {sep}", "{cls} $A {sep} $B:1 {sep}:1"
    tokenizer = byte_level(roberta)
    finish(tokenizer, roberta, double)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    make("words-bytes", tokenizer, roberta, t.RobertaConfig, "Roberta", type_vocab_size=1)
    make("words-unigram", finish(unigram(roberta), roberta, double), roberta, t.XLMRobertaConfig, "XLMRoberta",
         type_vocab_size=1)
    make("words-spaces", finish(byte_level(bert), bert, single), bert, t.ModernBertConfig, "ModernBert",
         cls_token_id=0, sep_token_id=2)
    for name in ("words-bytes", "words-unigram", "words-spaces"):
        fill_case(name, str(HERE / f"{name}-mlm"))
        entity_case(name, str(HERE / f"{name}-ner"))
        vector_case(name, str(HERE / f"{name}-mlm"))


if __name__ == "__main__":
    main()
