"""The runtimes a user could pick instead, each with its best settings, behind one small interface.

A peer opens a model for a precision and runs batches of token ids; every one computes the last hidden states
of the same weights. `mean_vectors` is used once to see that a peer computes the same thing.
"""

import inspect
import os
from pathlib import Path

import numpy as np

BATCH_SIZES = (1, 4, 16, 32, 64)


def padded(sequences):
    """input_ids and attention_mask [S, n] of int64, padded to the longest."""
    n = max(len(s) for s in sequences)
    ids = np.zeros((len(sequences), n), np.int64)
    mask = np.zeros((len(sequences), n), np.int64)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    return ids, mask


class PyTorch:
    precisions = ("f32", "bf16", "int8")

    def __init__(self, model_dir, cache, precision, threads):
        import torch
        from transformers import AutoModel

        torch.set_num_threads(threads)
        self.torch = torch
        # Attention as transformers chooses it: sdpa, but for families that have it not (MPNet).
        self.model = AutoModel.from_pretrained(model_dir, dtype=torch.float32).eval()
        if precision == "bf16":
            self.model = self.model.to(torch.bfloat16)
        if precision == "int8":
            from torch.ao.quantization import quantize_dynamic

            self.model = quantize_dynamic(self.model, {torch.nn.Linear}, dtype=torch.qint8)

    def run(self, sequences):
        ids, mask = padded(sequences)
        with self.torch.inference_mode():
            inputs = {"input_ids": self.torch.from_numpy(ids)}
            if mask.min() == 0:  # without a mask sdpa takes its faster path
                inputs["attention_mask"] = self.torch.from_numpy(mask)
            return self.model(**inputs).last_hidden_state

    def numpy(self, output):
        return output.float().numpy()


def feed_of(sequences, names):
    """The inputs of these names, padded."""
    ids, mask = padded(sequences)
    values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    return {name: values[name] for name in names}


def export_onnx(model_dir, path):
    import torch
    from transformers import AutoModel

    class Encoder(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, *values):
            return self.model(**dict(zip(names, values))).last_hidden_state

    model = AutoModel.from_pretrained(model_dir, dtype=torch.float32, attn_implementation="eager").eval()
    known = inspect.signature(model.forward).parameters  # some families have no token types
    names = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in known]
    ones = torch.ones(2, 8, dtype=torch.long)
    ids = ones * (model.config.vocab_size - 1)  # no padding among them: positions count on
    values = {"input_ids": ids, "attention_mask": ones, "token_type_ids": ones * 0}
    axes = {name: {0: "batch", 1: "length"} for name in names + ["last_hidden_state"]}
    torch.onnx.export(
        Encoder(model), tuple(values[name] for name in names), path, input_names=names,
        output_names=["last_hidden_state"], dynamic_axes=axes, opset_version=17, dynamo=False,
    )


def quantize_onnx(path):
    """Dynamic int8 by ONNX Runtime, beside `path`."""
    small = path.with_suffix(".int8.onnx")
    if not small.exists():
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic

        # Signed weights of 8 bits a channel: what VNNI multiplies without losing a bit.
        quantize_dynamic(
            path, small, weight_type=QuantType.QInt8, per_channel=True,
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )
    return small


class OnnxRuntime:
    """fp32 through ONNX Runtime's own BERT optimiser; int8 by its dynamic quantisation of that."""

    precisions = ("f32", "int8")

    def __init__(self, model_dir, cache, precision, threads):
        import onnxruntime as ort

        path = self.convert(model_dir, cache, precision)
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.names = [entry.name for entry in self.session.get_inputs()]

    @staticmethod
    def convert(model_dir, cache, precision):
        plain, fused = cache / "model.onnx", cache / "fused.onnx"
        if not plain.exists():
            export_onnx(model_dir, plain)
        if not fused.exists():
            from onnxruntime.transformers import optimizer
            from transformers import AutoConfig

            config = AutoConfig.from_pretrained(model_dir)
            optimizer.optimize_model(
                str(plain), model_type="bert", num_heads=config.num_attention_heads,
                hidden_size=config.hidden_size, opt_level=1,
            ).save_model_to_file(str(fused))
        return quantize_onnx(fused) if precision == "int8" else fused

    def run(self, sequences):
        return self.session.run(None, feed_of(sequences, self.names))[0]

    def numpy(self, output):
        return output


class OpenVino:
    """int8: the model that ONNX Runtime quantised dynamically; post-training calibration is not done here."""

    precisions = ("f32", "bf16", "int8")

    def __init__(self, model_dir, cache, precision, threads):
        import openvino as ov

        OnnxRuntime.convert(model_dir, cache, "f32")
        plain = cache / "model.onnx"  # without ONNX Runtime's own operators
        core = ov.Core()
        model = core.read_model(quantize_onnx(plain) if precision == "int8" else plain)
        hints = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32",
        }
        self.names = [entry.any_name for entry in model.inputs]
        self.request = core.compile_model(model, "CPU", hints).create_infer_request()

    def run(self, sequences):
        result = self.request.infer(feed_of(sequences, self.names), share_inputs=True)
        return next(iter(result.values()))

    def numpy(self, output):
        return np.array(output)


class CTranslate2:
    precisions = ("f32", "bf16", "int8")

    def __init__(self, model_dir, cache, precision, threads):
        import ctranslate2

        path = cache / "ctranslate2"
        if not path.exists():
            ctranslate2.converters.TransformersConverter(str(model_dir)).convert(str(path))
        kind = {"f32": "float32", "bf16": "bfloat16", "int8": "int8_float32"}[precision]
        self.encoder = ctranslate2.Encoder(str(path), device="cpu", compute_type=kind, intra_threads=threads)

    def run(self, sequences):
        return self.encoder.forward_batch(sequences).last_hidden_state

    def numpy(self, output):
        return np.array(output)


class LlamaCpp:
    """llama.cpp through llama-cpp-python: Q8_0 for int8. It reads BERT's layers as GGUF, which is written here."""

    precisions = ("f32", "int8")

    def __init__(self, model_dir, cache, precision, threads):
        import llama_cpp

        self.lib = llama_cpp
        kind = "Q8_0" if precision == "int8" else "F32"
        path = cache / f"{kind}.gguf"
        if not path.exists():
            write_gguf(model_dir, path, kind)
        llama_cpp.llama_backend_init()
        self.no_log = llama_cpp.llama_log_callback(lambda *_: None)
        llama_cpp.llama_log_set(self.no_log, None)
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
        self.width = llama_cpp.llama_model_n_embd(self.model)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = self.room = 512 * max(BATCH_SIZES)
        params.n_seq_max = max(BATCH_SIZES)
        params.n_threads = params.n_threads_batch = threads
        params.embeddings = True
        params.pooling_type = llama_cpp.LLAMA_POOLING_TYPE_NONE
        params.attention_type = llama_cpp.LLAMA_ATTENTION_TYPE_NON_CAUSAL
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        self.batch = llama_cpp.llama_batch_init(self.room, 0, 1)

    def run(self, sequences):
        at = 0
        for number, sequence in enumerate(sequences):
            for position, token in enumerate(sequence):
                self.batch.token[at], self.batch.pos[at], self.batch.logits[at] = token, position, True
                self.batch.n_seq_id[at], self.batch.seq_id[at][0] = 1, number
                at += 1
        self.batch.n_tokens = at
        if self.lib.llama_encode(self.context, self.batch) != 0:
            raise RuntimeError("llama_encode")
        values = np.ctypeslib.as_array(self.lib.llama_get_embeddings(self.context), (at, self.width))
        ends = np.cumsum([len(sequence) for sequence in sequences])
        return np.split(values.copy(), ends[:-1])

    def numpy(self, output):
        return output


def write_gguf(model_dir, path, kind):
    """A directory of BertModel as llama.cpp reads it. Only ids are asked for, so the words are any that differ."""
    import gguf
    from transformers import AutoModel

    model = AutoModel.from_pretrained(model_dir)
    config = model.config
    writer = gguf.GGUFWriter(str(path), "bert")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_eps(config.layer_norm_eps)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.NONE)
    writer.add_tokenizer_model("bert")
    writer.add_token_list([f"word{id}" for id in range(config.vocab_size)])
    writer.add_token_type_count(config.type_vocab_size)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        if name.startswith("pooler.") or name.endswith("position_ids"):
            continue
        values = tensor.float().numpy()
        known = names.get_name(name, try_suffixes=(".weight", ".bias"))
        small = kind == "Q8_0" and values.ndim == 2 and not known.startswith(("position_embd", "token_types"))
        if small:
            type_ = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(known, gguf.quants.quantize(values, type_), raw_dtype=type_)
        else:
            writer.add_tensor(known, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


PEERS = {"pytorch": PyTorch, "onnxruntime": OnnxRuntime, "openvino": OpenVino, "ctranslate2": CTranslate2,
         "llamacpp": LlamaCpp}


def cache_for(model_dir, root):
    """A folder for what is converted from this model."""
    path = Path(root) / "-".join(Path(os.path.realpath(model_dir)).parts[1:])
    path.mkdir(parents=True, exist_ok=True)
    return path
