"""Writes the files of a tiny BERT model, whole or broken on purpose. Python's standard library only."""

import io
import json
import os
import struct
import zipfile

VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "a", "b", "c", "d", "hello", "world", "##s"]
HIDDEN, HEADS, LAYERS, INTERMEDIATE, POSITIONS, TYPES = 8, 2, 2, 16, 16, 2


WORDS = "embeddings.word_embeddings.weight"


def config(**changes):
    values = {
        "model_type": "bert", "architectures": ["BertModel"], "vocab_size": len(VOCAB), "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INTERMEDIATE,
        "max_position_embeddings": POSITIONS, "type_vocab_size": TYPES, "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
    }
    values.update(changes)
    return values


def shapes(layers=LAYERS):
    """Names and shapes of a BertModel's tensors, in the order of a checkpoint."""
    result = {
        "embeddings.word_embeddings.weight": [len(VOCAB), HIDDEN],
        "embeddings.position_embeddings.weight": [POSITIONS, HIDDEN],
        "embeddings.token_type_embeddings.weight": [TYPES, HIDDEN],
        "embeddings.LayerNorm.weight": [HIDDEN], "embeddings.LayerNorm.bias": [HIDDEN],
    }
    for i in range(layers):
        at = f"encoder.layer.{i}."
        for name, out, size in [("attention.self.query", HIDDEN, HIDDEN), ("attention.self.key", HIDDEN, HIDDEN),
                                ("attention.self.value", HIDDEN, HIDDEN),
                                ("attention.output.dense", HIDDEN, HIDDEN),
                                ("intermediate.dense", INTERMEDIATE, HIDDEN),
                                ("output.dense", HIDDEN, INTERMEDIATE)]:
            result[at + name + ".weight"] = [out, size]
            result[at + name + ".bias"] = [out]
        for name in ["attention.output.LayerNorm", "output.LayerNorm"]:
            result[at + name + ".weight"] = [HIDDEN]
            result[at + name + ".bias"] = [HIDDEN]
    result["pooler.dense.weight"] = [HIDDEN, HIDDEN]
    result["pooler.dense.bias"] = [HIDDEN]
    return result


def product(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def values(name, shape):
    """Small numbers that F16 and BF16 hold exactly, another row for each tensor."""
    state = sum(name.encode()) * 2654435761 % 2**32
    numbers = []
    for _ in range(product(shape)):
        state = (state * 1664525 + 1013904223) % 2**32
        numbers.append(((state >> 24) - 128) / 128)
    return numbers


def pack(numbers, dtype):
    if dtype == "BF16":
        return b"".join(struct.pack("<f", x)[2:] for x in numbers)
    code = {"F32": "f", "F64": "d", "F16": "e", "I64": "q"}[dtype]
    return struct.pack(f"<{len(numbers)}{code}", *numbers)


def tensors(dtype="F32", layers=LAYERS, rename=lambda name: name):
    """name -> (dtype, shape, bytes)"""
    return {rename(name): (dtype, shape, pack(values(name, shape), dtype)) for name, shape in shapes(layers).items()}


def header_of(model):
    header, at = {}, 0
    for name, (dtype, shape, data) in model.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    return header


def safetensors(model, header=None, text=None, pad=8, data=None, length=None):
    """The file of `model`; `header` or `text` stand for what its header should be."""
    if text is None:
        text = json.dumps(header_of(model) if header is None else header).encode()
        text += b" " * (-len(text) % pad)
    if data is None:
        data = b"".join(entry[2] for entry in model.values())
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def blocked_bytes(precision, out, size):
    """Bytes of a matrix in kernel order (bert-model(5), "Quantized directories")."""
    panels = (out + 15) // 16
    if precision == "bf16":
        return panels * 16 * 2 * ((size + 1) // 2 * 2)
    return panels * 16 * ((size + 63) // 64 * 8 + (size + 3) // 4 * 4)


def quantized(changes=None, layout="1", dtype="U8", cut=0, pad=64, precision="int8", factors=None):
    """What quantize writes, all its values 0. `changes`: of the metadata, by tensor."""
    model, metadata = {}, {"format": "pt", "bertutils_layout": layout}
    for name, (out, size) in [(WORDS, (len(VOCAB), HIDDEN))] + [
            (f"encoder.layer.{i}.attention.self.query_key_value.weight", (3 * HIDDEN, HIDDEN)) for i in range(LAYERS)]:
        data = b""
        if factors is not None:
            data = (struct.pack("<f", factors) * size).ljust((size + 15) // 16 * 64, b"\0")
        data += bytes(blocked_bytes(precision, out, size) - (cut if name == WORDS else 0))
        model[name] = (dtype, [len(data)], data)
        metadata["blocked." + name] = f"{precision} {out} {size}" + " factors" * (factors is not None)
    for name, text in (changes or {}).items():
        metadata["blocked." + name] = text
    for name, entry in tensors().items():
        if name != WORDS and not name.endswith(("query.weight", "key.weight", "value.weight")):
            model[name] = entry
    header = json.dumps({"__metadata__": metadata, **header_of(model)}).encode()
    return safetensors(model, text=header + b" " * (-(8 + len(header)) % pad))


# --- pytorch_model.bin -------------------------------------------------------------------------------

STORAGES = {"F32": "FloatStorage", "F16": "HalfStorage", "BF16": "BFloat16Storage", "F64": "DoubleStorage",
            "I64": "LongStorage"}


def text_op(text):
    data = text.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def int_op(value):
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if -2**31 <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    data = value.to_bytes(8, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def tuple_op(parts):
    return b"(" + b"".join(parts) + b"t"


def global_op(module, name):
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


def strides(shape):
    result, step = [], 1
    for size in reversed(shape):
        result.insert(0, step)
        step *= size
    return result


def tensor_op(key, shape, elements, storage="FloatStorage", stride=None, offset=0, module="torch", old=False):
    stride = strides(shape) if stride is None else stride
    persistent = tuple_op([text_op("storage"), global_op(module, storage), text_op(str(key)), text_op("cpu"),
                           int_op(elements)] + [b"N"] * old) + b"Q"
    return (global_op("torch._utils", "_rebuild_tensor_v2")
            + tuple_op([persistent, int_op(offset), tuple_op(map(int_op, shape)), tuple_op(map(int_op, stride)),
                        b"\x89", global_op("collections", "OrderedDict") + b")R"]) + b"R")


def pickle_of(model, first=None, old=False):
    """data.pkl of a state dict; `first` stands for the first tensor's value; `old`: as before torch 1.6."""
    out = b"\x80\x02" + global_op("collections", "OrderedDict") + b")R("
    for key, (name, (dtype, shape, data)) in enumerate(model.items()):
        size = len(data) // max(product(shape), 1)
        op = tensor_op(key, shape, len(data) // max(size, 1), STORAGES[dtype], old=old)
        out += text_op(name) + (first if key == 0 and first is not None else op)
    # torch pickles a state dict's attribute _metadata by BUILD.
    return out + b"u}" + text_op("_metadata") + global_op("collections", "OrderedDict") + b")Rsb."


def torch_zip(model, pickle=None, extra=(), drop=(), compress=zipfile.ZIP_STORED, byteorder=b"little", twice=None):
    """The archive that torch.save writes, with entries changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        entries = [("m/data.pkl", pickle_of(model) if pickle is None else pickle), ("m/byteorder", byteorder)]
        entries += [(f"m/data/{key}", data) for key, (_, _, data) in enumerate(model.values())]
        entries += list(extra) + [("m/version", b"3\n")]
        for name, data in entries:
            if name in drop:
                continue
            archive.writestr(zipfile.ZipInfo(name), data, compress)
            if name == twice:
                archive.writestr(zipfile.ZipInfo(name), data, compress)
    return out.getvalue()


def torch_old(model, pickle=None, magic=b"\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", protocol=1001, little=True,
              keys=None, elements=None):
    """The file that torch.save wrote before 1.6; `elements`: what stands before the first storage."""
    out = b"\x80\x02\x8a\x0a" + magic + b"." + b"\x80\x02" + int_op(protocol) + b"."
    out += b"\x80\x02}(" + text_op("protocol_version") + int_op(1001)
    out += text_op("little_endian") + (b"\x88" if little else b"\x89")
    out += text_op("type_sizes") + b"}(" + text_op("int") + int_op(4) + b"uu."
    out += pickle_of(model, old=True) if pickle is None else pickle
    if keys is None:
        keys = [str(key) for key in range(len(model))]
    out += b"\x80\x02](" + b"".join(map(text_op, keys)) + b"e."
    for key, (dtype, _, data) in enumerate(model.values()):
        size = {"F32": 4, "F16": 2, "BF16": 2, "F64": 8, "I64": 8}[dtype]
        count = len(data) // size if key > 0 or elements is None else elements
        out += struct.pack("<Q", count) + data
    return out


# --- directories -------------------------------------------------------------------------------------

def write(directory, files):
    """files: name -> bytes, text, or anything for json."""
    os.makedirs(directory, exist_ok=True)
    for name, content in files.items():
        if content is None:
            continue
        if not isinstance(content, (bytes, str)):
            content = json.dumps(content)
        if isinstance(content, str):
            content = content.encode("utf-8", "surrogatepass")
        os.makedirs(os.path.dirname(os.path.join(directory, name)), exist_ok=True)
        with open(os.path.join(directory, name), "wb") as file:
            file.write(content)


def model_files(**changes):
    """The files of a whole model; `changes` by file name with _ for . (None leaves a file out)."""
    files = {
        "config.json": config(),
        "vocab.txt": "".join(token + "\n" for token in VOCAB),
        "tokenizer_config.json": {"do_lower_case": True, "model_max_length": 10**30},
        "model.safetensors": safetensors(tensors()),
    }
    for name, content in changes.items():
        stem, _, ending = name.rpartition("_")
        files[f"{stem}.{ending}"] = content
    return files
