#!/usr/bin/env python3
"""Every fault of a model directory, and what the tools must say to it.

    bad_models.py TOOLS_FOLDER [ROW...]      runs the cases (all, or those whose name starts with ROW)
    bad_models.py --write FOLDER             only writes the directories

A bad model is refused in under a second and 256 MB, with the right status, nothing on standard output, and
one line on standard error that names the file and the reason and holds no control byte. A model that is
merely unusual must give the very output of the plain one. Python's standard library only.
"""

# flake8: noqa: F405
import json
import os
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import zipfile

from model_files import *  # noqa: F403

CASES = []
warnings.simplefilter("ignore", UserWarning)  # zipfile says so of an entry written twice
TEXT = b"hello world\na b c\n"
SANITIZED = bool(os.environ.get("BERT_SANITIZED"))  # their shadow memory counts as ours


class Case:
    """One directory, one command, what must come out."""

    def __init__(self, name, files=None, status=65, says=(), tool="embed", args=(), setup=None, limits=None,
                 same=False, warns=(), user=None, model=None, seconds=1.0, check=None):
        self.name, self.files, self.status = name, files, status
        self.says = [says] if isinstance(says, str) else list(says)
        self.warns = [warns] if isinstance(warns, str) else list(warns)
        self.tool, self.args, self.setup, self.limits = tool, list(args), setup, limits or {}
        self.same, self.user, self.model, self.seconds, self.check = same, user, model, seconds, check
        CASES.append(self)


def bad(name, says, status=65, **rest):
    Case(name, status=status, says=says, **rest)


def good(name, **rest):
    """Works, and says the same as the plain model unless told otherwise."""
    rest.setdefault("same", True)
    Case(name, status=0, **rest)


def weights(content, **rest):
    return model_files(model_safetensors=content, **rest)


def changed(**fields):
    return model_files(config_json=config(**fields))


def pickled(content):
    return model_files(model_safetensors=None, pytorch_model_bin=content)


def cells(name="embeddings.LayerNorm.bias", **fields):
    """A safetensors file whose header says something else of one tensor."""
    model = tensors()
    header = header_of(model)
    header[name].update(fields)
    return safetensors(model, header)


NORM = "embeddings.LayerNorm.bias"
FIRST = "embeddings.word_embeddings.weight"


def path_cases():
    bad("L01-missing", "no such model", 66, model="missing")
    bad("L01-missing-path", "no such model", 66, model="./missing/dir")
    bad("L01-file", "not a directory", 66, files={"f": "x"}, model="f")
    bad("L01-dangling", "no such model", 66, setup=lambda d: os.symlink("nowhere", f"{d}/l"), model="l")
    bad("L01-cycle", "symbolic links", 66, setup=lambda d: os.symlink("l", f"{d}/l"), model="l")
    for name in ["config.json", "model.safetensors"]:
        key = name.replace(".", "_")

        def replace(make, name=name):
            def setup(d):
                make(f"{d}/{name}")
            return setup

        def a_socket(path):
            with socket.socket(socket.AF_UNIX) as s:
                os.chdir(os.path.dirname(path))
                s.bind(os.path.basename(path))

        for kind, make in [("directory", os.mkdir), ("fifo", os.mkfifo), ("socket", a_socket),
                           ("zero", lambda p: os.symlink("/dev/zero", p))]:
            bad(f"L02-{kind}-{name}", [name, "not a regular file"], 66, files=model_files(**{key: None}),
                setup=replace(make), seconds=0.3)
        bad(f"L03-{name}", [name, "Permission denied"], 77, files=model_files(),
            setup=lambda d, name=name: os.chmod(f"{d}/{name}", 0), user=65534)

    def hub(d):
        os.makedirs(f"{d}/blobs")
        os.makedirs(f"{d}/snapshots/x")
        for name in os.listdir(d):
            if os.path.isfile(f"{d}/{name}"):
                os.rename(f"{d}/{name}", f"{d}/blobs/{name}")
                os.symlink(f"../../blobs/{name}", f"{d}/snapshots/x/{name}")

    good("L04-hub-links", files=model_files(), setup=hub, model="snapshots/x")


def safetensors_cases():
    whole = safetensors(tensors())
    text = json.dumps(header_of(tensors())).encode()
    name = "model.safetensors"
    bad("L05-empty", [name, "too short"], files=weights(b""))
    bad("L05-short", [name, "too short"], files=weights(whole[:7]))
    for label, length in [("0", 0), ("past-end", len(whole)), ("2^63", 2**63), ("2^64-8", 2**64 - 8),
                          ("100MB", 100_000_001)]:
        bad(f"L05-length-{label}", [name, str(length), str(len(whole)), "100000000"],
            files=weights(safetensors(tensors(), length=length)))
    data = whole[8 + struct.unpack("<Q", whole[:8])[0]:]

    def header(content):
        return weights(safetensors({}, text=content, data=data))

    bad("L06-utf8", [name, "byte", "invalid UTF-8"], files=header(text.replace(b"LayerNorm", b"Layer\xff\xfeNo", 1)))
    bad("L06-not-json", [name, "byte 0"], files=header(b"hello, this is no header"))
    bad("L06-array", [name, "wants an object"], files=header(b"[1, 2, 3]"))
    bad("L06-trailing", [name, f"byte {len(text)}"], files=header(text + b"x"))
    bad("L06-cut", [name, "byte"], files=header(text[:-2]))
    bad("L07-html", [name, "HTML"], files=weights("<!DOCTYPE html><html><body>Log in</body></html>"))
    bad("L07-lfs", [name, "git-lfs pointer"],
        files=weights("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 90868376\n"))
    deep = b"[" * 200_000
    bad("L08-config", ["config.json", "deeper than 64"], files=model_files(config_json=deep))
    bad("L08-header", [name, "deeper than 64"], files=weights(safetensors({}, text=b'{"a":' + deep, data=b"")))
    bad("L08-index", ["index.json", "deeper than 64"],
        files=model_files(model_safetensors=None) | {"model.safetensors.index.json": deep})
    bad("L08-tokenizer", ["tokenizer.json", "deeper than 64"], files=model_files(tokenizer_json=b'{"a":' * 200_000))
    bad("L09-config", ["config.json", "hidden_size", "twice"],
        files=model_files(config_json='{"hidden_size": 8, ' + json.dumps(config())[1:]))
    bad("L09-header", [name, "a.b", "twice"], files=header(
        b'{"a.b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a.b":{"dtype":"F32","shape":[1],'
        b'"data_offsets":[0,4]}}'))
    bad("L09-inner", [name, "shape", "twice"],
        files=header(b'{"a":{"dtype":"F32","shape":[1],"shape":[2],"data_offsets":[0,4]}}'))
    bad("L09-index", ["index.json", "weight_map", "twice"], files=model_files(model_safetensors=None) | {
        "model.safetensors.index.json": '{"weight_map": {"a": "x", "a": "y"}}'})
    bad("L10-surrogate", [name, "lone surrogate"],
        files=header(b'{"a\\ud800":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'))
    for label, escape in [("nul", "\\u0000"), ("escape", "\\u001b[31m"), ("newline", "\\n"), ("c1", "\\u009b1m")]:
        odd = safetensors(tensors() | {"ODD": ("F32", [1], b"\0\0\0\0")})
        good(f"L10-{label}-ignored", files=weights(resized(odd.replace(b"ODD", escape.encode()))))
        bad(f"L10-{label}-quoted", [name, "\\x"], files=header(
            f'{{"{escape}":{{"dtype":"F99","shape":[1],"data_offsets":[0,4]}}}}'.encode()))
    bad("L11-cut", [name, "bytes"], files=weights(whole[:-1]))
    bad("L11-more", [name, "bytes"], files=weights(whole + b"\0"))
    bad("L11-zip", [name, "bytes"], files=weights(whole + torch_zip({})))
    layout_cases(name)


def quantized_cases():
    name = "model.safetensors"
    joined = "encoder.layer.0.attention.self.query_key_value.weight"

    def file(**rest):
        return weights(quantized(**rest))

    good("Q01-int8", files=file(), same=False)
    good("Q01-bf16", files=file(precision="bf16"), same=False)
    good("Q01-unaligned", files=file(pad=8), same=False)
    good("Q01-factors", files=file(factors=0.5), same=False)
    good("Q01-factors-unaligned", files=file(factors=0.5, pad=8), same=False)
    good("Q01-config", files=file() | {"config.json": json.dumps(config(
        quantization_config={"quant_method": "bertutils", "dtype": "int8"}))}, same=False)
    for layout in ["2", "0", "", "1.0", "\x1b[31m"]:
        bad(f"Q02-layout-{layout!r}", [name, "layout", "wants 1"], 78, files=file(layout=layout))
    for text in ["", "int8", "int4 13 8", "int8 13", "int8 13 8 8", "int8 0 8", "int8 13 0", "int8 -13 8", "int8  13 8",
                 "int8 13 8 ", "int8 99999999999999999999 8", "int8 13 1048577", "int8 134217729 8", "f32 13 8",
                 "int8 13\t8", "int8 13 8 factor", "int8 13 8  factors", "int8 13 8 factors ", "bf16 13 8 factors",
                 "\x1b[31m"]:
        bad(f"Q03-metadata-{text!r}", [name, "metadata of tensor", WORDS], files=file(changes={WORDS: text}))
    for text in ["int8 17 8", "int8 13 9", "int8 13 8 factors", "int8 134217728 1048576"]:
        bad(f"Q04-size-{text}", [name, WORDS, "bytes of U8"], files=file(changes={WORDS: text}))
    for factor in [0, -1, float("inf"), float("nan")]:
        bad(f"Q04-factors-{factor}", [name, "factor 1 is", "wants a number above 0"], files=file(factors=factor))
    bad("Q04-cut", [name, WORDS, "bytes of U8"], files=file(cut=1))
    bad("Q04-type", [name, WORDS, "I8"], files=file(dtype="I8"))
    bad("Q04-mixed", [name, "int8 and bf16"], files=file(changes={WORDS: "bf16 13 8"}))
    bad("Q05-shape", [name, WORDS, "[16, 8]", "[13, 8]"], files=file(changes={WORDS: "int8 16 8"}))
    bad("Q05-width", [name, WORDS, "[13, 7]", "[13, 8]"], files=file(changes={WORDS: "int8 13 7"}))
    bad("Q05-thirds", [name, joined, "multiple of 3"], files=file(changes={joined: "int8 25 8"}))
    bad("Q05-rows", [name, "query", "[9, 8]", "[8, 8]"], files=file(changes={joined: "int8 27 8"}))
    bad("Q06-not-marked", [name, "tensor encoder.layer.0.attention.self.query.weight is missing"],
        files=weights(quantized().replace(b"blocked." + joined.encode(), b"Blocked." + joined.encode())))
    good("Q06-no-such-tensor", files=file(changes={"nothing": "int8 1 1"}), same=False)


def resized(file):
    """A safetensors file whose header changed its length."""
    end = file.index(b"}}") + 2
    while file[end:end + 1] == b" ":
        end += 1
    return struct.pack("<Q", end - 8) + file[8:]


def layout_cases(name):
    model = tensors()
    begin, end = header_of(model)[NORM]["data_offsets"]
    for label, offsets, says in [
            ("overlap", [begin - 4, end - 4], "overlap"), ("hole", [begin + 4, end + 4], ""),
            ("backwards", [end, begin], "do not lie"), ("negative", [-32, 0], "-32"), ("float", [0.5, 32.5], "0.5"),
            ("string", ["0", "32"], "\"0\""), ("2^64", [2**64, 2**64 + 32], "whole numbers"),
            ("2^63", [2**63 - 1, 2**63 - 1], "do not lie"), ("one", [begin], "wants 2"),
            ("three", [begin, end, end], "wants 2"), ("past-end", [2**40, 2**40 + 32], "do not lie")]:
        bad(f"L12-{label}", [name, NORM if label not in ("overlap", "hole") else "embeddings", says],
            files=weights(cells(data_offsets=offsets)))
    for label, shape, says in [
            ("negative", [-8], "-8"), ("float", [8.0], "8"), ("wraps-to-0", [2**32, 2**32], "too large"),
            ("bytes-wrap", [2**62], "too large"), ("wraps-to-size", [2**61, 8, 8], "too large"),
            ("rank", [1] * 100_000, "dimensions"), ("rank-9", [1] * 8 + [8], "dimensions"),
            ("string", ["8"], "\"8\""), ("null", None, "null"), ("other", [9], "36")]:
        bad(f"L13-{label}", [name, NORM, says], files=weights(cells(shape=shape)))
    good("L13-rank-8", files=weights(safetensors(tensors() | {"x": ("F32", [1] * 8, b"\0\0\0\0")})))
    good("L13-no-element", files=weights(safetensors(tensors() | {"x": ("F32", [0, 5], b"")})))
    good("L13-scalar", files=weights(safetensors(tensors() | {"x": ("F32", [], b"\0\0\0\0")})))
    bad("L14-unknown", [name, NORM, "F31"], files=weights(cells(dtype="F31")))
    bad("L14-number", [name, NORM], files=weights(cells(dtype=32)))
    bad("L14-size", [name, NORM, "bytes"], files=weights(cells(dtype="F16")))
    integers = tensors()
    integers[NORM] = ("I32", [HIDDEN], integers[NORM][2])
    bad("L14-integer", [name, NORM, "I32"], files=weights(safetensors(integers)))
    bad("L14-float8", [name, NORM, "F8_E4M3"], 78,
        files=weights(safetensors(tensors() | {NORM: ("F8_E4M3", [HIDDEN], b"\0" * HIDDEN)})))
    for label, missing in [("first", FIRST), ("norm", NORM), ("layer", "encoder.layer.1.output.dense.bias"),
                           ("pooler", "pooler.dense.bias")]:
        bad(f"L15-missing-{label}", [name, missing, "missing"],
            files=weights(safetensors({k: v for k, v in tensors().items() if k != missing})))
    wide = "encoder.layer.0.intermediate.dense.weight"
    for label, shape in [("shape", [HIDDEN * INTERMEDIATE]), ("transposed", [HIDDEN, INTERMEDIATE])]:
        turned = tensors()
        turned[wide] = ("F32", shape, turned[wide][2])
        bad(f"L15-{label}", [name, wide, str(shape), str([INTERMEDIATE, HIDDEN])],
            files=weights(safetensors(turned)))
    for tool, head in [("mlm-fill", "masked"), ("mlm-score", "masked"), ("nsp-score", "next"), ("classify", "classif"),
                       ("qa", "question")]:
        bad(f"L16-{tool}", ["model.safetensors", head, "embed"], files=model_files(), tool=tool)


def unusual_cases():
    extra = {"position_ids": ("I64", [1, POSITIONS], pack(range(POSITIONS), "I64")),
             "cls.predictions.bias": ("F32", [len(VOCAB)], bytes(4 * len(VOCAB))), "zzz": ("BOOL", [3], b"\0\1\0")}
    good("L17-extra", files=weights(safetensors(tensors() | extra)))
    good("L17-prefix", files=weights(safetensors(tensors(rename=lambda n: "bert." + n))))
    good("L17-gamma", files=weights(safetensors(tensors(
        rename=lambda n: n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")))))
    for dtype in ["F16", "BF16", "F64"]:
        good(f"L17-{dtype}", files=weights(safetensors(tensors(dtype))))
    good("L17-metadata", files=weights(safetensors(
        tensors(), {"__metadata__": {"format": "pt"}} | header_of(tensors()))))
    good("L17-blank-before-header", files=weights(safetensors(
        tensors(), text=b"  \n" + json.dumps(header_of(tensors())).encode())))
    for pad in [1, 2, 3, 5, 7]:
        good(f"L18-unaligned-{pad}", files=weights(safetensors(
            tensors(), text=json.dumps(header_of(tensors())).encode().ljust(3000 + pad))))

    def sparse(d):
        os.truncate(f"{d}/model.safetensors", 2**40)

    bad("L19-trailing", ["model.safetensors", "bytes"], files=model_files(), setup=sparse, seconds=0.2)
    huge = tensors()
    huge_header = header_of(huge)
    at = max(entry["data_offsets"][1] for entry in huge_header.values())
    size = (2**40 - at) // 4 * 4 - 2**20
    huge_header["huge"] = {"dtype": "F32", "shape": [size // 4], "data_offsets": [at, at + size]}
    content = safetensors(huge, huge_header)
    good("L19-unused-tensor", files=weights(content),
         setup=lambda d: os.truncate(f"{d}/model.safetensors", len(content) + size))
    huge_header = header_of(huge)
    huge_header[list(huge_header)[-1]] = {"dtype": "F32", "shape": [size // 4], "data_offsets": [at - 32, at - 32 + size]}
    content2 = safetensors(huge, huge_header)
    bad("L19-tensor", ["model.safetensors", "pooler.dense.bias"], files=weights(content2), seconds=0.2,
        setup=lambda d: os.truncate(f"{d}/model.safetensors", len(content2) + size - 32))
    for label, value in [("nan", float("nan")), ("inf", float("inf"))]:
        model = tensors()
        broken = bytearray(model[NORM][2])
        broken[4:8] = struct.pack("<f", value)
        model[NORM] = ("F32", [HIDDEN], bytes(broken))
        good(f"L21-{label}", files=weights(safetensors(model)), same=False, warns=[NORM, "1 "],
             check=lambda out: b"nan" in out and len(out.splitlines()) == 2)
        bad(f"L21-{label}-strict", [NORM], files=weights(safetensors(model)), args=["--strict"])


def index_cases():
    model = tensors()
    names = list(model)
    first, second = dict(list(model.items())[:10]), dict(list(model.items())[10:])
    one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    index = {"metadata": {"total_size": 1}, "weight_map": {n: one if n in first else two for n in names}}

    def sharded(index, **files):
        return (model_files(model_safetensors=None) | {"model.safetensors.index.json": index, one: safetensors(first),
                                                       two: safetensors(second)} | files)

    good("L22-sharded", files=sharded(index))
    bad("L22-shard-missing", [two, "No such file"], 66, files=sharded(index, **{two: None}))
    for label, target in [("parent", "../model.safetensors"), ("absolute", "/etc/passwd"), ("inside", "x/../../y"),
                          ("dots", ".."), ("number", 7), ("empty", ""), ("nul", "a\0b")]:
        bad(f"L22-{label}", ["index.json", "weight_map"],
            files=sharded({"weight_map": index["weight_map"] | {names[0]: target}}))
    bad("L22-20000", ["index.json", "shards"],
        files=sharded({"weight_map": {f"t{i}": f"s{i}" for i in range(20_000)}}))
    bad("L22-wrong-shard", ["index.json", names[0], two],
        files=sharded({"weight_map": index["weight_map"] | {names[0]: two}}))
    bad("L22-no-map", ["index.json", "weight_map"], files=sharded({"metadata": {}}))
    bad("L22-map-is-list", ["index.json", "weight_map"], files=sharded({"weight_map": []}))
    bad("L22-broken-shard", [two, "bytes"], files=sharded(index, **{two: safetensors(second)[:-1]}))


def config_cases():
    bad("L23-missing", ["config.json", "No such file"], 66, files=model_files(config_json=None))
    bad("L23-empty", ["config.json", "empty"], files=model_files(config_json=b""))
    bad("L23-cut", ["config.json", "byte"], files=model_files(config_json=json.dumps(config())[:-20]))
    bad("L23-nuls", ["config.json", "byte 0"], files=model_files(config_json=bytes(600)))
    bad("L23-array", ["config.json", "wants an object"], files=model_files(config_json=b"[]"))
    bad("L23-html", ["config.json", "HTML"], files=model_files(config_json=b"<html></html>"))
    bad("L23-1GiB", ["config.json", "1073741824", "16777216"], files=model_files(),
        setup=lambda d: os.truncate(f"{d}/config.json", 2**30))
    bad("L23-16MiB-of-numbers", ["config.json", "wants an object"],
        files=model_files(config_json=b"[" + b"1," * (2**23 - 10) + b"1]"))
    sizes = ["hidden_size", "num_attention_heads", "intermediate_size", "vocab_size", "max_position_embeddings",
             "type_vocab_size"]
    for key in sizes:
        for label, value in [("0", 0), ("-1", -1), ("2^31", 2**31), ("2^63", 2**63), ("float", 8.5),
                             ("string", "8"), ("null", None), ("true", True), ("1e300", 1e300)]:
            bad(f"L24-{key}-{label}", ["config.json", key, "wants a whole number"], 78, files=changed(**{key: value}))
    bad("L24-divisor", ["config.json", "hidden_size", "8", "3"], 78, files=changed(num_attention_heads=3))
    for label, value in [("-1", -1), ("1e9", 10**9), ("string", "2")]:
        bad(f"L24-layers-{label}", ["config.json", "num_hidden_layers"], 78, files=changed(num_hidden_layers=value))
    bad("L24-more-layers", ["model.safetensors", "encoder.layer.2", "missing"], files=changed(num_hidden_layers=3))
    for key, value, tensor in [("max_position_embeddings", 32, "position_embeddings"),
                               ("vocab_size", 14, "word_embeddings"), ("type_vocab_size", 1, "token_type"),
                               ("hidden_size", 16, FIRST), ("intermediate_size", 32, "intermediate"),
                               ("vocab_size", 10**8, "word_embeddings")]:
        bad(f"L24-{key}-differs-{value}", ["model.safetensors", tensor, str(value)], files=changed(**{key: value}))
    for key in sizes[:5] + ["num_hidden_layers"]:
        bad(f"L24-{key}-missing", ["config.json", f"has no {key}"],
            files=model_files(config_json={k: v for k, v in config().items() if k != key}))
    bad("L24-two-missing", ["config.json", "hidden_size, num_attention_heads"], tool="quantize", args=["-o", "new"],
        files=model_files(config_json={k: v for k, v in config().items() if k not in sizes[:2]}))
    for label, value in [("negative", -1e-12), ("0", 0), ("1", 1), ("string", "1e-12"), ("list", [1e-12])]:
        bad(f"L25-eps-{label}", ["config.json", "layer_norm_eps"], 78, files=changed(layer_norm_eps=value))
    bad("L25-eps-nan", ["config.json", "byte"], files=model_files(
        config_json=json.dumps(config()).replace("1e-12", "NaN")))
    for label, value in [("unknown", "gelu_20"), ("number", 3), ("empty", ""), ("object", {})]:
        bad(f"L25-act-{label}", ["config.json", "hidden_act"], 78, files=changed(hidden_act=value))
    for value in ["longformer", "gpt2", "luke", "", 5, "\u001b[31m"]:
        bad(f"L26-type-{value!r}"[:24], ["config.json", "model_type", "bert, distilbert, electra, mpnet, roberta" if
                                          isinstance(value, str) else "string"], 78, files=changed(model_type=value))
    bad("L26-architecture", ["config.json", "T5ForMaskedLM"], 78, files=model_files(config_json={
        k: v for k, v in config(architectures=["T5ForMaskedLM"]).items() if k != "model_type"}))
    relative = {"relative_attention": True, "pos_att_type": "c2p"}
    for family, key, value, rest in [
            ("modernbert", "layer_types", ["full_attention"], {}),
            ("modernbert", "layer_types", ["full_attention", "other"], {"num_hidden_layers": 2}),
            ("modernbert", "rope_parameters", {"full_attention": {"rope_type": "yarn"}}, {}),
            ("modernbert", "global_rope_theta", -1, {}),
            ("modernbert", "global_attn_every_n_layers", 0, {}),
            ("modernbert", "classifier_pooling", "max", {}),
            ("modernbert", "local_attention", -2, {}),
            ("modernbert", "norm_bias", "yes", {}),
            ("nomic_bert", "prenorm", True, {}),
            ("nomic_bert", "rotary_emb_fraction", 0.5, {}),
            ("nomic_bert", "rotary_scaling_factor", 2, {}),
            ("nomic_bert", "head_dim", 3, {}),
            ("nomic_bert", "num_experts", 8, {}),
            ("eurobert", "num_key_value_heads", 5, {"num_attention_heads": 12}),
            ("eurobert", "classifier_pooling", "cls", {}),
            ("eurobert", "layer_types", ["sliding_attention"], {"num_hidden_layers": 1}),
            ("eurobert", "head_dim", 7, {}),
            ("eurobert", "head_dim", 0, {}),
            ("qwen3", "use_sliding_window", True, {}),
            ("qwen3", "rope_scaling", {"rope_type": "yarn", "factor": 4.0}, {}),
            ("gemma3_text", "sliding_window", 0, {}),
            ("gemma3_text", "query_pre_attn_scalar", 0, {}),
            ("gemma3_text", "layer_types", ["full_attention", "other"], {"num_hidden_layers": 2}),
            ("deberta", "talking_head", True, {}),
            ("ibert", "quant_mode", True, {}),
            ("new", "position_embedding_type", "absolute", {}),
            ("new", "logn_attention_scale", True, {}),
            ("new", "rope_scaling", {"type": "ntk", "factor": 0}, {}),
            ("new", "rope_scaling", {"type": "ntk", "factor": 2, "mixed_b": 1}, {}),
            ("deberta-v2", "pos_att_type", "c2p|p2p", {"relative_attention": True}),
            ("deberta-v2", "pos_att_type", "c2p", {}),
            ("deberta-v2", "position_buckets", 1, relative),
            ("deberta-v2", "position_buckets", 1000, relative),
            ("deberta-v2", "max_relative_positions", 1 << 40, relative),
            ("deberta-v2", "conv_kernel_size", 4, {}),
            ("deberta-v2", "conv_groups", 5, {"conv_kernel_size": 3}),
            ("deberta-v2", "attention_head_size", 5, {}),
            ("albert", "num_hidden_groups", 77, {"embedding_size": 8}),
            ("albert", "inner_group_num", 0, {"embedding_size": 8}),
            ("roberta", "pad_token_id", -1, {})]:
        bad(f"L26-{family}-{key}-{value}", ["config.json", key], 78, files=changed(**{**rest, "model_type": family, key: value}))
    for key, value in [("position_embedding_type", "relative_key"), ("is_decoder", True), ("add_cross_attention", True),
                       ("quantization_config", {"quant_method": "gptq"}), ("problem_type", "other")]:
        bad(f"L26-{key}", ["config.json", key], 78, files=changed(**{key: value}))
    for label, value in [("gap", {"0": "a", "2": "b"}), ("text", {"x": "a"}), ("empty", {}), ("negative", {"-1": "a"}),
                         ("tab", {"0": "a\tb"}), ("huge", {"99999999999999999999": "a"})]:
        bad(f"L26-id2label-{label}", ["config.json", "id2label"], 78, files=changed(id2label=value))


def module_cases():
    """modules.json of sentence-transformers: what follows the pooling must fit, and be known by its whole name."""
    def module(path, kind):
        return {"path": path, "type": kind if "." in kind else f"sentence_transformers.models.{kind}"}

    def modules(*kinds, dense=(), pooling=None, **rest):
        files = model_files() | {"1_Pooling/config.json": pooling or {"pooling_mode": "mean"}, **rest}
        for i, (size, out, shape) in enumerate(dense):
            files[f"{i}_Dense/config.json"] = {
                "in_features": size, "out_features": out, "bias": False, "activation_function": "torch.nn.Identity"}
            files[f"{i}_Dense/model.safetensors"] = safetensors(
                {"linear.weight": ("F32", shape, bytes(4 * product(shape)))})
        kinds = [module(f"{kinds[:i].count('Dense')}_Dense" if k == "Dense" else "1_Pooling" if k == "Pooling" else "", k)
                 for i, k in enumerate(kinds)]
        return files | {"modules.json": kinds}

    one = ["Transformer", "Pooling", "Dense"]
    two = {"pooling_mode": ["cls", "mean"]}
    good("L46-plain", files=modules("Transformer", "Pooling"))
    good("L46-chain", same=False, files=modules(*one, "Dense", dense=[(8, 4, [4, 8]), (4, 2, [2, 4])]))
    good("L46-two-modes", same=False, files=modules(*one, dense=[(16, 4, [4, 16])], pooling=two))
    for tool in ["embed", "quantize"]:
        args = ["-o", "new"] if tool == "quantize" else []
        for size in [4, 64, 4096, 2**20]:
            bad(f"L46-{tool}-width-{size}", ["0_Dense/config.json", f"in_features is {size}", "have 8"], tool=tool,
                args=args, files=modules(*one, dense=[(size, 1, [1, size])]), seconds=2.0)
        bad(f"L46-{tool}-chain", ["1_Dense/config.json", "in_features is 8", "have 4"], tool=tool, args=args,
            files=modules(*one, "Dense", dense=[(8, 4, [4, 8]), (8, 2, [2, 8])]))
        bad(f"L46-{tool}-two-modes", ["in_features is 8", "have 16"], tool=tool, args=args,
            files=modules(*one, dense=[(8, 4, [4, 8])], pooling=two))
        bad(f"L46-{tool}-shape", ["0_Dense", "linear.weight is [4, 8], wants [4, 16]"], tool=tool, args=args,
            files=modules(*one, dense=[(16, 4, [4, 8])]))
        # ColBERT: a vector for each token.
        bad(f"L46-{tool}-no-pooling", ["modules.json", "Pooling"], 78, tool=tool, args=args,
            files=modules("Transformer", "Dense", dense=[(8, 4, [4, 8])]))
        bad(f"L46-{tool}-pylate", ["config.json", "in_features"], tool=tool, args=args,
            files=modules("Transformer", "pylate.models.Dense.Dense"))
        bad(f"L46-{tool}-model_type", ["config_sentence_transformers.json", "ColBERT"], 78, tool=tool, args=args,
            files=modules("Transformer", **{"config_sentence_transformers.json": {"model_type": "ColBERT"}}))
        extra = {"linear.weight": ("F32", [4, 8], bytes(128)), "linear.bias": ("F32", [4], bytes(16))}
        bad(f"L46-{tool}-bias", ["0_Dense/model.safetensors", "linear.bias", "linear.weight alone"], tool=tool, args=args,
            files=modules(*one, dense=[(8, 4, [4, 8])]) | {"0_Dense/model.safetensors": safetensors(extra)})
        bad(f"L46-{tool}-activation", ["0_Dense/config.json", "Mish"], 78, tool=tool, args=args,
            files=modules(*one, dense=[(8, 4, [4, 8])]) | {"0_Dense/config.json": {
                "in_features": 8, "out_features": 4, "bias": False,
                "activation_function": "torch.nn.modules.activation.Mish"}})
    bad("L46-transformer-alone", ["modules.json", "no Pooling"], 78, files=modules("Transformer"))
    bad("L46-empty", ["modules.json", "no Pooling"], 78, files=modules())
    good("L46-transformer-alone-pool", args=["--pool", "mean"], files=modules("Transformer"))
    bad("L46-max-length", ["sentence_bert_config.json", "max_seq_length is 2", "2 special tokens"],
        files=modules("Transformer", "Pooling", **{"sentence_bert_config.json": {"max_seq_length": 2}}))
    good("L46-max-length-3", same=False, warns="cut at 3 tokens",
         files=modules("Transformer", "Pooling", **{"sentence_bert_config.json": {"max_seq_length": 3}}))
    bad("L46-normalize-alone", ["modules.json", "Pooling"], 78, files=modules("Transformer", "Normalize"))
    for kind in ["other.models.Pooling", "sentence_transformers.sparse_encoder.models.SpladePooling",
                 "sentence_transformers.models.LSTM", "sentence_transformers.models", "x.\u001b[31m"]:
        bad(f"L46-type-{kind!r}", ["modules.json", "type"], 78, files=modules("Transformer", kind))
    for kind in ["sentence_transformers.models.Pooling.Pooling", "sentence_transformers.sentence_transformer.modules.Pooling",
                 "sentence_transformers.sentence_transformer.modules.pooling.Pooling"]:
        good(f"L46-type-{kind}", files=modules("Transformer") | {"modules.json": [
            module("", "Transformer"), module("1_Pooling", kind)]})
    bad("L46-elsewhere", ["modules.json", "0_Transformer"], 78, files=modules("Transformer") | {
        "modules.json": [module("0_Transformer", "Transformer")]})
    route = "sentence_transformers.base.modules.router.Router"
    routed = modules("Transformer", "Pooling") | {"modules.json": [module("", route)]}
    bad("L46-router-none", ["config.json", "types"], files=routed)
    for label, says, structure, parameters in [
            ("empty", "names no routes", {}, {}), ("without", "without modules", {"a": []}, {}),
            ("unknown", "types: no key", {"a": ["b"]}, {}), ("outside", "../x", {"a": ["../x"]}, {}),
            ("usual", "has no route c", {"a": ["t"]}, {"default_route": "c"}),
            ("mapping", "has no route c", {"a": ["t"]}, {"route_mappings": {"(None, None)": "c"}})]:
        bad(f"L46-router-{label}", ["router_config.json", says], files=routed | {"router_config.json": {
            "types": {"t": "sentence_transformers.models.Transformer", "../x": "sentence_transformers.models.Transformer"},
            "structure": structure, "parameters": parameters}})
    bad("L46-router-second", ["modules.json", "Router"], 78, files=modules("Transformer") | {
        "modules.json": [module("", "Transformer"), module("", route)]})
    bad("L46-HF_ColBERT", ["config.json", "HF_ColBERT"], 78, files=changed(architectures=["HF_ColBERT"]))
    good("L46-HF_ColBERT-pool", args=["--pool", "mean"], files=changed(architectures=["HF_ColBERT"]))
    bad("L46-lower-case", ["sentence_bert_config.json", "do_lower_case"], 78, files=model_files(
        vocab_txt="".join(token.replace("hello", "Hello") + "\n" for token in VOCAB),
        tokenizer_config_json={"do_lower_case": False}, sentence_bert_config_json={"do_lower_case": True}))


def static_cases():
    """Models of static vectors: a table, and for each token its row and its factor."""
    tokenizer = {"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
                 "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {t: i for i, t in enumerate(VOCAB)}}}
    count = len(VOCAB)

    def tensor(dtype, shape, numbers=None):
        return dtype, shape, pack(numbers or [0] * product(shape), dtype)

    table = {"embeddings": tensor("F32", [count, 4])}

    def static(tensors=table, tokenizer=tokenizer, **config):
        return {"config.json": {"model_type": "model2vec", **config}, "tokenizer.json": tokenizer,
                "model.safetensors": safetensors(tensors)}

    def mapped(*last, dtype="I64", more=0):
        return {"embeddings": tensor("F32", [3, 4]),
                "mapping": tensor(dtype, [count + more], [2] * (count + more - len(last)) + list(last))}

    def embedding(*modules, tensors={"embedding.weight": tensor("F16", [count, 4])}, folder="0_StaticEmbedding"):
        folders = {"StaticEmbedding": folder, "Transformer": ""}
        return {"modules.json": [{"path": folders.get(kind, f"{i}_{kind}"),
                                  "type": f"sentence_transformers.models.{kind}"} for i, kind in enumerate(modules)],
                "0_StaticEmbedding/tokenizer.json": tokenizer,
                "0_StaticEmbedding/model.safetensors": safetensors(tensors)}

    for label, files in [("plain", static()), ("mapping", static(mapped())), ("longer", static(mapped(more=1))),
                         ("factors", static(table | {"weights": tensor("F64", [count])})),
                         ("no-limit", static(max_length=None)), ("no-type", static(model_type=None)),
                         ("folder", embedding("StaticEmbedding")), ("chain", embedding("StaticEmbedding", "Normalize")),
                         ("table-in-folder", embedding("StaticEmbedding", tensors=table))]:
        good(f"L47-{label}", same=False, files=files)
        bad(f"L47-{label}-classify", "static vectors", 78, tool="classify", files=files)
    for label, tensors, says in [
            ("no-table", {"weights": table["embeddings"]}, "embeddings"),
            ("list", {"embeddings": tensor("F32", [count])}, "rows of vectors"),
            ("empty", {"embeddings": tensor("F32", [count, 0])}, "rows of vectors"),
            ("integers", {"embeddings": tensor("I64", [count, 4])}, "I64"),
            ("few", {"embeddings": tensor("F32", [count - 1, 4])}, "12 rows"),
            ("mapping-short", mapped(more=-1), "mapping"), ("mapping-past", mapped(3), "row 3"),
            ("mapping-negative", mapped(-1), "row -1"), ("mapping-2^62", mapped(2**62), "row 4611686018427387904"),
            ("mapping-float", mapped(dtype="F32"), "F32"),
            ("factors-short", table | {"weights": tensor("F32", [count - 1])}, "weights"),
            ("factors-integers", table | {"weights": tensor("I64", [count])}, "weights")]:
        bad(f"L47-{label}", ["model.safetensors", says], files=static(tensors))
    for label, changes in [("length-0", {"max_length": 0}), ("length-text", {"max_length": "9"}),
                           ("length-2^40", {"max_length": 2**40}), ("normalize", {"normalize": "yes"})]:
        bad(f"L47-{label}", ["config.json", next(iter(changes))], 78, files=static(**changes))
    bad("L47-no-tokenizer", "tokenizer.json", 66, files=static(tokenizer=None))
    bad("L47-from-the-left", ["tokenizer.json", "left"], 78, files=static(tokenizer=tokenizer | {
        "truncation": {"direction": "Left", "max_length": 4, "strategy": "LongestFirst", "stride": 0}}))
    bad("L47-elsewhere", ["modules.json", "../x"], files=embedding("StaticEmbedding", folder="../x"))
    bad("L47-second", ["modules.json", "first"], 78, files=embedding("StaticEmbedding", "StaticEmbedding"))
    bad("L47-behind", ["modules.json", "StaticEmbedding"], 78, files=model_files() | embedding("Transformer", "StaticEmbedding"))
    bad("L47-pooling", ["modules.json", "order"], 78, files=embedding("StaticEmbedding", "Pooling"))


def adapter_cases():
    """A PEFT adapter, alone or beside a whole model, which it changes."""
    base = {"adapter_config.json": {"peft_type": "LORA", "base_model_name_or_path": "org/whole"}}
    for tool in ["embed", "tokenize", "chunk", "classify", "mlm-fill", "mlm-score", "ner", "qa", "rank", "nearest",
                 "attend", "translate", "bert-info"]:
        args = ["--unique", ".9"] if tool == "nearest" else []
        bad(f"L47-alone-{tool}", ["an adapter of org/whole: no such model"], 66, tool=tool, args=args, files=base)
    whole = model_files() | base
    for tool in ["embed", "classify", "mlm-fill", "attend"]:
        bad(f"L47-broken-{tool}", "adapter_model.safetensors", tool=tool, files=whole | {"adapter_model.safetensors": b"x"})
    bad("L47-none", ["an adapter without weights", "adapter_model.safetensors"], 66, files=whole)
    bad("L47-modules", "an adapter of org/whole", 66, files=base | {
        "modules.json": [{"path": "", "type": "sentence_transformers.models.Transformer"}]})
    for value in ["IA3", "LOHA", "PROMPT_TUNING", None]:
        bad(f"L47-kind-{value}", "an adapter of org/whole of the kind " + (f'"{value}"' if value else "that its file does not name"),
            78, files=base | {"adapter_config.json": {"peft_type": value, "base_model_name_or_path": "org/whole"}})
    for key, name in [("use_dora", "DoRA"), ("use_qalora", "QA-LoRA"), ("layer_replication", "layers that stand twice"),
                      ("target_parameters", "LoRA of parameters"), ("trainable_token_indices", "vectors of single tokens")]:
        bad(f"L47-{key}", [key, f"{name} is not supported"], 78, files=whole | {
            "adapter_config.json": base["adapter_config.json"] | {key: True if key.startswith("use") else [1]}})
    for way in ["pissa", "olora", "corda", "loftq", "lora_ga", "mica"]:
        bad(f"L47-{way}", ["init_lora_weights", f'"{way}"'], 78, files=whole | {
            "adapter_config.json": base["adapter_config.json"] | {"init_lora_weights": way}})
    bad("L47-no-name", "an adapter of a model that it does not name", 66,
        files={"adapter_config.json": {"peft_type": "LORA", "base_model_name_or_path": None}})
    bad("L47-adapters", "an adapter of org/old", 78, files=model_files() | {"adapter_config.json": {"model_name": "org/old"}})
    bad("L47-escape", r"an adapter of \x1b[31m", 78,
        files=model_files() | {"adapter_config.json": {"base_model_name_or_path": "\u001b[31m"}})
    bad("L47-syntax", ["adapter_config.json", "broken JSON"], 65, files=model_files() | {"adapter_config.json": "{"})
    for pattern in ["(?=a)", "a**(", "a*?", "("]:
        bad(f"L47-pattern-{pattern}", "alpha_pattern", 78, files=whole | {
            "adapter_config.json": base["adapter_config.json"] | {"alpha_pattern": {pattern: 1}}})
    query = "base_model.model.encoder.layer.0.attention.self.query"
    good = {f"{query}.lora_A.weight": ("F32", [2, HIDDEN], bytes(8 * HIDDEN)),
            f"{query}.lora_B.weight": ("F32", [HIDDEN, 2], bytes(8 * HIDDEN))}

    def adapter(label, says, status=65, **changes):
        changed = {name: value for name, value in (good | changes).items() if value}
        bad(f"L47-tensors-{label}", says, status, files=whole | {"adapter_model.safetensors": safetensors(changed)})

    adapter("half", ["attention.self.query: wants two matrices"], **{f"{query}.lora_B.weight": None})
    adapter("rank", ["attention.self.query: wants two matrices"],
            **{f"{query}.lora_B.weight": ("F32", [HIDDEN, 3], bytes(12 * HIDDEN))})
    adapter("shape", ["changes encoder.layer.0.attention.self.query.weight by"],
            **{f"{query}.lora_B.weight": ("F32", [HIDDEN + 1, 2], bytes(8 * HIDDEN + 8))})
    adapter("unknown", ["changes nothing.weight, which", "lacks"],
            **{"nothing.lora_A.weight": ("F32", [2, 3], bytes(24)), "nothing.lora_B.weight": ("F32", [3, 2], bytes(24))})
    adapter("dora", ["lora_magnitude_vector", "a kind of adapter"], 78,
            **{f"{query}.lora_magnitude_vector": ("F32", [HIDDEN], bytes(4 * HIDDEN))})
    adapter("integers", ["classifier.weight", "wants F32"], 78, **{"classifier.weight": ("I32", [2, HIDDEN], bytes(8 * HIDDEN))})


def gliner_cases():
    """A GLiNER directory: gliner_config.json with the encoder's config in it, or the encoder by its name."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "gliner-bert")
    files = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            files[name] = file.read()
    config = json.loads(files["gliner_config.json"])

    def gliner(label, says, status=65, without=(), tool="ner", **changes):
        rest = {name: content for name, content in files.items() if not name.startswith(tuple(without))}
        bad(f"L51-{label}", says, status, tool=tool, args=["--labels", "a"] if tool == "ner" else [],
            files=rest | {"gliner_config.json": config | changes})

    for tool in ["ner", "embed", "bert-info", "tokenize"]:
        gliner(f"escape-{tool}", r'span_mode: found "\x1b[31m"', 78, tool=tool, span_mode="\u001b[31m")
    for key in ["labels_encoder", "labels_decoder", "relations_layer"]:
        gliner(key, [key, "is not supported"], 78, **{key: "x"})
    for key, value in [("hidden_size", 10**9), ("hidden_size", 11), ("max_width", -1), ("max_len", 0), ("num_rnn_layers", 65),
                       ("max_width", 1.5), ("class_token_index", 1 << 40), ("vocab_size", -2)]:
        gliner(f"{key}-{value}", key, 78, **{key: value})
    gliner("width", ["token_rep_layer.projection", "wants"], hidden_size=14)
    gliner("layers", "tensor rnn.lstm.bias_ih_l1 is missing", num_rnn_layers=2)
    gliner("words", "tensor scorer.proj_token.bias is missing", span_mode="token_level")
    gliner("mark", "class_token_index 7 is not the mark", class_token_index=7)
    gliner("no-mark", "the vocabulary has no [X]", ent_token="[X]")
    gliner("own", "has no tokenizer", 66, without=["tokenizer"], model_name="")
    gliner("name", ["takes the tokenizer from its encoder", r"\x1b[31m"], 66, without=["tokenizer"], model_name="\u001b[31m")
    gliner("no-config", ["takes the config from its encoder org/none", "no such model"], 66, encoder_config=None,
           model_name="org/none")
    gliner("no-weights", "no weights", 66, without=["model"])
    bad("L51-syntax", ["gliner_config.json", "broken JSON"], tool="ner", args=["--labels", "a"],
        files=files | {"gliner_config.json": b"{"})


def wrapped_cases():
    """A whole model whose tensors have names of what was wrapped around it."""
    for prefix, by in [("_orig_mod.", "torch.compile"), ("module.", "DataParallel"), ("_forward_module.", "Lightning"),
                       ("base_model.model.", "PEFT"), ("0.auto_model.", "SentenceTransformer")]:
        says = ["model.safetensors: all names of tensors begin with " + prefix, by]
        for tool in ["embed", "mlm-fill", "attend", "classify"]:
            bad(f"L48-{prefix}{tool}", says, tool=tool,
                files=weights(safetensors(tensors(rename=lambda name, prefix=prefix: prefix + name))))
    bad("L48-bin", ["pytorch_model.bin: all names of tensors begin with module."],
        files=pickled(torch_zip(tensors(rename=lambda name: "module." + name))))
    lora = {"encoder.layer.0.attention.self.query.lora_A.default.weight": ("F32", [4, HIDDEN], bytes(16 * HIDDEN))}
    bad("L48-lora", ["tensor encoder.layer.0.attention.self.query.lora_A.default.weight", "adapter"], 78,
        files=weights(safetensors(tensors() | lora)))


def other_form_cases():
    """What stands where a model should be, and what it is."""
    for name in ["tf_model.h5", "flax_model.msgpack", "model_quantized.onnx", "onnx/model.onnx", "bge-q8_0.gguf",
                 "openvino_model.xml", "model.pt", "rust_model.ot"]:
        for tool in ["embed", "mlm-fill"]:
            bad(f"L49-{tool}-{name.replace('/', '-')}", ["no model.safetensors", f"{name} cannot be read", "save_pretrained"], 66,
                tool=tool, files=model_files(model_safetensors=None) | {name: b"x"})
        for tool in ["embed", "mlm-fill", "tokenize", "translate", "bert-info"]:
            bad(f"L49-alone-{tool}-{name.replace('/', '-')}", ["no config.json", f"{name} cannot be read"], 66, tool=tool,
                files={name: b"x"})
    inside = {f"checkpoint-500/{name}": content for name, content in model_files().items()}
    for tool in ["embed", "mlm-fill", "tokenize", "translate", "bert-info"]:
        bad(f"L49-inside-{tool}", ["no config.json", "a model is in ", "checkpoint-500, wants"], 66, tool=tool, files=inside)
    bad("L49-two-inside", ["checkpoint-500, others in 1 more, wants"], 66, files=inside | {"x/config.json": "{}"})
    bad("L49-cache", ["snapshots/0123, wants"], 66, files={"snapshots/0123/config.json": "{}", "refs/main": "0123"})
    page, pointer = "<!DOCTYPE html>\n", "version https://git-lfs.github.com/spec/v1\n"
    for name in ["config.json", "tokenizer.json", "vocab.txt", "model.safetensors", "modules.json"]:
        for content, kind in [(page, "HTML"), (pointer, "git-lfs")]:
            bad(f"L49-{kind}-{name}", [f"{name}: this is a", kind], files=model_files() | {name: content})
    bad("L49-lfs-bin", ["pytorch_model.bin: this is a git-lfs pointer"], files=pickled(pointer))


def encoding_cases():
    """Text files in UTF-16, as some editors on Windows save them."""
    plain = model_files()
    contents = {name: plain[name] for name in ["config.json", "vocab.txt", "tokenizer_config.json"]} | {
        "tokenizer.json": {"version": "1.0", "model": {"type": "WordPiece"}},
        "modules.json": [{"path": "", "type": "x.Transformer"}], "sentence_bert_config.json": {"max_seq_length": 12},
        "adapter_config.json": {"base_model_name_or_path": "org/whole"}}
    for name, content in contents.items():
        text = content if isinstance(content, str) else json.dumps(content)
        for label, coded in [("le", text.encode("utf-16")), ("be", b"\xfe\xff" + text.encode("utf-16-be")),
                             ("unmarked", text.encode("utf-16-le"))]:
            bad(f"L50-{label}-{name}", [f"{name}: this is UTF-16", "iconv -f UTF-16"], files=plain | {name: coded})


def vocabulary_cases():
    def vocab(content, **rest):
        return model_files(vocab_txt=content, **rest)

    lines = "".join(token + "\n" for token in VOCAB)
    bad("L27-missing", ["vocab.txt"], 66, files=vocab(None))
    bad("L27-empty", ["vocab.txt"], files=vocab(b""))
    for token in ["[UNK]", "[CLS]", "[SEP]"]:
        bad(f"L27-no-{token}", ["vocab.txt", token], files=vocab(lines.replace(token, "x")))
    bad("L27-utf8", ["vocab.txt", "line 11"], files=vocab(lines.encode().replace(b"hello", b"he\xff\xfe")))
    bad("L27-utf16", ["vocab.txt"], files=vocab(lines.encode("utf-16")))
    bad("L27-large", ["vocab.txt", "bytes"], files=vocab(lines),
        setup=lambda d: os.truncate(f"{d}/vocab.txt", 2**28 + 1))
    bad("L27-more-tokens", ["vocab.txt", "14"], files=vocab(lines + "more\n"))
    good("L28-crlf", files=vocab(lines.replace("\n", "\r\n")))
    good("L28-no-last-newline", files=vocab(lines[:-1]))
    good("L28-duplicate", files=vocab(lines.replace("d\n", "a\n", 1)), same=False, warns="vocab.txt")
    good("L28-blank", files=vocab(lines.replace("\nd\n", "\n\n")))
    good("L28-u2028", files=vocab(lines.replace("\nd\n", "\n\u2028\n")))
    good("L28-1MB", files=vocab(lines.replace("\nd\n", "\n" + "d" * 2**20 + "\n")))
    good("L29-bom", files=vocab("\ufeff" + lines), warns="byte order mark")


def pickle_cases():
    name = "pytorch_model.bin"
    model = tensors()
    good("L33-plain", files=pickled(torch_zip(model)))
    good("L33-tied", files=pickled(torch_zip(model | {"cls.predictions.decoder.weight": model[FIRST]})))

    def attack(label, op, says, row="L33"):
        bad(f"{row}-{label}", [name, *([says] if isinstance(says, str) else says)],
            files=pickled(torch_zip(model, pickle_of(model, op))))

    attack("os.system", global_op("os", "system") + tuple_op([text_op("touch /tmp/owned")]) + b"R", "os.system")
    attack("stack-global", text_op("posix") + text_op("system") + b"\x93", "posix.system")
    attack("eval", global_op("builtins", "eval"), "builtins.eval")
    attack("near-name", global_op("torch._utils", "_rebuild_tensor_v2x"), "_rebuild_tensor_v2x")
    attack("dotted", global_op("torch", "FloatStorage.from_file"), "from_file")
    attack("terminal", global_op("a\x1b[31m", "b"), "\\x1b")
    for label, op in [("inst", b"(ios\nsystem\n"), ("obj", b"(o"), ("newobj", b")\x81"), ("newobj-ex", b")}\x92"),
                      ("ext", b"\x82\x01"), ("persid", b"Pdata\n"), ("binbytes", b"B\x00\x00\x00\x01"),
                      ("long4", b"\x8b\xff\xff\xff\x7f"), ("next-buffer", b"\x97")]:
        attack(label, op, "not allowed")
    attack("build", global_op("torch", "FloatStorage") + b"}b", "wants")
    attack("call-a-storage", global_op("torch", "FloatStorage") + b")R", "not to be called")
    attack("call-a-dict", b"})R", "wants")
    limits = "L34"
    attack("memo-bomb", b"N" + b"".join(b"r" + struct.pack("<I", i) for i in range(100_001)), "remembered", limits)
    attack("dup", b"N" + b"2" * 20_000, "stack", limits)
    attack("marks", b"(" * 1_000_000, "marks", limits)
    attack("nested-lists", b"]" * 9_000 + b"a" * 8_999, "no tensor", limits)
    attack("opcodes", b"N0" * 600_000 + b"N", "opcodes", limits)
    attack("list-in-itself", b"]q\x00h\x00a", "no tensor", limits)
    attack("doubling", b")q\x00" + b"h\x00h\x00\x86q\x00" * 200, "no tensor", limits)
    attack("copied-arguments", b"(" + b"N" * 9_000 + b"tq\x00" + global_op("torch._utils", "_rebuild_tensor_v2")
           + b"h\x00R", "arguments", limits)
    sizes = "L35"
    attack("length-4GiB", b"X\xff\xff\xff\xff", "string", sizes)
    attack("length-2^63", b"\x8d" + struct.pack("<Q", 2**63), "string", sizes)
    attack("put-2^31", b"Nr\x00\x00\x00\x800" + tensor_op(0, model[FIRST][1], product(model[FIRST][1])) + b"0N",
           "no tensor", sizes)
    bad("L35-frame", [name, "cut"],
        files=pickled(torch_zip(model, b"\x80\x04\x95" + struct.pack("<Q", 2**40) + b"}")))
    for label, content, says in [("underflow", b"\x80\x02R.", "stack is empty"), ("no-stop", b"\x80\x02}", "cut"),
                                 ("cut", pickle_of(model)[:100], "cut"), ("proto-255", b"\x80\xff}.", "protocol 255"),
                                 ("get-unset", b"\x80\x02h\x07.", "remembered"), ("no-dict", b"\x80\x02].", "state dict"),
                                 ("empty", b"", "cut"), ("no-mark", b"\x80\x02}u.", "no mark"),
                                 ("odd-items", b"\x80\x02}(Nu.", "key without"), ("twice", b"\x80\x02}(" + (
                                     text_op("a") + tensor_op(0, [1], 1)) * 2 + b"u.", "twice")]:
        bad(f"L36-{label}", [name, says], files=pickled(torch_zip(model, content)))
    tensor_cases(name, model)
    zip_cases(name, model)
    old_pickle_cases(name, model)


def tensor_cases(name, model):
    shape, count = model[FIRST][1], product(model[FIRST][1])
    for label, op, says in [
            ("storage-small", tensor_op(3, shape, HIDDEN), "does not fit"),
            ("numel-lies", tensor_op(0, shape, count + 1), "storage should have"),
            ("offset", tensor_op(0, shape, count, offset=1), "does not fit"),
            ("offset-huge", tensor_op(0, shape, count, offset=2**62), "does not fit"),
            ("offset-negative", tensor_op(0, shape, count, offset=-1), "whole numbers"),
            ("stride-negative", tensor_op(0, shape, count, stride=[-8, 1]), "whole numbers"),
            ("stride-huge", tensor_op(0, shape, count, stride=[2**62, 2**62]), "does not fit"),
            ("stride-0-bomb", tensor_op(0, [2**31 - 1, 2**31 - 1], count, stride=[0, 0]), "does not fit"),
            ("shape-wraps", tensor_op(0, [2**62, 2**62], count, stride=[0, 0]), "too large"),
            ("shape-negative", tensor_op(0, [-1, 8], count), "whole numbers"),
            ("rank", tensor_op(0, [1] * 100, count), "dimensions"),
            ("key-path", tensor_op("../../etc/passwd", shape, count), "no storage"),
            ("key-missing", tensor_op(999, shape, count), "no storage"),
            ("class", tensor_op(0, shape, count, "QInt8Storage"), "QInt8Storage"),
            ("class-module", tensor_op(0, shape, count, "FloatStorage", module="evil"), "evil.FloatStorage"),
            ("none", b"N", "no tensor")]:
        bad(f"L37-{label}", [name, says], files=pickled(torch_zip(model, pickle_of(model, op))))
    turned = dict(model)
    at = list(turned).index("encoder.layer.0.attention.self.query.weight")
    numbers = values("encoder.layer.0.attention.self.query.weight", [HIDDEN, HIDDEN])
    turned[list(turned)[at]] = ("F32", [HIDDEN, HIDDEN], pack(
        [numbers[row * HIDDEN + column] for column in range(HIDDEN) for row in range(HIDDEN)], "F32"))
    good("L37-transposed-view", files=pickled(torch_zip(turned, pickle_of(turned).replace(
        tensor_op(at, [HIDDEN, HIDDEN], HIDDEN**2), tensor_op(at, [HIDDEN, HIDDEN], HIDDEN**2, stride=[1, HIDDEN])))))


def patched(data, place, value):
    out = bytearray(data)
    out[place:place + len(value)] = value
    return bytes(out)


def old_pickle_cases(name, model):
    """What torch.save wrote before 1.6: pickles end to end, then storages."""
    whole = torch_old(model)
    last = len(list(model.values())[-1][2])
    good("L44-plain", files=pickled(whole))
    good("L44-half", files=pickled(torch_old(tensors("F16"))))
    good("L44-tied", files=pickled(torch_old(model, pickle_of(model, old=True).replace(
        b"u}" + text_op("_metadata"), text_op("cls.predictions.decoder.weight") + tensor_op(
            0, model[FIRST][1], product(model[FIRST][1]), old=True) + b"u}" + text_op("_metadata")))))
    good("L44-keys-in-another-order", files=pickled(swapped_storages(model)))
    evil = pickle_of(model, global_op("os", "system") + tuple_op([text_op("touch /tmp/owned")]) + b"R", old=True)
    first = model[FIRST]
    view = tuple_op([text_op("storage"), global_op("torch", "FloatStorage"), text_op("0"), text_op("cpu"), int_op(4),
                     tuple_op([text_op("v"), int_op(0), int_op(4)])]) + b"Q"
    module = tuple_op([text_op("module"), b"N", b"N", b"N"]) + b"Q"
    two_types = tensor_op(1, [1], 1, "HalfStorage", old=True)
    keys = [str(key) for key in range(len(model))]
    for label, content, says in [
            ("os.system", torch_old(model, evil), "os.system"),
            ("magic", torch_old(model, magic=bytes(10)), "torch.save"), ("no-magic", b"\x80\x02}.", "torch.save"),
            ("protocol", torch_old(model, protocol=1002), "1001"), ("big-endian", torch_old(model, little=False), "endian"),
            ("only-header", whole[:20], "cut"), ("cut", whole[:-1], "cut"), ("cut-length", whole[:-last - 1], "cut"),
            ("behind", whole + b"x", "after the last"), ("twice", torch_old(model, keys=keys[:-1] + ["0"]), "twice"),
            ("unknown-key", torch_old(model, keys=keys[:-1] + ["x"]), "no tensor has"),
            ("key-missing", torch_old(model, keys=keys[:-1]), "after the last"),
            ("keys-no-list", torch_old(model)[:whole.index(b"\x80\x02](")] + b"\x80\x02}.", "list"),
            ("keys-no-text", torch_old(model)[:whole.index(b"\x80\x02](")] + b"\x80\x02](K\0e.", "key"),
            ("elements-2^63", torch_old(model, elements=2**63), "cut"),
            ("elements-2^62", torch_old(model, elements=2**62), "cut"),
            ("elements-less", torch_old(model, elements=1), ""),
            ("view", torch_old(model, pickle_of(model, view, old=True)), "description"),
            ("module", torch_old(model, pickle_of(model, module, old=True)), "description"),
            ("two-types", torch_old(model, pickle_of(model, two_types, old=True)), "another type"),
            ("shape", torch_old(model, pickle_of(model, tensor_op(0, [2**40, 8], product(first[1]), old=True), old=True)),
             "does not fit"),
            ("offset", torch_old(model, pickle_of(model, tensor_op(0, first[1], product(first[1]), offset=1, old=True),
                                                  old=True)), "does not fit")]:
        bad(f"L44-{label}", [name, *([says] if says else [])], files=pickled(content))


def swapped_storages(model):
    """An old file whose first two storages stand in the other order."""
    (_, _, one), (_, _, two) = list(model.values())[:2]
    keys = [str(key) for key in range(len(model))]
    keys[:2] = keys[1::-1]
    parts = [struct.pack("<Q", len(data) // 4) + data for data in (one, two)]
    return torch_old(model, keys=keys).replace(parts[0] + parts[1], parts[1] + parts[0])


def zip_cases(name, model):
    whole = torch_zip(model)
    end = whole.rindex(b"PK\5\6")
    directory = struct.unpack("<I", whole[end + 16:end + 20])[0]
    record = whole.index(b"m/data/0", directory) - 46
    local = whole.index(b"m/data/0") - 30
    count = struct.unpack("<H", whole[end + 10:end + 12])[0]
    entry = "m/data/0"
    for label, content, says in [
            ("no-end", whole[:end], "end"), ("cut", whole[:-1], "end"), ("behind", whole + b"x", "end"),
            ("two-zips", whole + whole, ""), ("count-more", patched(whole, end + 8, struct.pack("<HH", count + 1, count + 1)), ""),
            ("count-less", patched(whole, end + 8, struct.pack("<HH", count - 1, count - 1)), ""),
            ("count-0", patched(whole, end + 8, struct.pack("<HH", 0, 0)), "entries"),
            ("directory-offset", patched(whole, end + 16, struct.pack("<I", 2**31)), ""),
            ("local-offset", patched(whole, record + 42, struct.pack("<I", 5)), entry),
            ("local-offset-huge", patched(whole, record + 42, struct.pack("<I", 2**32 - 2)), entry),
            ("twice", torch_zip(model, twice=entry), [entry, "twice"]),
            ("other-name", patched(whole, local + 30, b"m/data/9"), [entry, "another name"]),
            ("encrypted", patched(whole, record + 8, b"\1"), "encrypted"),
            ("deflated", torch_zip(model, compress=zipfile.ZIP_DEFLATED), "compressed"),
            ("bomb", torch_zip(model, extra=[("m/x", bytes(2**28))], compress=zipfile.ZIP_DEFLATED), "compressed"),
            ("2GiB", patched(whole, record + 20, struct.pack("<II", 2**31, 2**31)), [entry, "do not fit"]),
            ("two-sizes", patched(whole, record + 20, struct.pack("<I", 7)), entry),
            ("crc", patched(whole, local + 30 + 8 + 5, b"\x55"), [entry, "CRC"]),
            ("crc-of-pickle", patched(whole, whole.index(b"_metadata"), b"_Metadata"), ["data.pkl", "CRC"])]:
        bad(f"L38-{label}", [name, *([says] if isinstance(says, str) else says)], files=pickled(content))
    bad("L39-big", [name, "byte order"], files=pickled(torch_zip(model, byteorder=b"big")))
    bad("L39-no-pickle", [name, "data.pkl"], files=pickled(torch_zip(model, drop=["m/data.pkl"])))
    bad("L39-two-pickles", [name, "data.pkl"], files=pickled(torch_zip(model, extra=[("n/data.pkl", b"}.")])))
    bad("L39-tar", [name, "torch.save"], files=pickled(b"x".ljust(257, b"\0") + b"ustar\0" + bytes(800)))
    bad("L39-text", [name, "zip"], files=pickled(b"hello"))
    bad("L39-html", [name, "HTML"], files=pickled(b"<html>"))
    bad("L39-empty", [name], files=pickled(b""))
    evil = torch_zip(model, pickle_of(model, global_op("os", "system")))
    bad("L40-no-fall-back", ["model.safetensors", "too short"],
        files=model_files(model_safetensors=b"", pytorch_model_bin=whole))
    bad("L40-dangling", ["model.safetensors", "No such file"], 66,
        files=model_files(model_safetensors=None, pytorch_model_bin=whole),
        setup=lambda d: os.symlink("nowhere", f"{d}/model.safetensors"))
    good("L40-pickle-not-opened", files=model_files(pytorch_model_bin=evil))


def tokenizer_cases():
    def tokenizer(**changes):
        value = {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": [
                {"id": i, "content": VOCAB[i], "single_word": False, "lstrip": False, "rstrip": False,
                 "normalized": False, "special": True} for i in range(5)],
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                           "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": {token: i for i, token in enumerate(VOCAB)}}}
        value.update(changes)
        return value

    def with_vocab(vocab):
        return tokenizer(model=tokenizer()["model"] | {"vocab": vocab})

    ids = {token: i for i, token in enumerate(VOCAB)}
    good("L30-plain", files=model_files(tokenizer_json=tokenizer(), vocab_txt=None))
    bad("L30-cut", ["tokenizer.json", "byte"],
        files=model_files(tokenizer_json=json.dumps(tokenizer())[:-5], vocab_txt=None))
    for label, value in [("negative", -1), ("float", 9.5), ("2^40", 2**40), ("past-rows", 13), ("string", "9")]:
        bad(f"L30-id-{label}", ["tokenizer.json"],
            files=model_files(tokenizer_json=with_vocab(ids | {"d": value}), vocab_txt=None))
    bad("L30-model", ["tokenizer.json", "WordLevel"], 78, files=model_files(
        tokenizer_json=tokenizer(model={"type": "WordLevel", "vocab": {}, "unk_token": "[UNK]"}), vocab_txt=None))
    # A BPE model of sentencepiece, as Llama 2 has: a piece "a" and TrainerSpec.model_type.
    bad("L30-pieces-bpe", ["tokenizer.model", "BPE", "tokenizer.json"], 78,
        files=model_files(vocab_txt=None) | {"tokenizer.model": b"\x0a\x03\x0a\x01a\x12\x02\x18\x02"})
    bad("L30-normalizer", ["tokenizer.json", "Nmt"], 78,
        files=model_files(tokenizer_json=tokenizer(normalizer={"type": "Nmt"}), vocab_txt=None))
    bad("L30-template", ["tokenizer.json"], files=model_files(tokenizer_json=tokenizer(post_processor={
        "type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {
            "Sequence": {"id": "A", "type_id": 0}}], "pair": [], "special_tokens": {}}), vocab_txt=None), status=None)
    def with_class(name, **changes):
        return model_files(tokenizer_json=tokenizer(**changes), vocab_txt=None, tokenizer_config_json={
            "do_lower_case": True, **({"tokenizer_class": name} if name else {})})

    # transformers 5 builds the tokenizers of BERT from the vocabulary and the flags; others are tokenizer.json.
    other_ids = {"type": "BertProcessing", "sep": ["[SEP]", 7], "cls": ["[CLS]", 6]}
    other_tokens = {"type": "BertProcessing", "sep": ["b", 7], "cls": ["a", 6]}
    for name in [None, "BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "ElectraTokenizerFast"]:
        for label, value in [("null", None), ("other-ids", other_ids), ("other-tokens", other_tokens)]:
            good(f"L45-{name}-{label}", files=with_class(name, post_processor=value))
        good(f"L45-{name}-unk", files=with_class(name, model=tokenizer()["model"] | {"unk_token": "d"}))
        bad(f"L45-{name}-chars", ["tokenizer.json", "max_input_chars_per_word"], 78,
            files=with_class(name, model=tokenizer()["model"] | {"max_input_chars_per_word": 3}))
    for name in ["PreTrainedTokenizerFast", "TokenizersBackend", "PreTrainedTokenizer"]:
        good(f"L45-{name}", files=with_class(name))
        bad(f"L45-{name}-null", ["tokenizer.json", "post_processor is null"], 78,
            files=with_class(name, post_processor=None))
        bad(f"L45-{name}-other-ids", ["tokenizer.json", "[CLS]", "6", "2"], 78,
            files=with_class(name, post_processor=other_ids))
    for name in ["BertJapaneseTokenizer", "XLNetTokenizer", "\u001b[31m"]:
        bad(f"L45-class-{name!r}", ["tokenizer_config.json", "tokenizer_class", "is not supported"], 78,
            files=with_class(name))
    good("L45-capitals-kept", files=model_files(tokenizer_config_json={"do_lower_case": False}),
         warns="do_lower_case meant to be true")
    good("L31-disagree", files=model_files(tokenizer_json=tokenizer(), vocab_txt="".join(
        t + "\n" for t in reversed(VOCAB))), warns="vocab.txt")
    good("L32-model_max_length", files=model_files(
        tokenizer_config_json='{"do_lower_case": true, "model_max_length": 1000000000000000019884624838656}'))


def resource_cases():
    for files in [8, 12]:
        good(f"L42-nofile-{files}", files=model_files(), limits={resource.RLIMIT_NOFILE: files})
    for megabytes in [] if SANITIZED else [64, 96, 128, 192, 256, 384, 512]:
        Case(f"L42-as-{megabytes}", files=model_files(), status=(0, 71), args=["-j", "1"],
             limits={resource.RLIMIT_AS: megabytes << 20})
        Case(f"L42-as-{megabytes}-openblas", files=model_files(), status=(0, 71), args=["-j", "2"],
             limits={resource.RLIMIT_AS: megabytes << 20, "env": dict(os.environ, BERT_KERNELS="openblas")})
    kernels = {name: os.environ[name] for name in ["BERT_ISA", "BERT_KERNELS"] if name in os.environ}
    good("L42-no-home", files=model_files(), limits={"env": {"PATH": "/usr/bin:/bin"} | kernels})


def collect():
    path_cases()
    safetensors_cases()
    quantized_cases()
    unusual_cases()
    index_cases()
    config_cases()
    module_cases()
    static_cases()
    adapter_cases()
    gliner_cases()
    wrapped_cases()
    other_form_cases()
    encoding_cases()
    vocabulary_cases()
    tokenizer_cases()
    pickle_cases()
    resource_cases()


# --- running -----------------------------------------------------------------------------------------

def run(case, tools, directory):
    """(status, stdout, stderr, seconds of CPU, peak kB)"""
    model = os.path.join(directory, case.model) if case.model and "/" in case.model else case.model
    model = directory if model is None else model if case.model != "missing" else "missing-model"
    if case.model in ("f", "l"):
        model = os.path.join(directory, case.model)
    command = [os.path.join(tools, case.tool), "-m", model, *case.args]
    environment = case.limits.get("env", dict(os.environ))

    def limit():
        for what, value in case.limits.items():
            if what != "env":
                resource.setrlimit(what, (value, value))
        if case.user is not None and os.geteuid() == 0:
            os.setuid(case.user)

    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    source = tempfile.TemporaryFile()
    source.write(TEXT)
    source.seek(0)
    begin = time.monotonic()
    process = subprocess.Popen(command, stdin=source, stdout=out, stderr=err, preexec_fn=limit, env=environment)
    timer = threading.Timer(30, process.kill)
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    seconds = time.monotonic() - begin
    process.returncode = 0
    for file in (out, err):
        file.seek(0)
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    # On a busy machine the time on the clock says little; that of a call that blocks says it all.
    if seconds < 10:
        seconds = min(seconds, usage.ru_utime + usage.ru_stime)
    return code, out.read(), err.read(), seconds, usage.ru_maxrss


def faults(case, result, plain):
    status, out, err, seconds, peak = result
    wanted = case.status if isinstance(case.status, tuple) else (case.status,)
    text = err.decode("utf-8", "replace")
    if case.status is not None and status not in wanted:
        yield f"status {status}, wants {' or '.join(map(str, wanted))}"
    if status < 0 or status in (70, 134):
        yield f"crashed: {status}"
    if seconds > case.seconds * (10 if SANITIZED else 1):
        yield f"{seconds:.2f} s, wants at most {case.seconds}"
    if peak > 256 * 1024 and not SANITIZED:
        yield f"{peak // 1024} MB, wants at most 256"
    if any(byte < 32 and byte != 10 or byte == 127 for byte in err) or any(0x80 <= ord(c) < 0xA0 for c in text):
        yield "a control byte on standard error"
    if status != 0:
        if out:
            yield f"{len(out)} bytes on standard output"
        if len(err.splitlines()) != 1 or not err.endswith(b"\n"):
            yield f"{len(err.splitlines())} lines on standard error"
        yield from (f"does not say {says!r}" for says in case.says if says not in text)
    else:
        yield from (f"does not warn of {says!r}" for says in case.warns if says not in text)
        if not case.warns and err and case.status == 0:
            yield "says something"
        if case.same and out != plain:
            yield "another output than the plain model's"
        if case.check and not case.check(out):
            yield f"output {out[:80]!r}"


def open_to_all(path):
    """Whether any user may run what lies at `path`."""
    while os.stat(path).st_mode & 0o001:
        if path == "/":
            return True
        path = os.path.dirname(path)
    return False


def make(case, root):
    directory = os.path.join(root, "".join(c if c.isalnum() or c in "-._" else "_" for c in case.name))
    write(directory, case.files or {})
    here = os.getcwd()
    if case.setup:
        case.setup(directory)
    os.chdir(here)
    return directory


def main():
    collect()
    if sys.argv[1] == "--write":
        for case in CASES:
            make(case, sys.argv[2])
        return 0
    tools, rows = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if SANITIZED:
        for case in CASES:
            case.limits.pop(resource.RLIMIT_AS, None)
    root = tempfile.mkdtemp(prefix="bert-models-")
    os.chmod(root, 0o755)
    for name in ["BERT_MODEL", "BERT_MODEL_PATH"]:
        os.environ.pop(name, None)
    os.environ["HF_HUB_CACHE"] = os.path.join(root, "hub")
    failed = skipped = 0
    try:
        plain = run(Case("plain", files=model_files()), tools, make(CASES.pop(), root))
        if plain[0] != 0:
            print(f"the plain model fails: {plain}")
            return 1
        chosen = [case for case in CASES if not rows or case.name.startswith(tuple(rows))]
        for case in chosen:
            if case.user is not None and os.geteuid() != 0 and os.geteuid() != case.user:
                case.user = None
            tool = os.path.join(tools, case.tool)
            needs_all = case.user is not None and os.geteuid() == 0
            if not os.path.exists(tool) or needs_all and not open_to_all(tool):
                print(f"skip {case.name}: {case.tool} is not there, or not for every user")
                skipped += 1
                continue
            directory = make(case, root)
            result = run(case, tools, directory)
            found = list(faults(case, result, plain[1]))
            if found:
                failed += 1
                print(f"FAIL {case.name}: {'; '.join(found)}\n     {result[2][:300]!r}")
            shutil.rmtree(directory, ignore_errors=True)
        print(f"{len(chosen) - failed - skipped} of {len(chosen)} model directories as wanted, {skipped} skipped")
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
