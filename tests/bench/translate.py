#!/usr/bin/env python3
"""Times translation against CTranslate2 and transformers: a random Marian of the size of opus-mt, or a cousin.

    python tests/bench/translate.py --build build [--family bart] [--sentences 128] [--beams 1 4] [--rounds 3]

Runs take turns, so that a machine that is busy slows all of them. Wall-clock and CPU seconds of the
whole process are measured without loading; the best of the rounds counts. OPENBLAS_CORETYPE and
OPENBLAS_L2_SIZE are taken out of the environment. Wants torch, transformers and ctranslate2."""
import argparse
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

VOCABULARY = 58101
# The classes of transformers, sizes, and the ids of the tokens that begin, pad and end. Layers of a half: those of
# opus-mt, bart-base, and a fourth of m2m100_418M and NLLB-600M.
FAMILIES = {
    "marian": ("Marian", "MarianMTModel", {
        "vocab_size": VOCABULARY, "d_model": 512, "layers": 6, "heads": 8, "ffn_dim": 2048,
        "activation_function": "swish", "scale_embedding": True, "max_position_embeddings": 512},
        (VOCABULARY - 1, VOCABULARY - 1, 0)),
    "bart": ("Bart", "BartForConditionalGeneration", {
        "vocab_size": 50265, "d_model": 768, "layers": 6, "heads": 12, "ffn_dim": 3072,
        "activation_function": "gelu", "max_position_embeddings": 1024}, (2, 1, 2)),
    "m2m100": ("M2M100", "M2M100ForConditionalGeneration", {
        "vocab_size": 128112, "d_model": 1024, "layers": 3, "heads": 16, "ffn_dim": 4096,
        "activation_function": "relu", "scale_embedding": True, "max_position_embeddings": 1024}, (2, 1, 2)),
}


def make_model(directory, family, length):
    import torch
    import transformers
    name, model_class, sizes, (start, pad, end) = FAMILIES[family]
    torch.manual_seed(1)
    halves = {f"{half}_{key}" if key != "heads" else f"{half}_attention_heads": sizes[key]
              for half in ("encoder", "decoder") for key in ("layers", "heads", "ffn_dim")}
    shared = {key: value for key, value in sizes.items() if key not in ("layers", "heads", "ffn_dim")}
    config = getattr(transformers, name + "Config")(
        **shared, **halves, pad_token_id=pad, eos_token_id=end, decoder_start_token_id=start, forced_bos_token_id=None,
        forced_eos_token_id=end if family == "marian" else None)
    model = getattr(transformers, model_class)(config).eval()
    generation = model.generation_config
    generation.bad_words_ids, generation.renormalize_logits = [[pad]], True
    generation.max_length, generation.num_beams = 512, 4
    if family != "marian":  # which never ends by itself
        generation.min_length, generation.early_stopping = length, True
    model.save_pretrained(directory)


def make_sources(count, family):
    """Token ids of sentences of 4 to 60 tokens, 22 in the mean, each with the end token."""
    draw = random.Random(3)
    end, last = FAMILIES[family][3][2], FAMILIES[family][2]["vocab_size"] - 1
    lengths = [max(4, min(60, int(draw.gauss(22, 9)))) for _ in range(count)]
    return [[draw.randrange(end + 1, last) for _ in range(n - 1)] + [end] for n in lengths]


def convert(directory, to, family):
    """CTranslate2's form of the model; its vocabulary is numbers."""
    import transformers
    from ctranslate2.converters import TransformersConverter
    _, pad, end = FAMILIES[family][3]
    vocabulary = FAMILIES[family][2]["vocab_size"]
    # The converter asks for what configs of transformers 5 no longer say.
    transformers.BartConfig.normalize_before = False

    class Numbers:
        eos_token = bos_token = str(end)
        unk_token, pad_token = str(end + 1), "<pad>"
        special_tokens_map = {}

        def get_vocab(self):
            return {str(i) if i != pad else "<pad>": i for i in range(vocabulary)}

        def convert_ids_to_tokens(self, number):
            return str(number)

    class Converter(TransformersConverter):
        def load_tokenizer(self, *_, **__):
            return Numbers()

    Converter(directory).convert(to, force=True)


def clocks():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime


def timed(run):
    wall, cpu = clocks()
    found = run()
    after = clocks()
    return after[0] - wall, after[1] - cpu, found


def ctranslate2_peer(directory, sources, beam, length, kind, threads):
    """The faster of its two ways to use two threads, by the options of its guide on speed."""
    import ctranslate2
    inter, intra = threads
    translator = ctranslate2.Translator(directory, device="cpu", compute_type=kind,
                                        inter_threads=inter, intra_threads=intra)
    words = [[str(i) for i in ids] for ids in sources]
    def run():
        found = translator.translate_batch(words, beam_size=beam, max_decoding_length=length - 1,
                                           min_decoding_length=length - 1,
                                           max_batch_size=32 if beam > 1 else 64)
        return [[int(token) for token in one.hypotheses[0]] for one in found]
    translator.translate_batch(words[:2], beam_size=beam, max_decoding_length=4)
    return lambda: timed(run)


def transformers_peer(directory, sources, beam, length, threads, batch=32):
    import torch
    from transformers import AutoModelForSeq2SeqLM
    torch.set_num_threads(threads)
    model = AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))

    def run():
        found = [None] * len(sources)
        for begin in range(0, len(order), batch):
            part = order[begin:begin + batch]
            longest = max(len(sources[i]) for i in part)
            ids = torch.full((len(part), longest), model.config.pad_token_id)
            for row, i in enumerate(part):
                ids[row, :len(sources[i])] = torch.tensor(sources[i])
            mask = (torch.arange(longest) < torch.tensor([[len(sources[i])] for i in part])).long()
            with torch.inference_mode():
                out = model.generate(ids, attention_mask=mask, num_beams=beam, max_length=length)
            for row, i in enumerate(part):
                found[i] = out[row, 1:].tolist()
        return found
    return lambda: timed(run)


def our_peer(program, directory, ids, beam, length, precision, threads):
    command = [program, directory, ids, "--beams", str(beam), "--max-length", str(length), "--threads",
               str(threads), "--precision", precision, "--runs", "2"]

    def run():
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        # The first run reads and packs the weights.
        wall, cpu = re.findall(r"([\d.]+) s, ([\d.]+) CPU s", done.stderr)[-1]
        found = [[int(i) for i in line.split()[1:]] for line in done.stdout.splitlines()]
        return float(wall), float(cpu), found
    return run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--family", choices=FAMILIES, default="marian")
    parser.add_argument("--sentences", type=int, default=128)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--beams", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="regular expression of peers")
    parser.add_argument("--directory", help="keeps the models here")
    arguments = parser.parse_args()
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        if name in os.environ:
            del os.environ[name]
            os.execv(sys.executable, [sys.executable] + sys.argv)
    family = arguments.family
    work = arguments.directory or tempfile.mkdtemp()
    model, converted, ids = (os.path.join(work, name) for name in (family, family + "-converted", family + "-ids"))
    if not os.path.exists(model):
        make_model(model, family, arguments.length)
    if not os.path.exists(converted):
        convert(model, converted, family)
    sources = make_sources(arguments.sentences, family)
    with open(ids, "w") as file:
        file.write("".join(" ".join(map(str, source)) + "\n" for source in sources))
    program = os.path.join(arguments.build, "bin", "bench_translate")
    print("beams\tpeer\ttokens/s\tCPU s\tratio of CPU s\tsame targets", flush=True)
    for beam in arguments.beams:
        peers = {}
        for precision in ("f32", "bf16", "int8"):
            peers["bertutils " + precision] = lambda p=precision: our_peer(
                program, model, ids, beam, arguments.length, p, arguments.threads)
        for kind in ("float32", "int8", "bfloat16"):
            for threads in {(arguments.threads, 1), (1, arguments.threads)}:
                peers["ctranslate2 %s %dx%d" % (kind, *threads)] = lambda k=kind, t=threads: ctranslate2_peer(
                    converted, sources, beam, arguments.length, k, t)
        peers["transformers"] = lambda: transformers_peer(
            model, sources, beam, arguments.length, arguments.threads)
        runs = {}
        for name, make in peers.items():
            if re.search(arguments.only, name):
                try:
                    runs[name] = make()
                except Exception as error:  # a type that a peer lacks on this CPU
                    print("# %s: %s" % (name, str(error).splitlines()[0]), flush=True)
        best, found = {}, {}
        for _ in range(arguments.rounds):
            for name, run in runs.items():
                wall, cpu, found[name] = run()
                old = best.get(name, (wall, cpu))
                best[name] = (min(old[0], wall), min(old[1], cpu))
        ours = best.get("bertutils f32", (1, 1))
        for name, (wall, cpu) in best.items():
            tokens = sum(map(len, found[name]))
            same = sum(a[:len(b) - 1] == b[:len(b) - 1]
                       for a, b in zip(found[name], found.get("bertutils f32", found[name])))
            print("%d\t%s\t%.0f\t%.2f\t%.2f\t%d of %d" % (beam, name, tokens / wall, cpu, cpu / ours[1], same,
                                                       len(sources)), flush=True)


main()
