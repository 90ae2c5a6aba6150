#!/usr/bin/env python3
"""Makes the model directories of the families that are near BERT's, as make_golden.py does for BERT's.

    pip install -r requirements.txt transformers==5.24.0 && python make_near.py [FAMILY ...]
"""

import json
import os

import torch
import transformers as t

import make_golden as golden
from make_families import LONG, MORE, SHORT, make_named, small
from make_golden import PIECES, labels, make

AMINO = "<cls> <pad> <eos> <unk> L A G V S E R T I D P K Q N F Y M H W C X B U Z O . - <null_1> <mask>".split()
MASK = PIECES.index("[MASK]")


def make_ernie():
    """BERT, and with a vector for the task."""
    make("ernie", t.ErnieForPreTraining, small(t.ErnieConfig, use_task_id=True, max_position_embeddings=64), std=0.3,
         lengths=LONG, layers=3, attention=True)
    make("ernie-classifier", t.ErnieForSequenceClassification, small(t.ErnieConfig, max_position_embeddings=64,
         **labels("a", "b", "c")), std=0.1, lengths=LONG)
    make("ernie-ner", t.ErnieForTokenClassification, small(t.ErnieConfig, max_position_embeddings=64, use_task_id=True,
         **labels("O", "B-X")), std=0.3, lengths=SHORT, dtype=torch.float16)
    make("ernie-qa", t.ErnieForQuestionAnswering, small(t.ErnieConfig, max_position_embeddings=64), std=0.3,
         lengths=SHORT)


def make_megatron_bert():
    size = dict(max_position_embeddings=64)
    make("megatron-bert", t.MegatronBertForPreTraining, small(t.MegatronBertConfig, **size), std=0.3, lengths=LONG,
         layers=3, attention=True)
    make("megatron-bert-classifier", t.MegatronBertForSequenceClassification, small(t.MegatronBertConfig, **size,
         **labels("a", "b", "c")), std=0.1, lengths=LONG, dtype=torch.bfloat16)
    make("megatron-bert-ner", t.MegatronBertForTokenClassification, small(t.MegatronBertConfig, **size,
         **labels("O", "B-X")), std=0.3, lengths=SHORT)
    make("megatron-bert-qa", t.MegatronBertForQuestionAnswering, small(t.MegatronBertConfig, **size), std=0.3,
         lengths=SHORT)


def make_prelayernorm():
    """RoBERTa with norms before: of all layers, and without one of the embeddings."""
    size = dict(max_position_embeddings=66, type_vocab_size=1, pad_token_id=1)
    for name, prefix in (("roberta-prelayernorm", "RobertaPreLayerNorm"), ("xlm-roberta-xl", "XLMRobertaXL")):
        config = getattr(t, prefix + "Config")
        make(name, getattr(t, prefix + "ForMaskedLM"), small(config, **size), std=0.3, lengths=LONG, layers=3,
             attention=True)
        make(name + "-pooler", getattr(t, prefix + "Model"), small(config, **size, hidden_act="relu"), std=0.3,
             lengths=SHORT)
        make(name + "-classifier", getattr(t, prefix + "ForSequenceClassification"),
             small(config, **size, **labels("no", "yes")), std=0.1, lengths=LONG, dtype=torch.float16)
        make(name + "-ner", getattr(t, prefix + "ForTokenClassification"), small(config, **size, **labels("O", "B-X")),
             std=0.3, lengths=SHORT)
        make(name + "-qa", getattr(t, prefix + "ForQuestionAnswering"), small(config, **size), std=0.3, lengths=SHORT)


def make_rembert():
    size = dict(max_position_embeddings=64, input_embedding_size=12, output_embedding_size=16)
    make("rembert", t.RemBertForMaskedLM, small(t.RemBertConfig, **size), std=0.3, lengths=LONG, layers=3,
         attention=True)
    make("rembert-classifier", t.RemBertForSequenceClassification, small(t.RemBertConfig, **size,
         **labels("a", "b", "c")), std=0.1, lengths=LONG)
    make("rembert-ner", t.RemBertForTokenClassification, small(t.RemBertConfig, **size, **labels("O", "B-X")), std=0.3,
         lengths=SHORT, dtype=torch.bfloat16)
    make("rembert-qa", t.RemBertForQuestionAnswering, small(t.RemBertConfig, **{**size, "input_embedding_size": 24}),
         std=0.3, lengths=SHORT)


def make_mobilebert():
    """Narrow layers with one, three and four nets; a pooler with and without its layer."""
    size = dict(max_position_embeddings=64, embedding_size=12, intra_bottleneck_size=18)
    make("mobilebert", t.MobileBertForPreTraining, small(t.MobileBertConfig, **size, num_feedforward_networks=4,
         classifier_activation=False), std=0.1, lengths=LONG, layers=3, attention=True)
    make("mobilebert-classifier", t.MobileBertForSequenceClassification, small(t.MobileBertConfig, **size,
         num_feedforward_networks=3, **labels("a", "b", "c")), std=0.1, lengths=LONG)
    make("mobilebert-first", t.MobileBertForSequenceClassification, small(t.MobileBertConfig, **size,
         num_feedforward_networks=2, classifier_activation=False, **labels("no", "yes")), std=0.1, lengths=SHORT)
    make("mobilebert-ner", t.MobileBertForTokenClassification, small(t.MobileBertConfig, **size,
         num_feedforward_networks=1, **labels("O", "B-X")), std=0.1, lengths=SHORT, dtype=torch.float16)
    make("mobilebert-qa", t.MobileBertForQuestionAnswering, small(t.MobileBertConfig, **size), std=0.1, lengths=SHORT)


def make_roformer():
    """Neighbours are turned; embeddings narrower and as wide as the layers."""
    size = dict(max_position_embeddings=256, embedding_size=12)
    make("roformer", t.RoFormerForMaskedLM, small(t.RoFormerConfig, **size), std=0.3, lengths=(1, 9, 30, 200),
         layers=3, attention=True)
    make("roformer-classifier", t.RoFormerForSequenceClassification, small(t.RoFormerConfig, max_position_embeddings=64,
         hidden_act="relu", **labels("a", "b", "c")), std=0.1, lengths=LONG)
    make("roformer-ner", t.RoFormerForTokenClassification, small(t.RoFormerConfig, **size, **labels("O", "B-X")),
         std=0.3, lengths=SHORT)
    make("roformer-qa", t.RoFormerForQuestionAnswering, small(t.RoFormerConfig, **size), std=0.3, lengths=SHORT)
    make("roformer-half", t.RoFormerModel, small(t.RoFormerConfig, **size), std=0.3, lengths=(1, 90),
         dtype=torch.float16)  # its angles are rounded, too


def make_esm():
    """Rotary positions with masks that scale their text, and the table of ESM-1b with a norm of its embeddings."""
    size = dict(max_position_embeddings=130, pad_token_id=1, mask_token_id=MASK, layer_norm_eps=1e-5)
    esm2 = dict(**size, position_embedding_type="rotary", token_dropout=True)
    make("esm", t.EsmForMaskedLM, small(t.EsmConfig, **esm2), std=0.3, lengths=(1, 9, 30, 120), layers=3,
         attention=True)
    make("esm-1b", t.EsmForMaskedLM, small(t.EsmConfig, **size, token_dropout=True, emb_layer_norm_before=True,
         position_embedding_type="absolute"), std=0.3, lengths=LONG)
    make("esm-pooler", t.EsmModel, small(t.EsmConfig, **{**esm2, "token_dropout": False}), std=0.3, lengths=SHORT)
    make("esm-classifier", t.EsmForSequenceClassification, small(t.EsmConfig, **esm2, **labels("a", "b", "c")), std=0.1,
         lengths=LONG)
    make("esm-half", t.EsmModel, small(t.EsmConfig, **esm2), std=0.3, lengths=(1, 90), dtype=torch.float16)
    make("esm-ner", t.EsmForTokenClassification, small(t.EsmConfig, **esm2, **labels("O", "B-X")), std=0.3,
         lengths=SHORT)


def make_esm_letters():
    """ESM-2's own tokenizer, over a random model: letters of amino acids. For the command line; it has no golden."""
    config = t.EsmConfig(vocab_size=len(AMINO), mask_token_id=AMINO.index("<mask>"), pad_token_id=1, hidden_size=8,
                         num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, max_position_embeddings=130,
                         position_embedding_type="rotary", token_dropout=True, layer_norm_eps=1e-5)
    torch.manual_seed(1)
    model = t.EsmForMaskedLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "esm-letters")
    model.save_pretrained(folder)
    with open(os.path.join(folder, "vocab.txt"), "w") as out:
        out.write("\n".join(AMINO))
    names = dict(unk_token="<unk>", pad_token="<pad>", cls_token="<cls>", mask_token="<mask>", eos_token="<eos>")
    for file, content in (("tokenizer_config.json", {"tokenizer_class": "EsmTokenizer"}), ("special_tokens_map.json", names)):
        with open(os.path.join(folder, file), "w") as out:
            out.write(json.dumps(content) + "\n")


def make_dpr():
    for name, kind in (("dpr-question", t.DPRQuestionEncoder), ("dpr-context", t.DPRContextEncoder)):
        make(name, kind, small(t.DPRConfig, max_position_embeddings=64), std=0.3, lengths=LONG)


def make_jina():
    size = dict(max_position_embeddings=130, type_vocab_size=1, pad_token_id=1)
    make("jina-v3", t.JinaEmbeddingsV3ForMaskedLM, small(t.JinaEmbeddingsV3Config, **size), std=0.3,
         lengths=(1, 9, 120), layers=3, attention=True)
    make("jina-v3-pooler", t.JinaEmbeddingsV3Model, small(t.JinaEmbeddingsV3Config, **size), std=0.3,
         lengths=SHORT + MORE)
    make("jina-v3-classifier", t.JinaEmbeddingsV3ForSequenceClassification, small(t.JinaEmbeddingsV3Config, **size,
         **labels("a", "b", "c")), std=0.1, lengths=LONG)
    make("jina-v3-ner", t.JinaEmbeddingsV3ForTokenClassification, small(t.JinaEmbeddingsV3Config, **size,
         **labels("O", "B-X")), std=0.3, lengths=SHORT, dtype=torch.bfloat16)
    make("jina-v3-qa", t.JinaEmbeddingsV3ForQuestionAnswering, small(t.JinaEmbeddingsV3Config, **size), std=0.3,
         lengths=SHORT)


def make_deberta():
    """DeBERTa, version 1: matrices that join heads, each part of the bias, both heads of a masked LM."""
    size = dict(max_position_embeddings=64, relative_attention=True, position_biased_input=False, pad_token_id=0)
    both = dict(**size, pos_att_type=["c2p", "p2c"])
    make("deberta", t.DebertaForMaskedLM, small(t.DebertaConfig, **both), std=0.3, lengths=LONG, layers=3,
         attention=True)
    make("deberta-own-head", t.DebertaForMaskedLM, small(t.DebertaConfig, **both, legacy=False, type_vocab_size=2,
         max_relative_positions=16), std=0.3, lengths=(1, 2, 7, 15), dtype=torch.float16)
    for name, changes in (("c2p", dict(size, pos_att_type="c2p")), ("p2c", dict(size, pos_att_type="p2c")),
                          ("absolute", dict(max_position_embeddings=64))):
        make("deberta-" + name, t.DebertaModel, small(t.DebertaConfig, **changes), std=0.3, lengths=SHORT)
    make("deberta-classifier", t.DebertaForSequenceClassification, small(t.DebertaConfig, **both, pooler_hidden_size=24,
         **labels("a", "b", "c")), std=0.1, lengths=LONG)
    make("deberta-ner", t.DebertaForTokenClassification, small(t.DebertaConfig, **both, **labels("O", "B-X")), std=0.3,
         lengths=SHORT, dtype=torch.bfloat16)
    make("deberta-qa", t.DebertaForQuestionAnswering, small(t.DebertaConfig, **both), std=0.3, lengths=SHORT)


def make_ibert():
    """I-BERT in floats: RoBERTa, and tensors of whole numbers that nothing reads."""
    size = dict(max_position_embeddings=66, type_vocab_size=1, pad_token_id=1)
    make("ibert", t.IBertForMaskedLM, small(t.IBertConfig, **size), std=0.3, lengths=SHORT)
    make("ibert-classifier", t.IBertForSequenceClassification, small(t.IBertConfig, **size, **labels("a", "b", "c")),
         std=0.1, lengths=LONG)


if __name__ == "__main__":
    make_named(globals())
