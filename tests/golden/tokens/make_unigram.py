#!/usr/bin/env python3
"""Writes what Hugging Face tokenizers makes of small models of sentencepiece, for tokenizer_unigram_test.cpp.

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 transformers==5.23.0 protobuf
    tests/golden/tokens/make_unigram.py

sentencepiece/plain.model   a Unigram model with a charsmap of its own, whose keys show where clusters end
sentencepiece/bytes.model   the same with byte fallback
sentencepiece/special.model the same with the special tokens of ALBERT and DeBERTa, and user-defined pieces
sentencepiece/directories.jsonl  what transformers makes of a directory with such a file and a tokenizer_config.json:
                            ids and offsets (bytes) with special tokens. DeBERTa's are sentencepiece's, without offsets.
sentencepiece/ties.jsonl    vocabularies with scores that nearly or quite tie, words and their pieces
sentencepiece/cases.jsonl   texts with their normal text, its origins (bytes, per character) and its pieces per model;
                            `longest` is the normal text by sentencepiece, where it differs
sentencepiece/clusters.json one CRC-32 per template: of the normal texts of CODE_POINTS in it, each with a line feed
"""
import json
import os
import random
import shutil
import tempfile
import zlib

import sentencepiece
import tokenizers
from sentencepiece import sentencepiece_model_pb2
import transformers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

assert (tokenizers.__version__, sentencepiece.__version__, transformers.__version__) == ("0.23.3", "0.2.3", "5.23.0")
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sentencepiece")
TEXTS = [
    "The quick brown fox jumps over the lazy dog, and the dog sleeps on.",
    "A model of a language gives each text a probability; the best split has the largest one.",
    "Der Satz hat größere Wörter: Straße, Übung, Äpfel und Öl.",
    "Été comme hiver, l'élève naïf rêvait à la forêt où l'œuvre fut créée.",
    "El niño pingüino corrió mañana; ¿dónde está el señor Muñoz?",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Ταχίστη αλώπηξ βαφής ψημένη γη, δρασκελίζει υπέρ νωθρού κυνός.",
    "北京是中华人民共和国的首都,人口很多。今天天气很好,我们去公园散步。",
    "日本語の文章には、ひらがなとカタカナと漢字があります。ガギグゲゴ。",
    "한국어 문장은 띄어쓰기가 있습니다. 각각의 글자는 자모로 나뉩니다.",
    "हिन्दी में क्षत्रिय और ज्ञान जैसे संयुक्त अक्षर होते हैं।",
    "เด็กที่มีปัญญาดีควรได้รับน้ำหนักของความรู้",
    "اللغة العربية لها حروف متصلة، والسلام عليكم ورحمة الله.",
    "Tiếng Việt có nhiều dấu: ấ ầ ẩ ẫ ậ, người, được, trường.",
    "İstanbul'da ığdır ve çığ; ŞIMARIK ÖĞRENCİ.",
    "Ｆｕｌｌ ｗｉｄｔｈ ﬁle ﬂow, ½ of ①, ㌀ and ﷺ.",
]
# What nmt_nfkc does, in small; then keys that only a whole cluster has.
RULES = {"ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "½": "1⁄2", "①": "1", "㌀": "アパート", "ﷺ": "صلى الله", "\t": " ", "\n": " ",
         "\r": " ", "\u3000": " ", "\u00a0": " ", "\u200b": "", "\u00ad": "", "\x01": "", "\x7f": "", "e\u0301": "é",
         "a\u0301": "á", "o\u0308": "ö", "u\u0308": "ü", "n\u0303": "ñ", "カ\u3099": "ガ", "が": "か\u3099", "\u212b": "Å",
         "\u01c5": "Dž", "\u0344": "\u0308\u0301", "x\u0301": "Y", "\u200d\u0301": "Z", "©\u0301": "C",
         "\u1161\u0301": "V", "\u11a8\u0301": "T", "\u0995\u0301": "K", "a\u0323\u0301": "q"}
RULES |= {chr(0xFF01 + i): chr(0x21 + i) for i in range(94)}
TEMPLATES = ["x\u0301{}", "{}x\u0301", "{}\u200d\u0301", "{}\u200d©\u0301", "©{}\u200d©\u0301", "{}\u1161\u0301",
             "{}\u11a8\u0301", "\u0915\u094d{}\u0995\u0301", "{}\u094d\u0995\u0301", "\u1100{}\u11a8\u0301"]
CODE_POINTS = [c for c in range(1, 0x20000) if not 0xD800 <= c < 0xE000] + list(range(0xE0000, 0xE1000))


def train(name, **options):
    with tempfile.TemporaryDirectory() as folder:
        rules, text, out = (os.path.join(folder, n) for n in ("rules.tsv", "text", "out"))
        with open(rules, "w") as file:
            for key, value in RULES.items():
                file.write(" ".join(f"{ord(c):04X}" for c in key) + "\t" + " ".join(f"{ord(c):04X}" for c in value) + "\n")
        with open(text, "w") as file:
            file.write("\n".join(TEXTS * 2) + "\n")
        sentencepiece.SentencePieceTrainer.train(
            input=text, model_prefix=out, normalization_rule_tsv=rules, hard_vocab_limit=False, num_threads=1,
            character_coverage=0.98, minloglevel=2, **options)
        proto = sentencepiece_model_pb2.ModelProto()
        with open(out + ".model", "rb") as file:
            proto.ParseFromString(file.read())
    proto.trainer_spec.ClearField("input")
    proto.trainer_spec.ClearField("model_prefix")
    proto.normalizer_spec.ClearField("normalization_rule_tsv")
    with open(os.path.join(HERE, name + ".model"), "wb") as file:
        file.write(proto.SerializeToString(deterministic=True))
    vocab = [(piece.piece, piece.score) for piece in proto.pieces]
    spec = proto.normalizer_spec
    spec.add_dummy_prefix = spec.remove_extra_whitespaces = spec.escape_whitespaces = False
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    return spec.precompiled_charsmap, processor, models.Unigram(vocab, proto.trainer_spec.unk_id,
                                                                      proto.trainer_spec.byte_fallback)


def texts(random_texts=110):
    pick = random.Random(1)
    marks = [chr(c) for c in (0x300, 0x301, 0x308, 0x303, 0x323, 0x3099, 0x94D, 0x903, 0x200C, 0x200D, 0xFE0F, 0xE33)]
    special = ["<unk>", "<s>", "</s>", "<0xE2>", "▁", " ", "  ", "\t", "\r\n", "\x01", "\u200b", "\u00ad", "\u0600", "😀", "©",
               "\u1100", "\u1161", "\u11a8", "각", "\u0915", "\u0995", "𠀀", "☃", "\u0344"] + list(RULES)
    yield from TEXTS
    for _ in range(random_texts):
        out = ""
        for _ in range(pick.randint(1, 12)):
            kind = pick.random()
            out += pick.choice(marks) if kind < 0.25 else pick.choice(special) if kind < 0.6 else pick.choice(pick.choice(TEXTS))
        yield out


def to_bytes(text):
    at = [0]
    for c in text:
        at.append(at[-1] + len(c.encode()))
    return at


def write_cases(charsmap, processor, by_name):
    # A tokenizer whose tokens are characters tells the origin of each.
    characters = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    characters.normalizer = normalizers.Precompiled(charsmap)
    characters.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    with open(os.path.join(HERE, "cases.jsonl"), "w") as file:
        for text in texts():
            normal = characters.normalizer.normalize_str(text)
            at = to_bytes(text)
            row = {"text": text, "normal": normal,
                   "origins": [[at[b], at[e]] for b, e in characters.encode(text).offsets]}
            assert len(row["origins"]) == len(normal)
            if (longest := processor.normalize(text)) != normal:
                row["longest"] = longest
            word = normal.replace(" ", "▁")
            for name, model in by_name.items():
                row[name] = [[t.id, *t.offsets] for t in model.tokenize(word)] if word else []
            file.write(json.dumps(row, separators=(",", ":")) + "\n")


def write_ties():
    pick = random.Random(2)
    letters = "abcé中"
    with open(os.path.join(HERE, "ties.jsonl"), "w") as file:
        for _ in range(24):
            grid = pick.choice([[0.0], [-1.0, -2.0, -3.0], [-0.1, -0.2, -0.3, -0.6], [1.0, 20.0, -5.0, 100.0]])
            vocab = [("<unk>", 0.0)]
            vocab += [("".join(pick.choice(letters) for _ in range(pick.randint(1, 5))),
                       pick.choice(grid) + (1e-15 if pick.random() < 0.3 else 0)) for _ in range(pick.randint(1, 25))]
            unk = pick.choice([0, 0, pick.randrange(len(vocab)), None])
            model = models.Unigram(vocab, unk, False)
            words = []
            for length in (3, 8, 8, 20):
                word = "".join(pick.choice(letters + "x") for _ in range(length))
                try:
                    words.append([word, [[t.id, *t.offsets] for t in model.tokenize(word)]])
                except Exception:  # an unknown character, and no unk_id
                    words.append([word, None])
            file.write(json.dumps({"vocab": vocab, "unk_id": unk, "words": words}, separators=(",", ":")) + "\n")


def write_clusters(charsmap):
    normalize = normalizers.Precompiled(charsmap).normalize_str
    rows = {t: zlib.crc32("".join(normalize(t.format(chr(c))) + "\n" for c in CODE_POINTS).encode()) for t in TEMPLATES}
    with open(os.path.join(HERE, "clusters.json"), "w") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")


def write_directories():
    lstrip = {"content": "<mask>", "lstrip": True, "rstrip": False, "single_word": False, "normalized": False,
              "__type": "AddedToken"}
    directories = [
        ("plain", {"tokenizer_class": "XLMRobertaTokenizer"}), ("plain", {"tokenizer_class": "CamembertTokenizer"}),
        ("plain", {"tokenizer_class": "XLMRobertaTokenizerFast", "add_prefix_space": False, "mask_token": lstrip}),
        ("plain", {"tokenizer_class": "XLMRobertaTokenizer", "bos_token": "<b>", "eos_token": "</b>", "cls_token": "<b>"}),
        ("special", {"tokenizer_class": "AlbertTokenizer"}),
        ("special", {"tokenizer_class": "AlbertTokenizerFast", "do_lower_case": False, "keep_accents": True}),
        ("special", {"tokenizer_class": "DebertaV2Tokenizer"})]
    some = list(texts(24))[10:] + ["a <mask> b", "<s> [CLS] x</s>[SEP]", "the (dog) [MASK]", "``Quoted'' E\u0301T\u00c9", "\u200b \ufb01 dog  "]
    with open(os.path.join(HERE, "directories.jsonl"), "w") as file:
        for name, config in directories:
            row = {"model": name + ".model", "config": dict(config), "cases": []}
            with tempfile.TemporaryDirectory() as folder:
                shutil.copy(os.path.join(HERE, name + ".model"), os.path.join(folder, "spm.model"))
                for known in ("sentencepiece.bpe.model", "spiece.model"):
                    shutil.copy(os.path.join(HERE, name + ".model"), os.path.join(folder, known))
                with open(os.path.join(folder, "tokenizer_config.json"), "w") as out:
                    json.dump(config, out)
                tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
                processor = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "spm.model"))
            for text in some:
                if "Deberta" in config["tokenizer_class"]:
                    if not any(piece in text for piece in ("[", "(", ")")):  # added tokens are not sentencepiece's
                        ids = [processor.piece_to_id("[CLS]"), *processor.encode(text), processor.piece_to_id("[SEP]")]
                        row["cases"].append({"text": text, "ids": ids})
                    continue
                e = tokenizer(text, return_offsets_mapping=True)
                at = to_bytes(text)
                row["cases"].append({"text": text, "ids": e["input_ids"], "offsets": [[at[b], at[e]] for b, e in e["offset_mapping"]]})
            file.write(json.dumps(row, separators=(",", ":")) + "\n")


def main():
    os.makedirs(HERE, exist_ok=True)
    charsmap, processor, plain = train("plain", vocab_size=380)
    _, _, with_bytes = train("bytes", vocab_size=640, byte_fallback=True)
    train("special", vocab_size=390, pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols="[CLS],[SEP],[MASK]",
          user_defined_symbols="(,)")
    write_directories()
    write_cases(charsmap, processor, {"plain": plain, "bytes": with_bytes})
    write_ties()
    write_clusters(charsmap)


main()
