"""usage: export.py PREPARED MODEL OUT
What heads.sh has prepared, as arrays of MODEL's tokens: OUT/heads.safetensors for heads.py, OUT/words.safetensors for words.py.
Rows of tokens lie one after the other in NAME.ids, without [CLS] and [SEP]; NAME.len has their lengths."""
import collections
import json
import os
import random
import re
import sys

import numpy as np
from tokenizers import Tokenizer

from net import DOCUMENT_END, SEP, write_tensors

if len(sys.argv) != 4:
    sys.exit(__doc__)
PREPARED, MODEL, OUT = sys.argv[1:]
WRITTEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'written')
tokenizer = Tokenizer.from_file(os.path.join(MODEL, 'tokenizer.json'))
tokenizer.no_truncation()
tokenizer.no_padding()
PIECE = np.zeros(tokenizer.get_vocab_size(), np.uint8)  # 1: a token that goes on a word
for token, number in tokenizer.get_vocab().items():
    PIECE[number] = token.startswith('##')
shuffler = random.Random(5)
arrays = {}


def lines_of(name):
    with open(os.path.join(PREPARED, name), encoding='utf8') as f:
        for line in f:
            yield line.rstrip('\n')


def flat(name, rows):
    arrays[name + '.ids'] = np.array([i for row in rows for i in row], np.uint16)
    arrays[name + '.len'] = np.array([len(row) for row in rows], np.uint16)


def encode(texts, **options):
    return tokenizer.encode_batch(texts, add_special_tokens=False, **options)


def number_of(numbers, key):
    return numbers.setdefault(key, len(numbers))


# Questions. A file's copies are how often heads.sh gives it to finetune. The articles of some files are known: a question can
# then be asked of another paragraph of its article.
QUESTIONS = [('linked', 1), ('asked-encyclopedia', 1), ('asked', 2), ('squad-train', 1), ('squad2-slice', 2),
             ('squad-none-few', 1), ('squad-short-few', 1), ('slice-short-few', 1), ('qamr-train-few', 1), ('subjqa-train-few', 1)]


def article_of(file, document, question):
    if file == 'linked':
        return '-'.join(question['id'].split('-')[:2])
    return document['title'] if file in ('squad-train', 'squad2-slice', 'squad-none-few') else ''


def span(encoding, answer):
    """first and last token of an answer; (-1, -1): it has no text; None: tokens begin and end elsewhere"""
    if not answer or not answer[1]:
        return -1, -1
    begin, text = answer
    end, places = begin + len(text), encoding.offsets
    hit = [t for t, (a, b) in enumerate(places) if b > begin and a < end]
    begin, end = begin + len(text) - len(text.lstrip()), begin + len(text.rstrip())
    return (hit[0], hit[-1]) if hit and places[hit[0]][0] <= begin and places[hit[-1]][1] >= end else None


def read_questions():
    """-> {context: number}, {question: number}, {context's number: article}, [(question, context, answer, file, copies)]"""
    contexts, questions, articles, asked = {}, {}, {}, []
    for n, (file, copies) in enumerate(QUESTIONS):
        with open(os.path.join(PREPARED, file + '.json'), encoding='utf8') as f:
            documents = json.load(f)['data']
        for document in documents:
            for paragraph in document['paragraphs']:
                c = number_of(contexts, paragraph['context'])
                for q in paragraph['qas']:
                    article = article_of(file, document, q)
                    if article:
                        articles.setdefault(c, article)
                    answer = (q['answers'][0]['answer_start'], q['answers'][0]['text']) if q['answers'] else None
                    asked.append((number_of(questions, q['question'].strip()), c, answer, n, copies))
    return contexts, questions, articles, asked


def export_questions():
    """qa.q, qa.c: numbers of question and context; qa.start, qa.end: token + 1 in the context, 0: no answer"""
    contexts, questions, articles, asked = read_questions()
    encoded, rows = encode(list(contexts)), {}
    for q, c, answer, n, copies in asked:
        found = span(encoded[c], answer)
        if found:
            row = rows.setdefault((q, c, *found), [n, 0])  # the same question of several files counts at most twice
            row[1] = min(row[1] + copies, 2)
    flat('qa.context', [e.ids for e in encoded])
    flat('qa.question', [e.ids[:150] for e in encode(list(questions))])
    table = np.array([(q, c, start + 1, end + 1, n, copies) for (q, c, start, end), (n, copies) in rows.items()])
    for name, column in zip('q c start end set copies'.split(), table.T):
        arrays['qa.' + name] = column.astype(np.int32)
    names = {}
    articles = [number_of(names, articles[c]) + 1 if c in articles else 0 for c in range(len(contexts))]
    arrays['qa.article'] = np.array(articles, np.uint16)
    print(len(rows), 'questions and paragraphs, without an answer', int((table[:, 2] == 0).sum()), flush=True)


def export_held_questions():
    """qadev: each 8th paragraph of SQuAD 2.0 dev; qadev.golds: answers of a question, qadev.span: start + 1, end + 1 of each"""
    with open(os.path.join(PREPARED, 'squad2-dev.json'), encoding='utf8') as f:
        paragraphs = [p for document in json.load(f)['data'] for p in document['paragraphs']][7::8]
    encoded = encode([p['context'] for p in paragraphs])
    questions = [(c, q) for c, p in enumerate(paragraphs) for q in p['qas']]
    spans = [sorted({span(encoded[c], (a['answer_start'], a['text'])) for a in q['answers']}) for c, q in questions]
    flat('qadev.context', [e.ids for e in encoded])
    flat('qadev.question', [e.ids for e in encode([q['question'].strip() for _, q in questions])])
    arrays['qadev.c'] = np.array([c for c, _ in questions], np.uint16)
    arrays['qadev.golds'] = np.array([len(some) for some in spans], np.uint8)
    arrays['qadev.span'] = np.array([place + 1 for some in spans for pair in some for place in pair], np.uint16)


# Sentiment
def labelled(lines):
    return [line.rsplit('\t', 1) for line in lines]


def letters(text):
    return re.sub('[^a-z0-9]', '', text.lower())


def export_sentiment():
    """sentiment.positive: percents of a text's labels; sentiment.copies: how often it counts, at most 4"""
    negative, positive = collections.Counter(), collections.Counter()
    written = labelled(lines_of(os.path.join(WRITTEN, 'feelings.tsv')))
    # SST-2's sentences and those written for the model imply more than most reviews say: they count more.
    for texts, copies in ((labelled(lines_of('reviews.tsv')), 1), (labelled(lines_of('sst2-train.tsv')), 1), (written, 4)):
        for text, label in texts:
            negative[text] += copies * (label != 'positive')
            positive[text] += copies * (label != 'negative')
    tests = ['sst2-dev.tsv', 'kitchen-test.tsv', 'airline-test.tsv', 'yelp-test.tsv']
    held = {letters(text) for file in tests for text, _ in labelled(lines_of(file))}
    texts = [text for text in negative if letters(text) and letters(text) not in held]
    shuffler.shuffle(texts)
    flat('sentiment', [e.ids[:126] for e in encode(texts)])
    labels = np.array([[negative[text], positive[text]] for text in texts])
    arrays['sentiment.copies'] = np.minimum(labels.max(1), 4).astype(np.uint8)
    arrays['sentiment.positive'] = np.round(100 * labels[:, 1] / labels.sum(1)).astype(np.uint8)
    print(len(texts), 'texts with labels', flush=True)


def export_held_sentiment(name, file, n=0):
    texts = [pair for pair in labelled(lines_of(file)) if pair[1] in ('negative', 'positive')]
    texts = random.Random(1).sample(texts, n) if n else texts
    flat(name, [e.ids[:126] for e in encode([text for text, _ in texts])])
    arrays[name + '.positive'] = np.array([100 * (label == 'positive') for _, label in texts], np.uint8)


# Names
TAGS = 'O B-LOC B-MISC B-ORG B-PER I-LOC I-MISC I-ORG I-PER'.split()


def sentences(file):
    """tuples of (word, tag)"""
    sentence = []
    for line in [*lines_of(file), '']:
        words = line.split()
        if words and words[0] != '-DOCSTART-':
            sentence.append((words[0], words[-1] if len(words) > 1 else 'O'))
        elif not words and sentence:
            yield tuple(sentence)
            sentence = []


def joined(sentence):
    return ' '.join(word for word, _ in sentence).lower()


def tagged(sentence, encoding, words_only):
    """windows of at most 126 tokens, their tags (255: none): each word's first token has the word's, and unless words_only the
    first tokens of its further parts, such as those after a hyphen, have the tag that goes on"""
    tags, last = [], None
    for i, word in zip(encoding.ids, encoding.word_ids):
        tag = TAGS.index(sentence[word][1])
        if word != last:
            tags.append(tag)
        else:
            tags.append(255 if words_only or PIECE[i] else tag + 4 if 0 < tag < 5 else tag)
        last = word
    ids, begin = encoding.ids, 0
    while begin < len(ids):
        end = min(begin + 126, len(ids))
        while begin + 60 < end < len(ids) and tags[end] == 255:  # no window ends within a word
            end -= 1
        yield ids[begin:end], tags[begin:end]
        begin = end


def export_tagged(name, some, words_only):
    """-> numbers of windows of the sentences"""
    encoded = encode([[word for word, _ in s] for s in some], is_pretokenized=True)
    windows = [list(tagged(s, e, words_only)) for s, e in zip(some, encoded)]
    flat(name, [ids for parts in windows for ids, _ in parts])
    arrays[name + '.labels'] = np.array([tag for parts in windows for _, tags in parts for tag in tags], np.uint8)
    return [len(parts) for parts in windows]


def sample(file, n, end=0):
    """n lines of a file, without its last bytes `end`, which are for measuring"""
    path, found, places = os.path.join(PREPARED, file), set(), random.Random(3)
    size = os.path.getsize(path)
    with open(path, 'rb') as f:
        while len(found) < n:
            f.seek(int(places.random() * (size - end - 5000)))
            f.readline()
            line = f.readline().decode('utf8', 'replace').strip()
            if 25 < len(line) < 260 and '\ufffd' not in line:
                found.add(line)
    return sorted(found)


def export_names():
    """ner.copies: how often a window counts; plain: sentences without tags, which the teacher will label"""
    copies = collections.Counter()
    for file, n in (('conll-train.txt', 2), ('names.txt', 1), ('written-names.txt', 3)):
        for sentence in sentences(file):
            copies[sentence] = min(copies[sentence] + n, 3)
    tests = ['ner-btc-test.txt', 'ner-wnut-dev.txt', 'ner-ewt-test.txt', 'ner-wikineural-test.txt', 'conll-dev.txt']
    held = {joined(s) for file in tests for s in sentences(file) if len(s) > 5}
    some = [s for s in copies if joined(s) not in held]
    shuffler.shuffle(some)
    windows = export_tagged('ner', some, False)
    arrays['ner.copies'] = np.repeat(np.array([copies[s] for s in some], np.uint8), windows)
    export_tagged('conll', random.Random(2).sample(list(sentences('conll-dev.txt')), 1000), True)
    plain = sample('wiki.txt', 30000) + sample('all-news.txt', 14000, 1500000) + sample('all-dialogue.txt', 6000, 300000)
    plain += sample('all-reviews-imdb.txt', 5000, 500000) + sample('gutenberg-0.txt', 5000)
    plain = [line for line in plain if line.lower() not in held]
    shuffler.shuffle(plain)
    flat('plain', [e.ids[:126] for e in encode(plain)])
    arrays['piece'] = PIECE
    print(len(some), 'sentences with names,', len(plain), 'without labels', flush=True)


# Plain text for masked words
def stream(name):
    """uint16 tokens of a text: each line ends with SEP, each document with DOCUMENT_END"""
    parts, waiting = [], []

    def flush():
        encoded = iter(tokenizer.encode_batch_fast([line for line in waiting if line], add_special_tokens=False))
        ends = ([*next(encoded).ids[:250], SEP] if line else [DOCUMENT_END] for line in waiting)
        parts.append(np.array([i for ids in ends for i in ids], np.uint16))
        waiting.clear()

    with open(os.path.join(PREPARED, 'text', name + '.txt'), encoding='utf8', errors='replace') as f:
        for line in map(str.strip, f):
            if line or not waiting or waiting[-1]:
                waiting.append(line)
            if len(waiting) >= 100000:
                flush()
    waiting.append('')
    flush()
    return np.concatenate(parts)


def main():
    os.makedirs(OUT, exist_ok=True)
    export_questions()
    export_held_questions()
    export_sentiment()
    export_held_sentiment('sst2', 'sst2-dev.tsv')
    export_held_sentiment('kitchen', 'kitchen-test.tsv', 1000)
    export_names()
    write_tensors(os.path.join(OUT, 'heads.safetensors'), arrays)
    texts = {}
    for name in sorted(name[:-4] for name in os.listdir(os.path.join(PREPARED, 'text')) if name.endswith('.txt')):
        texts[name] = stream(name)
        print(name, len(texts[name]), 'tokens', flush=True)
    write_tensors(os.path.join(OUT, 'words.safetensors'), texts)


main()
