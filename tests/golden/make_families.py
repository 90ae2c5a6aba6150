#!/usr/bin/env python3
"""Makes the model directories of the families beside BERT's, as make_golden.py does for BERT's.

    pip install -r requirements.txt && python make_families.py
"""

import inspect
import json
import sys

import torch
import transformers as t
from safetensors.torch import save_file

import make_golden as golden
from make_golden import HERE, SHORT, labels, make

V = 97  # neither a multiple of a vector nor even
LONG = (1, 2, 7, 17, 64)
MORE = tuple(1 + i % 9 for i in range(97))  # with others 100 sequences or more: the error of a few results is luck


def small(config_class, **changes):
    size = dict(vocab_size=V, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40)
    return config_class(**{**size, **changes})


def make_named(names):
    """Calls each make_FAMILY among the names of a module, or those that the command line names."""
    for name, maker in list(names.items()):
        family = name.removeprefix("make_")
        if family == name or inspect.signature(maker).parameters:
            continue
        if len(sys.argv) < 2 or family in sys.argv[1:]:
            maker()


def make_roberta():
    """Positions behind the padding token's, whatever its id."""
    size = dict(max_position_embeddings=66, type_vocab_size=1, pad_token_id=1)
    make("roberta-mlm", t.RobertaForMaskedLM, small(t.RobertaConfig, **size, hidden_act="relu"), std=0.3, lengths=LONG,
         layers=3)
    make("roberta-pooler", t.RobertaModel, small(t.RobertaConfig, **{**size, "pad_token_id": 4, "max_position_embeddings": 69}, num_hidden_layers=1),
         std=0.3, lengths=LONG, attention=True, layers=3)
    make("roberta-classifier", t.RobertaForSequenceClassification, small(t.RobertaConfig, **size, **labels("no", "yes")),
         std=0.1, lengths=LONG, dtype=torch.float16)
    make("camembert-ner", t.CamembertForTokenClassification,
         small(t.CamembertConfig, **size, **labels("O", "B-PER", "I-PER")), std=0.3, lengths=SHORT)
    make("xlm-roberta-qa", t.XLMRobertaForQuestionAnswering, small(t.XLMRobertaConfig, **size), std=0.3, lengths=SHORT)
    make("xlm-roberta-classifier", t.XLMRobertaForSequenceClassification,
         small(t.XLMRobertaConfig, **size, **labels("LABEL_0")), std=0.1, lengths=LONG, dtype=torch.bfloat16)


def make_data2vec():
    """RoBERTa by another name (Baevski et al. 2022)."""
    make("data2vec-mlm", t.Data2VecTextForMaskedLM, small(t.Data2VecTextConfig, max_position_embeddings=66,
         type_vocab_size=1), std=0.3, lengths=SHORT)


def make_albert():
    """Layers that share weights, in one group and in two, and the head of sentence order."""
    size = dict(embedding_size=12, max_position_embeddings=64)
    make("albert", t.AlbertForPreTraining, small(t.AlbertConfig, **size, num_hidden_layers=3), std=0.3, lengths=LONG,
         layers=3)
    make("albert-groups", t.AlbertModel, small(t.AlbertConfig, **size, num_hidden_layers=5, num_hidden_groups=2,
         inner_group_num=2), std=0.2, lengths=SHORT + MORE, layers=3)
    make("albert-classifier", t.AlbertForSequenceClassification, small(t.AlbertConfig, **{**size, "embedding_size": 24},
         **labels("a", "b", "c")), std=0.1, lengths=LONG + MORE)
    make("albert-ner", t.AlbertForTokenClassification, small(t.AlbertConfig, **size, **labels("O", "B-X")), std=0.3,
         lengths=SHORT, dtype=torch.float16)
    make("albert-qa", t.AlbertForQuestionAnswering, small(t.AlbertConfig, **size), std=0.3, lengths=SHORT)


def make_deberta():
    """Version 3: shared projections, buckets, a norm; version 2: each of the parts, and the convolution."""
    v3 = dict(max_position_embeddings=160, type_vocab_size=0, relative_attention=True, max_relative_positions=-1,
              position_biased_input=False, pos_att_type="p2c|c2p", position_buckets=16, norm_rel_ebd="layer_norm",
              share_att_key=True, layer_norm_eps=1e-7)
    make("deberta-v3", t.DebertaV2Model, small(t.DebertaV2Config, **v3), std=0.3, lengths=(1, 2, 40, 150), layers=3,
         attention=True)
    make("deberta-v3-mlm", t.DebertaV2ForMaskedLM, small(t.DebertaV2Config, **v3, legacy=False, num_hidden_layers=1),
         std=0.3, lengths=SHORT)
    make("deberta-v3-classifier", t.DebertaV2ForSequenceClassification,
         small(t.DebertaV2Config, **v3, **labels("no", "yes")), std=0.1, lengths=LONG, dtype=torch.float16)
    make("deberta-v3-ner", t.DebertaV2ForTokenClassification, small(t.DebertaV2Config, **v3, **labels("O", "B-X")),
         std=0.3, lengths=SHORT)
    make("deberta-v3-qa", t.DebertaV2ForQuestionAnswering, small(t.DebertaV2Config, **v3), std=0.3, lengths=SHORT)
    v2 = dict(max_position_embeddings=64, type_vocab_size=2, relative_attention=True, pos_att_type=["c2p", "p2c"],
              position_biased_input=True, max_relative_positions=9, layer_norm_eps=1e-7)
    make("deberta-v2-mlm", t.DebertaV2ForMaskedLM, small(t.DebertaV2Config, **v2, conv_kernel_size=3, conv_groups=2,
         conv_act="gelu"), std=0.3, lengths=LONG, layers=3)
    make("deberta-v2-c2p", t.DebertaV2Model, small(t.DebertaV2Config, **{**v2, "pos_att_type": ["c2p"]},
         embedding_size=12, conv_kernel_size=5, num_hidden_layers=1), std=0.3, lengths=SHORT, layers=3)
    make("deberta-v2-p2c", t.DebertaV2Model, small(t.DebertaV2Config, **{**v2, "pos_att_type": ["p2c"]}), std=0.3,
         lengths=SHORT)
    make("deberta-v2-absolute", t.DebertaV2Model, small(t.DebertaV2Config, max_position_embeddings=64), std=0.3,
         lengths=SHORT)


def modernbert(**changes):
    size = dict(pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3,
                max_position_embeddings=256, num_hidden_layers=4, local_attention=16)
    return small(t.ModernBertConfig, **{**size, **changes})


def make_modernbert():
    """Windows, two thetas, norms before; every bias that the config can turn on."""
    make("modernbert", t.ModernBertModel, modernbert(), std=0.2, lengths=(1, 9, 30, 200), layers=3, attention=True)
    make("modernbert-mlm", t.ModernBertForMaskedLM, modernbert(num_hidden_layers=1), std=0.3, lengths=SHORT)
    make("modernbert-biases", t.ModernBertForMaskedLM, modernbert(
         attention_bias=True, mlp_bias=True, norm_bias=True, classifier_bias=True, decoder_bias=False,
         hidden_activation="silu", classifier_activation="relu", num_hidden_layers=2), std=0.3, lengths=SHORT)
    make("modernbert-classifier", t.ModernBertForSequenceClassification,
         modernbert(**labels("a", "b", "c"), num_hidden_layers=2), std=0.1, lengths=LONG, dtype=torch.bfloat16)
    make("modernbert-mean", t.ModernBertForSequenceClassification,
         modernbert(**labels("a", "b"), classifier_pooling="mean", num_hidden_layers=2), std=0.1, lengths=LONG)
    make("modernbert-ner", t.ModernBertForTokenClassification,
         modernbert(**labels("O", "B-X"), num_hidden_layers=2), std=0.3, lengths=SHORT)
    make("modernbert-qa", t.ModernBertForQuestionAnswering, modernbert(num_hidden_layers=2), std=0.3, lengths=SHORT)
    make("modernbert-hub", t.ModernBertModel, modernbert(), std=0.2, lengths=(9, 40))
    # As transformers 4 wrote it.
    edit_config("modernbert-hub", drop=("layer_types", "rope_parameters"), global_attn_every_n_layers=3,
                global_rope_theta=160000.0, local_rope_theta=10000.0)


def edit_config(name, drop=(), **members):
    path = HERE / name / "config.json"
    config = {k: v for k, v in json.loads(path.read_text()).items() if k not in drop}
    golden.write_json(path, {**config, **members})


def save_plain(name, model):
    """Under the names of transformers' own modules: save_pretrained restores those of the hub."""
    state = {k: v.contiguous().clone() for k, v in model.to(torch.float32).state_dict().items()}
    save_file(state, HERE / name / "model.safetensors", metadata={"format": "pt"})


def make_nomic():
    size = dict(max_position_embeddings=128)
    make("nomic", t.NomicBertModel, small(t.NomicBertConfig, **size), std=0.3, lengths=(1, 9, 100), layers=3)
    make("nomic-mlm", t.NomicBertForMaskedLM, small(t.NomicBertConfig, **size), std=0.3, lengths=SHORT)
    make("nomic-classifier", t.NomicBertForSequenceClassification, small(t.NomicBertConfig, **size, **labels("a", "b")),
         std=0.1, lengths=LONG)
    make("nomic-ner", t.NomicBertForTokenClassification, small(t.NomicBertConfig, **size, **labels("O", "B-X")),
         std=0.3, lengths=SHORT)
    make("nomic-hub", t.NomicBertModel, small(t.NomicBertConfig, **size), std=0.3, lengths=(9, 40))
    save_plain("nomic-plain", make("nomic-plain", t.NomicBertForMaskedLM, small(t.NomicBertConfig, **size), std=0.3,
                                   lengths=(9, 40)))
    # config.json of the hub's own code.
    edit_config("nomic-hub", drop=("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
                                   "max_position_embeddings", "hidden_act", "layer_norm_eps", "rope_parameters",
                                   "head_dim"),
                n_embd=24, n_layer=2, n_head=3, n_inner=40, n_positions=128, activation_function="swiglu",
                layer_norm_epsilon=1e-12, rotary_emb_base=1000, rotary_emb_fraction=1.0, rotary_emb_interleaved=False,
                prenorm=False, parallel_block=False, causal=False, use_rms_norm=False, qkv_proj_bias=False,
                mlp_fc1_bias=False, mlp_fc2_bias=False, rotary_emb_scale_base=None, rotary_scaling_factor=None)


def make_gte():
    size = dict(max_position_embeddings=128, type_vocab_size=1, pad_token_id=1)
    make("gte", t.GteModel, small(t.GteConfig, **size), std=0.3, lengths=(1, 9, 100), layers=3)
    make("gte-mlm", t.GteForMaskedLM, small(t.GteConfig, **{**size, "type_vocab_size": 0}), std=0.3, lengths=SHORT)
    make("gte-classifier", t.GteForSequenceClassification, small(t.GteConfig, **size, **labels("a", "b", "c"),
         rope_parameters={"rope_type": "linear", "factor": 2.5, "rope_theta": 5000.0}), std=0.1, lengths=LONG)
    make("gte-ner", t.GteForTokenClassification, small(t.GteConfig, **size, **labels("O", "B-X")), std=0.3,
         lengths=SHORT)
    make("gte-hub", t.GteModel, small(t.GteConfig, **size, rope_parameters={"rope_type": "default", "rope_theta": 700.0}),
         std=0.3, lengths=(9, 40))
    save_plain("gte-plain", make("gte-plain", t.GteForMaskedLM, small(t.GteConfig, **size), std=0.3, lengths=(9, 40)))
    edit_config("gte-hub", drop=("rope_parameters",), model_type="new", architectures=["NewModel"],
                position_embedding_type="rope", rope_theta=700.0, rope_scaling=None, pack_qkv=True,
                layer_norm_type="layer_norm", logn_attention_scale=False)


def main():
    golden.check_versions()
    make_roberta()
    make_data2vec()
    make_albert()
    make_deberta()
    make_modernbert()
    make_nomic()
    make_gte()


if __name__ == "__main__":
    main()
