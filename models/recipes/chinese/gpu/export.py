"""Writes what together.py learns from as arrays: one pool of token ids, and for each task the spans of it that are its rows.
usage: export.py DIR OUT: of the files that make.sh has made in DIR, the file OUT

  pool                                   all token ids, one text after the other
  KIND.start .lengths .documents         of hans, prose, hant, short: where its text begins in the pool, the tokens of each
                                         sentence, the sentences of each document
  TASK.a_start .a_length (.b_start ..)   the spans of each row's text, and of the second one: of vectors, sentiment, ner, pos, qa
  TASK.copies                            how often a pass has the row
  sentiment.label                        0 negative, 1 positive, or UNKNOWN
  ner.labels pos.labels                  of all rows' tokens; NONE: the token has no label; UNKNOWN: the teachers will give it
  qa.begin qa.end                        places of the answer's first and last token; 0, which is [CLS]: no answer
  replace                                the ids that may stand where a masked token was

The shipped model saw less: 8.8 of the 10.9 million tokens of hans.txt and 4.3 of the 5.3 of hant.txt, because the way to its
GPU was narrow. This takes all.
"""
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "default/gpu"))
from net import write_tensors

NONE, UNKNOWN = 255, 254
NAMES = "O B-LOC B-ORG B-PER I-LOC I-ORG I-PER".split()
PARTS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
MARKS = "!,;?~。！，；？～"  # where a piece of a review may begin, after one of them
directory, target = Path(sys.argv[1]), sys.argv[2]
tokenizer = Tokenizer.from_file(str(directory / "bge/tokenizer.json"))
tokenizer.no_padding()
tokenizer.no_truncation()
rng = np.random.default_rng(3)
out, pool = {}, []
size = 0  # of the pool


def add(ids):
    """Puts ids into the pool. -> where they begin, how many they are"""
    global size
    pool.append(ids)
    size += len(ids)
    return size - len(ids), len(ids)


def read(path):
    return (directory / path).read_text(encoding="utf-8", errors="replace")


def encoded(texts):
    """Ids and offsets of each text; in parts, because the tokenizer's own objects are large."""
    for i in range(0, len(texts), 4000):
        for e in tokenizer.encode_batch(texts[i:i + 4000], add_special_tokens=False):
            yield np.array(e.ids, np.uint16), np.array(e.offsets, np.int32).reshape(-1, 2)


def ids_of(texts):
    return [ids for ids, _ in encoded(texts)]


def table(task, columns, rows):
    for column, values in zip(columns.split(), zip(*rows)):
        out[f"{task}.{column}"] = np.array(values, np.int32)
    print(task, len(rows), "rows", flush=True)


def text(kind):
    """Text, by sentences and documents. -> the spans of the sentences"""
    documents = [[s for s in d.split("\n") if s.strip()] for d in read(f"{kind}.txt").split("\n\n")]
    ids = iter(ids_of([s for d in documents for s in d]))
    start, spans, counts = size, [], []
    for d in documents:
        sentences = [x for x in (next(ids) for _ in d) if len(x)]
        spans += map(add, sentences)
        counts += [len(sentences)] if sentences else []
    out[f"{kind}.start"] = np.array([start], np.int32)
    out[f"{kind}.lengths"] = np.array([n for _, n in spans], np.int32)
    out[f"{kind}.documents"] = np.array(counts, np.int32)
    print(kind, len(counts), "documents", size - start, "tokens", flush=True)
    return spans


def piece(ids, marks):
    """Where the last clauses of a review begin, after its third last mark; a row of marks is one. None if it has few."""
    at = np.flatnonzero(np.isin(ids[:-1], marks))
    at = at[np.diff(at, append=len(ids)) > 1]
    return at[-3] + 1 if len(ids) >= 24 and len(at) >= 4 and len(ids) - at[-3] > 6 else None


def reviews(path):
    """Reviews with their labels, then pieces of them, whose feeling the teachers will tell."""
    rows, pieces = [], []
    marks = [tokenizer.token_to_id(m) for m in MARKS]
    counts = Counter(tuple(line.rsplit("\t", 1)) for line in read(path).rstrip("\n").split("\n"))
    for ((_, label), n), ids in zip(counts.items(), ids_of([review for review, _ in counts])):
        if not len(ids):
            continue
        start, length = add(ids[:222])
        rows.append((start, length, label == "positive", n))
        if (begin := piece(ids[:222], marks)) is not None:
            pieces.append((start + begin, length - begin, UNKNOWN, 1))
    table("sentiment", "a_start a_length label copies", rows + pieces)


def labelled(task, path, labels, more=()):
    """Words (here: characters) with labels; only the first token of a word has one. Then `more` spans, of unknown labels."""
    blocks = [block.split("\n") for block in read(path).split("\n\n")]
    counts = Counter(tuple((line.split()[0], line.split()[-1]) for line in block if line.strip()) for block in blocks)
    counts.pop((), None)
    words = sorted({word for sentence in counts for word, _ in sentence})
    ids_of_word = dict(zip(words, ids_of(words)))
    rows, flat = [], []
    for sentence, n in counts.items():
        ids = np.concatenate([ids_of_word[word] for word, _ in sentence])
        for word, label in sentence:
            flat += ([labels.index(label)] + [NONE] * (len(ids_of_word[word]) - 1))[:len(ids_of_word[word])]
        rows += [(*add(ids[i:i + 158]), n) for i in range(0, len(ids), 158)]
    table(task, "a_start a_length copies", rows + [(*span, 1) for span in more])
    out[f"{task}.labels"] = np.array(flat + [UNKNOWN] * sum(length for _, length in more), np.uint8)


def some(spans, n):
    """Sentences to find names in: n drawn ones, but for the shortest and longest."""
    return [spans[i] for i in rng.integers(len(spans), size=n) if 10 <= spans[i][1] <= 100]


def questions(paths):
    """-> how often each (question, context, answer) is there; answer: where it begins and its text, or None"""
    counts = Counter()
    for path in paths:
        for document in json.loads(read(path))["data"]:
            for paragraph in document["paragraphs"]:
                for q in paragraph["qas"]:
                    answers = [] if q.get("is_impossible") else q["answers"]
                    answer = (answers[0]["answer_start"], answers[0]["text"]) if answers else None
                    counts[q["question"], paragraph["context"], answer] += 1
    return counts


def answers(counts):
    """A row is [CLS] question [SEP] a window of the context [SEP], at most 320 tokens; windows overlap by 128."""
    contexts = list(dict.fromkeys(c for _, c, _ in counts))
    asked = list(dict.fromkeys(q for q, _, _ in counts))
    context_of = {c: (add(ids), offsets) for c, (ids, offsets) in zip(contexts, encoded(contexts))}
    question_of = {q: add(ids[:64]) for q, ids in zip(asked, ids_of(asked))}
    rows = []
    for (question, context, answer), n in counts.items():
        (at, length), offsets = context_of[context]
        before = question_of[question][1] + 2  # tokens before the context
        first = last = -1
        if answer:
            begin, end = answer[0], answer[0] + len(answer[1])
            inside = np.flatnonzero((offsets[:, 1] > begin) & (offsets[:, 0] < end))
            first, last = inside[0], inside[-1]
        for start in range(0, max(1, length - 128), 320 - before - 1 - 128):
            stop = min(start + 320 - before - 1, length)
            here = start <= first and last < stop
            place = (before + first - start, before + last - start) if here else (0, 0)
            rows.append((*question_of[question], at + start, stop - start, *place, n))
    table("qa", "a_start a_length b_start b_length begin end copies", rows)


kinds = {kind: text(kind) for kind in ("short", "prose", "hans", "hant")}
answers(questions(next(line for line in read("late.tsv").split("\n") if line.startswith("qa\t")).split("\t")[2].split(",")))
reviews("reviews-felt.tsv")
lines = list(dict.fromkeys(read("vectors-train.txt").split("\n")))
table("vectors", "a_start a_length", [add(ids[:158]) for ids in ids_of(lines) if len(ids)])
labelled("ner", "ner-named.txt", NAMES, some(kinds["hans"], 26000) + some(kinds["prose"], 26000) + some(kinds["short"], 8000))
labelled("pos", "pos.txt", PARTS)
special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
vocabulary = tokenizer.get_vocab()
out["replace"] = np.array(sorted(i for w, i in vocabulary.items() if w not in special and not w.startswith("[unused")), np.int32)
out["pool"] = np.concatenate(pool)
write_tensors(target, out)
