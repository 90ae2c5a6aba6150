#!/usr/bin/env python3
"""Makes the model directories of this folder and what the reference computes from them.

    pip install -r requirements.txt && python make_golden.py

Each NAME/ is an ordinary Hugging Face directory with a small random model; expected/NAME.safetensors holds
its inputs and the reference's fp64 results. README.md tells which tensors. Needed only to make new fixtures:
the tests read what is committed.
"""

import json
import shutil
from pathlib import Path

import model2vec
import numpy as np
import sentence_transformers
import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import BertConfig, DistilBertConfig, ElectraConfig, MPNetConfig

from vocabulary import PIECES

PINNED = {torch: "2.15.0", transformers: "5.23.0", tokenizers: "0.23.3", sentence_transformers: "6.2.0",
          model2vec: "0.10.0"}
HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected"
LENGTHS = (1, 2, 7, 16, 17, 64)  # 64 fills the position table of most
SHORT = (1, 7, 17)
ENTITY_TEXTS = [
    "the cat sat on the mat in paris, playing with wonderful dogs.",
    "a strange londoner (o'neil) was not the best singer of tokyo!",
    "巴黎 is 是法国 capital 日本",
    "naïve café singers, Éire and 😀 zebras: U.S. books",
]

SENTENCES = [
    "Paris is the capital of France.",
    "the cat sat on the mat",
    "A dog!",
    "",
    "the movie was great, the book was not so good; the music was bad but the play was the best of all",
]


def randomize(model, std, seed):
    """Every parameter random, biases and norms too: a bias that is lost must show."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "embed_positions" in name:  # a table of sines
            continue
        noise = torch.randn(parameter.shape, generator=generator)
        is_norm_weight = parameter.dim() == 1 and name.endswith("weight")
        with torch.no_grad():
            parameter.copy_(1 + 0.1 * noise if is_norm_weight else std * noise)


def make_inputs(config, lengths, seed):
    """One [CLS] .. [SEP] sequence a length; from 7 tokens on a pair, where the model has two types."""
    rng = np.random.default_rng(seed)
    types_known = getattr(config, "type_vocab_size", 0)
    sequences = []
    for n in lengths:
        ids = rng.integers(5, config.vocab_size, n)
        ids[-1] = PIECES.index("[SEP]")
        ids[0] = PIECES.index("[CLS]")
        types = np.zeros(n, np.int64)
        if n >= 7 and types_known > 1:
            types[n // 2 :] = 1
            ids[n // 2 - 1] = PIECES.index("[SEP]")
        if n > 3:
            ids[n // 2] = PIECES.index("[MASK]")
        if config.model_type in ("mpnet", "roberta", "camembert", "xlm-roberta") and n >= 16:
            # A padding token that stands in the text: positions do not count it.
            ids[5] = 1 if config.model_type == "mpnet" else config.pad_token_id
        sequences.append((ids, types))
    return sequences


def run(model, sequences, dtype):
    """The model over each sequence alone, so that no padding has a say. Returns {name: [S arrays]}."""
    model = model.to(dtype).eval()
    results = {}
    with torch.inference_mode():
        for ids, types in sequences:
            inputs = {"input_ids": torch.tensor(ids)[None]}
            if getattr(model.config, "type_vocab_size", 0) > 1:
                inputs["token_type_ids"] = torch.tensor(types)[None]
            out = model(**inputs, output_hidden_states=True)
            for key, value in out.items():
                if key == "hidden_states":
                    value = value or (out.last_hidden_state,)  # what transformers records of 0 layers
                    results.setdefault("hidden", []).append(value[-1][0])
                    results.setdefault("layers", []).append(torch.stack([layer[0] for layer in value]))
                elif key != "last_hidden_state":
                    results.setdefault(key, []).append(value[0])
            if getattr(model, "pooler", None) is None and hasattr(model, "bert") and model.bert.pooler is not None:
                results.setdefault("pooler_output", []).append(model.bert.pooler(out.hidden_states[-1])[0])
    return results


def attention_probabilities(model, sequence):
    """[L, A, n, n] of one sequence."""
    ids, types = sequence
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        inputs = {"input_ids": torch.tensor(ids)[None], "token_type_ids": torch.tensor(types)[None]}
        if getattr(model.config, "type_vocab_size", 0) == 0:
            del inputs["token_type_ids"]
        out = model(**inputs, output_attentions=True)
    model.set_attn_implementation("sdpa")
    return torch.stack([layer[0] for layer in out.attentions])


def probabilities(config, logits):
    """function_to_apply of transformers' text-classification pipeline."""
    if config.problem_type == "regression":
        return logits
    if config.problem_type == "multi_label_classification" or config.num_labels == 1:
        return torch.sigmoid(logits)
    return torch.softmax(logits, -1)


def gather(model, sequences, dtype, layers, attention):
    """What the model makes of `sequences`, as the tensors of a packed batch."""
    results = run(model, sequences, dtype)
    cu = np.cumsum([0] + [len(ids) for ids, _ in sequences])
    tensors = {"hidden": torch.cat(results["hidden"])}
    if "pooler_output" in results and not type(model).__name__.startswith("DPR"):  # whose is the first state
        tensors["pooled"] = torch.stack(results["pooler_output"])
    kind = type(model).__name__
    if kind.endswith(("MaskedLM", "PreTraining")) and kind != "ElectraForPreTraining":
        logits = torch.cat(results.get("prediction_logits", results.get("logits")))
        # Two or three rows a sequence are enough: the vocabulary is long.
        rows = sorted({r for s, (ids, _) in enumerate(sequences) for r in (cu[s], cu[s] + len(ids) // 2, cu[s + 1] - 1)})
        tensors["mlm_rows"] = torch.tensor(rows, dtype=torch.int32)
        tensors["mlm"] = logits[rows]
    for name in ("seq_relationship_logits", "sop_logits"):
        if name in results:
            tensors["nsp"] = torch.stack(results[name])
    if kind.endswith("SequenceClassification"):
        tensors["classifier"] = torch.stack(results["logits"])
        tensors["probabilities"] = probabilities(model.config, tensors["classifier"])
    if kind.endswith("TokenClassification"):
        tensors["tokens"] = torch.cat(results["logits"])
    if kind.endswith("QuestionAnswering"):
        tensors["qa"] = torch.stack([torch.cat(results["start_logits"]), torch.cat(results["end_logits"])], 1)
    if layers:  # every layer's output for the first `layers` sequences: [L + 1, T', H]
        tensors["layers"] = torch.cat(results["layers"][:layers], dim=1)
    if attention:
        tensors["attention"] = attention_probabilities(model, sequences[layers - 1])
    return tensors


def write_tokenizer(directory, vocab_size, max_length=None):
    (directory / "vocab.txt").write_text("\n".join(PIECES[:vocab_size]) + "\n", encoding="utf-8")
    config = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": True,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
        "pad_token": "[PAD]",
        "sep_token": "[SEP]",
        "unk_token": "[UNK]",
    }
    if max_length:
        config["model_max_length"] = max_length
    write_json(directory / "tokenizer_config.json", config)


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n")


def write_weights(model, directory, storage):
    if storage == "sharded":
        model.save_pretrained(directory, max_shard_size="24KB")
        return
    model.save_pretrained(directory)
    path = directory / "model.safetensors"
    state = load_file(path)
    if storage == "no_prefix":
        state = {name.removeprefix(model.base_model_prefix + "."): value for name, value in state.items()}
        save_file(state, path, metadata={"format": "pt"})
    if storage in ("gamma_beta", "bin", "old_bin"):
        state = {
            name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
            for name, value in state.items()
        }
        if storage == "gamma_beta":
            save_file(state, path, metadata={"format": "pt"})
        else:
            # What the first checkpoints on the hub hold: a buffer, and the tied matrix twice in one storage.
            state["bert.embeddings.position_ids"] = torch.arange(model.config.max_position_embeddings)[None]
            state["cls.predictions.decoder.weight"] = state["bert.embeddings.word_embeddings.weight"]
            torch.save(state, directory / "pytorch_model.bin", _use_new_zipfile_serialization=storage == "bin")
            path.unlink()


def make(name, model_class, config, std=0.08, lengths=LENGTHS, seed=1, storage="", dtype=torch.float32, layers=0,
         attention=False, **model_args):
    """One fixture: directory, inputs, fp64 results, and how far PyTorch's own fp32 is from them."""
    directory = HERE / name
    shutil.rmtree(directory, ignore_errors=True)
    model = model_class(config, **model_args)
    randomize(model, std, seed)
    if getattr(config, "tie_word_embeddings", False):
        model.tie_weights()
    write_weights(model.to(dtype), directory, storage)
    if dtype != torch.float32 and hasattr(config, "rope_parameters"):  # whose angles are rounded by now, too
        model = model_class.from_pretrained(directory, dtype=torch.float32)
    write_tokenizer(directory, config.vocab_size)

    write_expected(name, model, make_inputs(config, lengths, seed), layers, attention)
    return model


def write_expected(name, model, sequences, layers=0, attention=False):
    exact = gather(model, sequences, torch.float64, layers, attention)
    single = gather(model, sequences, torch.float32, layers, attention)
    tensors = {
        "input_ids": torch.tensor(np.concatenate([ids for ids, _ in sequences]), dtype=torch.int32),
        "token_type_ids": torch.tensor(np.concatenate([types for _, types in sequences]), dtype=torch.int32),
        "cu_seq_lens": torch.tensor(np.cumsum([0] + [len(ids) for ids, _ in sequences]), dtype=torch.int32),
        **exact,
    }
    for key, value in exact.items():
        if value.dtype == torch.float64:
            error = single[key].double() - value
            tensors["torch_error." + key] = torch.stack([error.abs().max(), error.square().mean().sqrt()])
    save_file({k: v.contiguous().clone() for k, v in tensors.items()}, EXPECTED / f"{name}.safetensors")


def bert(**changes):
    small = dict(vocab_size=len(PIECES), hidden_size=24, num_hidden_layers=1, num_attention_heads=3,
                 intermediate_size=40, max_position_embeddings=64)
    return BertConfig(**{**small, **changes})


def distilbert(**changes):
    small = dict(vocab_size=len(PIECES), dim=24, n_layers=2, n_heads=2, hidden_dim=40, max_position_embeddings=64)
    return DistilBertConfig(**{**small, **changes})


def electra(**changes):
    small = dict(vocab_size=len(PIECES), embedding_size=12, hidden_size=20, num_hidden_layers=2,
                 num_attention_heads=2, intermediate_size=36, max_position_embeddings=64)
    return ElectraConfig(**{**small, **changes})


def mpnet(**changes):
    small = dict(vocab_size=len(PIECES), hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
                 intermediate_size=40, max_position_embeddings=66)  # 64 tokens
    return MPNetConfig(**{**small, **changes})


def labels(*names):
    return {"id2label": dict(enumerate(names)), "label2id": {name: i for i, name in enumerate(names)}}


def make_heads():
    """One directory a task: the tools' own tests run on these."""
    t = transformers
    make("tiny-bert", t.BertForPreTraining, bert(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
         intermediate_size=64, max_position_embeddings=80), std=0.3, lengths=LENGTHS + (80,), layers=3, attention=True)
    make("tiny-classifier", t.BertForSequenceClassification, bert(**labels("negative", "neutral", "positive")), std=0.3)
    make("tiny-multilabel", t.DistilBertForSequenceClassification, distilbert(
         problem_type="multi_label_classification", **labels("toxic", "insult", "threat", "spam")), std=0.3)
    make("tiny-regression", t.BertForSequenceClassification, bert(problem_type="regression", **labels("score")), std=0.3)
    make("tiny-cross-encoder", t.ElectraForSequenceClassification, electra(**labels("LABEL_0")), std=0.3)
    make("tiny-qa", t.BertForQuestionAnswering, bert(), std=0.3)
    make("tiny-ner", t.BertForTokenClassification, bert(**labels("O", "B-PER", "I-PER", "B-LOC", "I-LOC")), std=0.3,
         dtype=torch.bfloat16)
    make("distilbert-mlm", t.DistilBertForMaskedLM, distilbert(), layers=3)
    make("distilbert-qa", t.DistilBertForQuestionAnswering, distilbert(n_layers=1), std=0.3, dtype=torch.float16)
    make("electra-mlm", t.ElectraForMaskedLM, electra(hidden_act="relu"), layers=3)
    make("electra-classifier", t.ElectraForSequenceClassification, electra(
         hidden_act="relu", hidden_size=24, embedding_size=24, **labels("no", "yes")), std=0.3, dtype=torch.float16)
    make("electra-qa", t.ElectraForQuestionAnswering, electra(num_hidden_layers=1), std=0.3, dtype=torch.bfloat16)


def make_mpnet():
    """Each head of MPNet, and a text longer than the farthest bucket of its relative positions."""
    t = transformers
    make("mpnet", t.MPNetModel, mpnet(), std=0.3, layers=3, attention=True)
    make("mpnet-mlm", t.MPNetForMaskedLM, mpnet(hidden_act="relu", num_hidden_layers=1), std=0.3, lengths=SHORT)
    make("mpnet-classifier", t.MPNetForSequenceClassification, mpnet(num_hidden_layers=1, **labels("no", "yes")),
         std=0.3, lengths=SHORT, dtype=torch.bfloat16)
    make("mpnet-ner", t.MPNetForTokenClassification, mpnet(num_hidden_layers=1, **labels("O", "B-PER", "I-PER")),
         std=0.3, lengths=SHORT, dtype=torch.float16)
    make("mpnet-qa", t.MPNetForQuestionAnswering, mpnet(num_hidden_layers=1), std=0.3, lengths=SHORT)
    make("mpnet-long", t.MPNetModel, mpnet(vocab_size=97, hidden_size=8, num_attention_heads=2, intermediate_size=16,
         num_hidden_layers=1, max_position_embeddings=302), std=0.6, lengths=(300, 1, 129))


def make_named_heads():
    """Several heads over one trunk, as bert-model(5) has them; what each computes is expected/tiny-heads.NAME."""
    t = transformers
    size = dict(num_hidden_layers=2)
    trunk = make("tiny-heads", t.BertForPreTraining, bert(**size), std=0.3, lengths=SHORT, seed=11)
    path = HERE / "tiny-heads" / "model.safetensors"
    tensors, entries = load_file(path), {}
    # Of each head: its class, its config, and the parameters that are its own.
    heads = {
        "sentiment": ("text-classification", t.BertForSequenceClassification, labels("negative", "positive"),
                      ("classifier.", "bert.pooler.")),
        "topic": ("text-classification", t.BertForSequenceClassification,
                  dict(problem_type="multi_label_classification", **labels("art", "city", "music")), ("classifier.",)),
        "ner": ("token-classification", t.BertForTokenClassification, labels("O", "B-PER", "B-LOC"), ("classifier.",)),
        "qa": ("question-answering", t.BertForQuestionAnswering, {},
               ("qa_outputs.", "bert.encoder.layer.1.attention.self.key.", "bert.encoder.layer.1.output.")),
    }
    for seed, (name, (task, model_class, changes, own)) in enumerate(heads.items(), 12):
        model = model_class(bert(**size, **changes))
        randomize(model, 0.3, seed)
        shared = {k: v for k, v in trunk.state_dict().items() if k in model.state_dict() and not k.startswith(own)}
        model.load_state_dict(shared, strict=False)
        state = {k: v for k, v in model.state_dict().items() if k.startswith(own)}
        tensors.update({f"heads.{name}.{k.removeprefix('bert.')}": v.clone() for k, v in state.items()})
        entries[name] = {"task": task, **({"problem_type": changes["problem_type"]} if "problem_type" in changes else {}),
                         **({"id2label": changes["id2label"]} if changes else {})}
        write_expected(f"tiny-heads.{name}", model, make_inputs(model.config, LENGTHS, seed))
    save_file(tensors, path, metadata={"format": "pt"})
    config = HERE / "tiny-heads" / "config.json"
    write_json(config, {**json.loads(config.read_text()), "bertutils_heads": entries})


def make_entities():
    """What the token-classification pipeline finds in ENTITY_TEXTS: strategy, record, bytes, type, score."""
    directory = HERE / "tiny-ner"
    pipeline = transformers.pipeline(
        "token-classification", transformers.AutoModelForTokenClassification.from_pretrained(directory).double(),
        tokenizer=transformers.AutoTokenizer.from_pretrained(directory))
    rows = []
    for strategy in ("none", "simple", "first", "average", "max"):
        for number, text in enumerate(ENTITY_TEXTS, 1):
            for e in pipeline(text, aggregation_strategy=strategy):
                start, end = (len(text[:e[edge]].encode()) for edge in ("start", "end"))
                kind = e.get("entity_group", e.get("entity"))
                rows.append(f"{strategy}\t{number}\t{start}\t{end}\t{kind}\t{e['score']:.6f}")
    (EXPECTED / "entities.txt").write_text("\n".join(ENTITY_TEXTS) + "\n", encoding="utf-8")
    (EXPECTED / "entities.tsv").write_text("\n".join(rows) + "\n")


def make_shapes():
    """Encoders whose sizes and storage are unlike each other."""
    t = transformers
    v = 97  # neither a multiple of a vector nor even
    base = dict(vocab_size=v, hidden_size=20, num_attention_heads=5, intermediate_size=37)
    make("layers-0", t.BertModel, bert(**base, num_hidden_layers=0), std=0.02, layers=3)
    make("layers-24", t.BertModel, bert(**{**base, "hidden_size": 16, "num_attention_heads": 4, "intermediate_size": 17},
         num_hidden_layers=24), std=0.02, dtype=torch.float16, layers=3)
    make("heads-1", t.BertModel, bert(**{**base, "hidden_size": 64, "num_attention_heads": 1}), std=0.08,
         lengths=LENGTHS[:5], dtype=torch.float16)
    make("heads-of-1", t.BertModel, bert(**{**base, "hidden_size": 7, "num_attention_heads": 7, "intermediate_size": 3}),
         std=0.08, layers=3)
    make("odd", t.BertForMaskedLM, bert(**{**base, "hidden_size": 30}, num_hidden_layers=2), std=0.08, layers=3)
    make("head-size-33", t.BertModel, bert(**{**base, "hidden_size": 33, "num_attention_heads": 1}), std=0.3, lengths=LENGTHS[:5])
    make("head-size-32", t.BertModel, bert(**{**base, "hidden_size": 64, "num_attention_heads": 2,
         "intermediate_size": 96}), std=0.3, lengths=LENGTHS[:5], dtype=torch.float16)
    make("long", t.BertModel, bert(**{**base, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16},
         max_position_embeddings=512), std=0.6, lengths=(512, 1, 129, 255))
    # The same weights four times: only the activation differs.
    for act in ("gelu", "gelu_new", "relu", "silu"):
        make(f"act-{act}", t.BertForMaskedLM, bert(**base, hidden_act=act), std=0.3, lengths=SHORT)
    make("eps-1e-5", t.BertModel, bert(**base, layer_norm_eps=1e-5), std=0.02, lengths=SHORT)
    make("no-pooler", t.BertModel, bert(**base), lengths=SHORT, add_pooling_layer=False)
    make("types-1", t.BertModel, bert(**base, type_vocab_size=1), lengths=SHORT)
    make("untied", t.BertForMaskedLM, bert(**base, tie_word_embeddings=False), std=0.3, lengths=SHORT)
    make("float16", t.BertModel, bert(**base), dtype=torch.float16, lengths=SHORT)
    make("bfloat16", t.BertModel, bert(**base), dtype=torch.bfloat16, lengths=SHORT)
    make("sharded", t.BertForMaskedLM, bert(**base, num_hidden_layers=2), lengths=SHORT, storage="sharded")
    make("pickle", t.BertForMaskedLM, bert(**base), lengths=SHORT, storage="bin")
    make("pickle-old", t.BertForMaskedLM, bert(**base), lengths=SHORT, storage="old_bin")
    make("gamma-beta", t.BertForPreTraining, bert(**base), lengths=SHORT, storage="gamma_beta")
    make("no-prefix", t.BertForSequenceClassification, bert(**base), lengths=SHORT, storage="no_prefix")
    make("distilbert-no-prefix", t.DistilBertModel, distilbert(vocab_size=v, n_layers=1, activation="relu"),
         lengths=SHORT)


def write_old_style(directory):
    """modules.json and its kin as sentence-transformers wrote them until version 5: most models of the hub."""
    path = directory / "modules.json"
    modules = json.loads(path.read_text())
    for module in modules:
        module["type"] = "sentence_transformers.models." + module["type"].rpartition(".")[2]
    write_json(path, modules)
    write_json(directory / "sentence_bert_config.json", {"max_seq_length": 24, "do_lower_case": False})
    write_tokenizer(directory, len(PIECES), max_length=512)
    pooling = {f"pooling_mode_{mode}": mode == "mean_tokens" for mode in
               ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")}
    write_json(directory / "1_Pooling" / "config.json", {"word_embedding_dimension": 16, **pooling})


def embed(directory, prompt=""):
    """The reference's fp64 vectors of SENTENCES, from the directory as it was written."""
    from sentence_transformers import SentenceTransformer

    st = SentenceTransformer(str(directory), device="cpu", model_kwargs={"dtype": torch.float32}).double()
    with torch.inference_mode():
        return [st.forward(st.preprocess([s], prompt=prompt))["sentence_embedding"][0].numpy() for s in SENTENCES]


def make_sentence_transformers():
    """sentence-transformers directories: one a pooling mode, and one with everything."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    base = HERE / "st-base.tmp"
    shutil.rmtree(base, ignore_errors=True)
    config = bert(hidden_size=16, num_attention_heads=2, intermediate_size=24)
    model = transformers.BertModel(config, add_pooling_layer=False)
    randomize(model, 0.3, 7)
    model.half().save_pretrained(base)
    write_tokenizer(base, len(PIECES), max_length=24)
    modes = ["cls", "mean", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
    for name, mode in [(mode.replace("_", "-"), mode) for mode in modes] + [("dense", ("mean", "max"))]:
        directory = HERE / f"st-{name}"
        shutil.rmtree(directory, ignore_errors=True)
        modules = [Transformer(str(base)), Pooling(16, pooling_mode=mode)]
        if name == "dense":
            layer = Dense(32, 10)
            randomize(layer, 0.3, 8)
            modules.append(layer)
        if name in ("mean", "dense"):
            modules.append(Normalize())
        prompts = {"query": "the cat: "} if name == "dense" else {}
        st = SentenceTransformer(modules=modules, prompts=prompts, device="cpu")
        st.save(str(directory), create_model_card=False)
        for file in ("model.safetensors", "config.json", "vocab.txt", "tokenizer_config.json"):
            shutil.copy(base / file, directory / file)
        (directory / "tokenizer.json").unlink(missing_ok=True)
        if name == "mean":
            write_old_style(directory)
        vectors = embed(directory)
        if prompts:
            vectors += embed(directory, prompt=prompts["query"])
        lines = ["\t".join(f"{x:.17g}" for x in vector) for vector in vectors]
        (EXPECTED / f"st-{name}.tsv").write_text("\n".join(lines) + "\n")
    (EXPECTED / "sentences.txt").write_text("\n".join(SENTENCES) + "\n")
    shutil.rmtree(base)


def static_tokenizer():
    """tokenizer.json as model2vec's distill leaves it: no special tokens around a text, none added."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece({p: i for i, p in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return tokenizer


def write_vectors(name, vectors):
    lines = ["\t".join(f"{float(x):.9g}" for x in vector) for vector in vectors]
    (EXPECTED / f"{name}.tsv").write_text("\n".join(lines) + "\n")


def make_static():
    """Static vectors: model2vec's, plain and with few rows for many tokens, and a StaticEmbedding."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers.processors import TemplateProcessing

    rng = np.random.default_rng(12)
    table = rng.normal(size=(len(PIECES), 6)).astype(np.float32)
    kind = {"model_type": "model2vec", "architectures": ["StaticModel"], "hidden_dim": 6, "seq_length": 1000000}
    models = {
        # So short that the characters are cut too, before the tokens are.
        "static-model2vec": model2vec.StaticModel(table, static_tokenizer(), config=kind, normalize=True, max_length=9),
        # Without model_type: StaticModel does not write it of itself.
        "static-shared": model2vec.StaticModel(
            rng.integers(-127, 128, (20, 5)).astype(np.int8), static_tokenizer(), max_length=None,
            weights=rng.random(len(PIECES)), token_mapping=rng.integers(0, 20, len(PIECES))),
    }
    for name, model in models.items():
        shutil.rmtree(HERE / name, ignore_errors=True)
        model.save_pretrained(HERE / name)
        (HERE / name / "README.md").unlink()
        write_vectors(name, model2vec.StaticModel.from_pretrained(HERE / name).encode(SENTENCES))

    # The layout of most of the hub: a folder of its own. This tokenizer has special tokens, and cuts.
    directory = HERE / "static-embedding"
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "0_StaticEmbedding").mkdir(parents=True)
    tokenizer = static_tokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.enable_truncation(12)
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(directory / "0_StaticEmbedding" / "tokenizer.json"), pretty=False)
    save_file({"embedding.weight": torch.tensor(table)}, directory / "0_StaticEmbedding" / "model.safetensors")
    write_json(directory / "modules.json", [
        {"idx": i, "name": str(i), "path": f"{i}_{module}", "type": f"sentence_transformers.models.{module}"}
        for i, module in enumerate(("StaticEmbedding", "Normalize"))])
    write_json(directory / "config_sentence_transformers.json", {"prompts": {"query": "the cat: "}, "truncate_dim": 4})
    st = SentenceTransformer(str(directory), device="cpu")
    write_vectors("static-embedding", [*st.encode(SENTENCES), *st.encode(SENTENCES, prompt_name="query")])


def check_versions():
    for module, version in PINNED.items():
        if module.__version__.split("+")[0] != version:
            raise SystemExit(f"{module.__name__} is {module.__version__}, the reference is {version}")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    EXPECTED.mkdir(exist_ok=True)


def main():
    check_versions()
    make_heads()
    make_mpnet()
    make_named_heads()
    make_entities()
    make_shapes()
    make_sentence_transformers()
    make_static()


if __name__ == "__main__":
    main()
