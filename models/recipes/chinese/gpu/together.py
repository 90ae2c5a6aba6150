"""Trains the Chinese model further on a GPU: teachers of sentiment and names, then one student of all tasks.
usage: together.py MODEL DENSE TEACHER ARRAYS OUT
  MODEL    float model directory: where teachers and student begin
  DENSE    directory of the linear map of its vectors
  TEACHER  bge-small-zh-v1.5: the teacher of the vectors
  ARRAYS   what export.py wrote
  OUT      file of tensors: the mean of the student's weights over the last 15% of its steps

The run that trained the model followed the clock, so its schedule fell with time and not with steps; STEPS is what it did.
"""
import copy
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "default/gpu"))
from net import CLS, MASK, SEP, Dense, Encoder, Layer, batches, device, optimizer, read_tensors, set_rate, slope, step, up, work
from net import write_tensors

NONE, UNKNOWN = 255, 254
DROPOUT, HEADS, EPS = 0.1, 8, 1e-12
STEPS, RATE = 2081, 2e-4
TOKENS = {"teacher": 16384, "sentiment": 11264, "ner": 13312, "qa": 20480, "vectors": 9216, "pos": 1024}  # of a batch
PARTS = {"hans": 64, "prose": 56, "hant": 40, "short": 64}  # pairs of parts of documents of a batch, for masks
SENTENCES = {"hans": 64, "hant": 48, "prose": 32}  # pairs of sentences of a batch
WEIGHTS = {"mlm": 1.3, "nsp": 1.0, "short mlm": 0.3, "short nsp": 0.2, "sentences": 1.2, "vectors": 3.0, "similarity": 8.0,
           "sentiment": 2.0, "ner": 6.0, "qa": 3.0, "pos": 1.5}


def on_device(array):
    return torch.from_numpy(np.array(array, np.int64)).to(device)


class Net(nn.Module):
    """The model with all its heads, and the linear map of its vectors."""
    DENSE = {"pooler": "bert.pooler.dense.", "nsp": "cls.seq_relationship.", "transform": "cls.predictions.transform.dense.",
             "feel_pooler": "heads.sentiment.pooler.dense.", "feel": "heads.sentiment.classifier.",
             "ner": "heads.ner.classifier.", "qa": "heads.qa.qa_outputs.", "pos": "heads.pos.classifier."}
    OTHERS = {"norm_weight": "cls.predictions.transform.LayerNorm.weight",
              "norm_bias": "cls.predictions.transform.LayerNorm.bias", "words_bias": "cls.predictions.bias"}

    def __init__(self, tensors, dense):
        super().__init__()
        self.bert = Encoder(tensors, "bert.", 4, HEADS)
        self.ner_layer = Layer(tensors, "heads.ner.encoder.layer.3.")
        for name, prefix in self.DENSE.items():
            setattr(self, name, Dense(tensors, prefix))
        for name, tensor in self.OTHERS.items():
            setattr(self, name, nn.Parameter(torch.tensor(tensors[tensor])))
        self.dense = nn.Parameter(torch.tensor(dense).float())  # [512, 1024]

    def tensors(self):
        out = self.bert.embeddings.tensors("bert.embeddings.")
        for i, layer in enumerate(self.bert.layers):
            out.update(layer.tensors(f"bert.encoder.layer.{i}."))
        out.update(self.ner_layer.tensors("heads.ner.encoder.layer.3."))
        for name, prefix in self.DENSE.items():
            out.update(getattr(self, name).tensors(prefix))
        return out | {tensor: getattr(self, name) for name, tensor in self.OTHERS.items()}

    def hidden(self, text, names=False):
        """text: ids, real, types [B, T] -> states of the last layer, or of the own one of names, [B, T, 512]"""
        (ids, real, types), p = text, DROPOUT if self.training else 0.0
        h, mask = self.bert.embeddings(ids, types, p), self.bert.mask(real)
        for layer in (*self.bert.layers[:3], self.ner_layer if names else self.bert.layers[3]):
            h = layer(h, mask, HEADS, p, EPS)
        return h

    def drop(self, x, p=DROPOUT):
        return F.dropout(x, p, self.training)

    def words(self, h):
        h = F.layer_norm(F.gelu(self.transform(h)), h.shape[-1:], self.norm_weight, self.norm_bias, EPS)
        return F.linear(h.to(work), self.bert.embeddings.word.to(work)).float() + self.words_bias

    def next(self, h):
        return self.nsp(self.drop(torch.tanh(self.pooler(h[:, 0]))))

    def feeling(self, h):
        return self.feel(self.drop(torch.tanh(self.feel_pooler(h[:, 0]))))

    def names(self, h):
        return self.ner(self.drop(h, 0.15))

    def answer(self, h, real):
        return self.qa(self.drop(h)).masked_fill(~real[..., None], -1e4)  # [B, T, 2]

    def vector(self, h, real):
        h, real = h.float(), real[..., None]
        mean = (h * real).sum(1) / real.sum(1)
        return F.normalize(F.linear(torch.cat([h[:, 0], mean], 1), self.dense), dim=1)  # [B, 512]


class Pool:
    """All token ids, on the device."""
    def __init__(self, arrays):
        self.ids = torch.from_numpy(arrays["pool"].astype(np.int32)).to(device)
        self.replace = on_device(arrays["replace"])

    def text(self, T, a, a_length, b=None, b_length=None):
        """Spans, by starts and lengths [B] -> [CLS] a [SEP], or [CLS] a [SEP] b [SEP]: ids, real, types [B, T]"""
        at, a, a_length = torch.arange(T, device=device)[None], a[:, None], a_length[:, None]
        top = len(self.ids) - 1
        ids = torch.where(at <= a_length, self.ids[(a + at - 1).clamp(0, top)], SEP)
        count, types = a_length + 2, torch.zeros_like(ids, dtype=torch.long)
        if b is not None:
            b, b_length = b[:, None], b_length[:, None]
            types = ((at >= count) & (at <= count + b_length)).long()
            ids = torch.where((at >= count) & (at < count + b_length), self.ids[(b + at - count).clamp(0, top)], ids)
            count = count + b_length + 1
        real = at < count
        ids = torch.where(real, ids, 0)
        ids[:, 0] = CLS
        return ids, real, types

    def masked(self, text):
        """A fifth of the tokens are asked for; of 10, 8 become [MASK] and 1 another one. -> text, places [B, k], labels [B, k]"""
        ids, real, types = text
        B, T = ids.shape
        free = real & (ids != CLS) & (ids != SEP)
        k = int(T * 0.2 + 0.999)
        places = torch.rand(B, T, device=device).masked_fill(~free, -1.0).topk(k, 1)[1]
        asked = torch.arange(k, device=device)[None] < (free.sum(1, keepdim=True) * 0.2).round().clamp(min=1)
        old, kind = ids.gather(1, places), torch.rand(B, k, device=device)
        other = self.replace[torch.randint(len(self.replace), (B, k), device=device)].to(ids.dtype)
        new = torch.where(asked & (kind < 0.8), MASK, torch.where(asked & (kind < 0.9), other, old))
        return (ids.scatter(1, places, new), real, types), places, torch.where(asked, old, -100).long()


class Text:
    """Documents of one kind; draws pairs: starts and lengths of a and b, and 0 if b follows a, 1 if not: [5, n]"""
    def __init__(self, arrays, kind):
        counts = arrays[kind + ".documents"]
        self.at = arrays[kind + ".start"] + np.cumsum([0, *arrays[kind + ".lengths"]])  # where each sentence begins
        self.first = np.cumsum([0, *counts])  # the first sentence of each document
        self.document = np.repeat(np.arange(len(counts)), counts)  # of each sentence
        self.followed = np.flatnonzero(self.document[1:] == self.document[:-1])  # those with a sentence behind them

    def draw(self, n, rng):
        """-> sentences that another one follows, any other sentences, and whether to take what follows"""
        one = self.followed[rng.integers(len(self.followed), size=n)]
        other = rng.integers(len(self.document), size=n)
        return one, other, (rng.random(n) < 0.5) | (self.document[one] == self.document[other])

    def sentences(self, n, rng, most=126):
        one, other, follows = self.draw(n, rng)
        two = np.where(follows, one + 1, other)
        at, length = self.at, np.minimum(np.diff(self.at), most)
        return np.stack([at[one], length[one], at[two], length[two], ~follows])

    def parts(self, n, room, rng):
        """Parts of documents with `room` tokens together; b begins with a sentence."""
        one, other, follows = self.draw(n, rng)
        at, last = self.at, self.first[self.document[one] + 1]
        full = np.searchsorted(at, np.minimum(at[last], at[one] + room))  # the sentence at which the room is full
        two = rng.integers(one + 1, np.maximum(one + 1, np.minimum(full - 1, last - 1)) + 1)
        a = at[two] - at[one]
        a = np.where(a > room * 3 // 4, np.minimum(a, room * 2 // 3), a)
        b = np.minimum(at[last] - at[two], room - a)
        # A text that does not follow has b's length; it ends with a sentence if b does, so that its end does not tell.
        end = at[other] + b
        whole = at[np.minimum(np.searchsorted(at, end), len(at) - 1)]
        end = np.where(b == at[last] - at[two], whole, end)
        c = np.minimum(np.minimum(end, at[self.first[self.document[other] + 1]]) - at[other], room - a)
        return np.stack([at[one], a, np.where(follows, at[two], at[other]), np.where(follows, b, c), ~follows])


class Table:
    """The rows of a task."""
    def __init__(self, arrays, task, pool):
        self.pool = pool
        columns = {k[len(task) + 1:]: v for k, v in arrays.items() if k.startswith(task + ".")}
        self.lengths = columns["a_length"] + 2 + (columns["b_length"] + 1 if "b_length" in columns else 0)
        self.copies = columns.get("copies", np.ones_like(self.lengths))
        self.columns = {k: on_device(v) for k, v in columns.items()}
        self.labels_at = self.columns["a_length"].cumsum(0) - self.columns["a_length"]  # where a row's labels of tokens begin

    def batch(self, numbers):
        """Numbers of rows -> the same on the device [B], and their ids, real, types [B, T]"""
        rows = on_device(numbers)
        spans = [self.columns[k][rows] for k in ("a_start", "a_length", "b_start", "b_length") if k in self.columns]
        return rows, self.pool.text(up(self.lengths[numbers].max()), *spans)

    def all(self):
        for numbers in batches(self.lengths, 4 * TOKENS["teacher"], np.random.default_rng(0)):
            yield self.batch(numbers)

    def places(self, rows, T):
        """-> places of each token's label in `labels`, and which tokens have one, [B, T]"""
        k = torch.arange(T, device=device)[None] - 1
        own = (k >= 0) & (k < self.columns["a_length"][rows][:, None])
        return torch.where(own, self.labels_at[rows][:, None] + k, 0), own


class Rows:
    """Batches of the rows of a table, of similar length, again and again; a pass has each row `copies` times."""
    def __init__(self, table, tokens, rng, only=None):
        self.table, self.tokens, self.rng = table, tokens, rng
        only = np.arange(len(table.lengths)) if only is None else only
        self.all = np.repeat(only, table.copies[only])
        self.queue = self.one_pass()
        self.per_pass = len(self.queue)
        self.typical = len(self.all) / self.per_pass  # rows of a batch, by which sums over rows are divided

    def one_pass(self):
        return batches(self.table.lengths, self.tokens, self.rng, self.rng.permutation(self.all))

    def next(self):
        self.queue = self.queue or self.one_pass()
        return self.table.batch(self.queue.pop())


def rate(part, warmup):
    return max(1e-3, slope(part, warmup))


def soft_loss(logits, target):
    """Cross entropy with probabilities."""
    return -(target * F.log_softmax(logits.float(), -1)).sum(-1)


def sentiment_loss(net, drawn, target):
    rows, text = drawn.next()
    return soft_loss(net.feeling(net.hidden(text)), target[rows]).sum() / drawn.typical


def names_loss(net, drawn, target):
    rows, text = drawn.next()
    at, own = drawn.table.places(rows, text[0].shape[1])
    wanted = target[at] * own[..., None]  # [B, T, 7]; 0 where no label is
    return soft_loss(net.names(net.hidden(text, True)), wanted).sum() / wanted.sum().clamp(min=1)


def teach(net, modules, rows, loss, target, lr, passes, name):
    """Trains these modules of net for one task."""
    adam, steps, total = optimizer([p for m in modules for p in m.parameters()], lr), passes * rows.per_pass, 0.0
    net.train()
    for k in range(steps):
        set_rate(adam, lr * rate(k / steps, 0.06))
        value = loss(net, rows, target)
        value.backward()
        step(adam)
        total += value.detach()
    print(f"teacher of {name}: {steps} steps, mean loss {total / steps:.4f}", flush=True)
    return net.eval()


def sentiment_targets(start, table):
    """Three teachers, each of two thirds of the reviews -> target [N, 2]: half the label, half what they say. The one that has
    not seen a row says as much as the two others; pieces of reviews have no label."""
    label = table.columns["label"]
    n, known = len(label), label != UNKNOWN
    hard = F.one_hot(label.masked_fill(~known, 0), 2).float() * known[:, None]
    smooth = hard * 0.95 + 0.025
    third = torch.arange(n, device=device) % 3  # the rows stand in random order
    said = torch.zeros(n, 2, device=device)
    for k in range(3):
        torch.manual_seed(100 + k)
        net = copy.deepcopy(start)
        seen = (known & (third != k)).nonzero()[:, 0].cpu().numpy()
        rows = Rows(table, TOKENS["teacher"], np.random.default_rng(100 + k), seen)
        teach(net, (net.bert, net.feel_pooler, net.feel), rows, sentiment_loss, smooth, 1.2e-4, 3, f"sentiment {k}")
        weight = torch.where(known, torch.where(third == k, 0.5, 0.25), 1 / 3)[:, None]
        with torch.no_grad():
            for i, text in table.all():
                said[i] += weight[i] * F.softmax(net.feeling(net.hidden(text)), -1)
    return torch.where(known[:, None], 0.5 * hard + 0.5 * said, said)


def names_targets(start, table):
    """Three teachers of all labelled rows -> target [tokens, 7]: half the label, half what they say; 0 where NONE is."""
    labels = table.columns["labels"]
    known = labels < UNKNOWN
    hard = F.one_hot(labels.masked_fill(~known, 0), 7).float() * known[:, None]
    labelled = np.flatnonzero((labels[table.labels_at] != UNKNOWN).cpu().numpy())
    said = torch.zeros(len(labels), 7, device=device)
    for k in range(3):
        torch.manual_seed(200 + k)
        net = copy.deepcopy(start)
        rows = Rows(table, TOKENS["teacher"], np.random.default_rng(200 + k), labelled)
        modules = net.bert.embeddings, net.bert.layers[:3], net.ner_layer, net.ner
        teach(net, modules, rows, names_loss, hard, 1.5e-4, 5, f"names {k}")
        with torch.no_grad():
            for i, text in table.all():
                at, own = table.places(i, text[0].shape[1])
                said[at[own]] += F.softmax(net.names(net.hidden(text, True)), -1)[own] / 3
    return torch.where(known[:, None], 0.5 * hard + 0.5 * said, said) * (labels != NONE)[:, None]


@torch.no_grad()
def vector_targets(directory, table):
    """bge's vector of a text: its [CLS] of length 1 -> [N, 512]"""
    net = Encoder(read_tensors(f"{directory}/model.safetensors"), "", 4, HEADS).to(device).eval()
    out = torch.zeros(len(table.lengths), 512, device=device)
    for i, text in table.all():
        out[i] = F.normalize(net(*text)[:, 0].float(), dim=1)
    return out


class Student:
    """What one step of the student learns: each of `tasks` draws a batch and returns its losses."""
    def __init__(self, net, arrays, pool, tables, targets):
        self.net, self.pool, self.targets, self.rng = net, pool, targets, np.random.default_rng(3)
        self.texts = {kind: Text(arrays, kind) for kind in PARTS}
        self.rows = {task: Rows(table, TOKENS[task], self.rng) for task, table in tables.items()}
        self.pairs = self.pairs_by_length()
        self.tasks = (lambda: self.masks("", 128, 125, ("hans", "prose", "hant")),
                      lambda: self.masks("short ", 48, 37, ("short",)),
                      self.sentences, self.vectors, self.sentiment, self.names, self.answers, self.parts)

    def masks(self, name, T, room, kinds):
        """Masked words and next sentence of parts of documents."""
        *spans, label = on_device(np.concatenate([self.texts[k].parts(PARTS[k], room, self.rng) for k in kinds], 1))
        text, places, words = self.pool.masked(self.pool.text(T, *spans))
        h = self.net.hidden(text)
        asked = h.gather(1, places[..., None].expand(-1, -1, h.shape[-1]))  # [B, k, 512]
        return {name + "mlm": F.cross_entropy(self.net.words(asked).flatten(0, 1), words.flatten()),
                name + "nsp": F.cross_entropy(self.net.next(h), label)}

    def pairs_by_length(self, ahead=32):
        """Pairs of sentences of many batches are drawn at once, so that a batch has some of similar length."""
        while True:
            rows = np.concatenate([self.texts[k].sentences(n * ahead, self.rng) for k, n in SENTENCES.items()], 1)
            lengths = rows[1] + rows[3] + 3
            parts = np.array_split(np.argsort(lengths, kind="stable"), ahead)
            for k in self.rng.permutation(ahead):
                yield on_device(rows[:, parts[k]]), up(lengths[parts[k]].max())

    def sentences(self):
        (*spans, label), T = next(self.pairs)
        return {"sentences": F.cross_entropy(self.net.next(self.net.hidden(self.pool.text(T, *spans))), label)}

    def vectors(self):
        rows, text = self.rows["vectors"].next()
        target = self.targets["vectors"][rows]
        v = self.net.vector(self.net.hidden(text), text[1])
        return {"vectors": 1 - (v * target).sum(1).mean(), "similarity": (v @ v.T - target @ target.T).square().mean()}

    def sentiment(self):
        return {"sentiment": sentiment_loss(self.net, self.rows["sentiment"], self.targets["sentiment"])}

    def names(self):
        return {"ner": names_loss(self.net, self.rows["ner"], self.targets["ner"])}

    def answers(self):
        rows, text = self.rows["qa"].next()
        z = self.net.answer(self.net.hidden(text), text[1])  # [B, T, 2]
        begin, end = (self.rows["qa"].table.columns[k][rows] for k in ("begin", "end"))
        total = F.cross_entropy(z[..., 0], begin, reduction="sum") + F.cross_entropy(z[..., 1], end, reduction="sum")
        return {"qa": total / (2 * self.rows["qa"].typical)}

    def parts(self):
        rows, text = self.rows["pos"].next()
        at, own = self.rows["pos"].table.places(rows, text[0].shape[1])
        labels = self.rows["pos"].table.columns["labels"][at].masked_fill(~own, NONE)
        z = self.net.pos(self.net.drop(self.net.hidden(text)))  # [B, T, 17]
        return {"pos": F.cross_entropy(z.flatten(0, 1), labels.flatten(), ignore_index=NONE)}


def learn(student):
    """Trains the student. -> a model with the mean of its weights"""
    net = student.net.train()
    adam, mean, begun = optimizer(net.parameters(), RATE), AveragedModel(net), time.time()
    for k in range(STEPS):
        set_rate(adam, RATE * rate(k / STEPS, 0.03))
        losses = {}
        for task in student.tasks:
            new = task()
            sum(WEIGHTS[name] * loss for name, loss in new.items()).backward()
            losses |= {name: loss.detach() for name, loss in new.items()}
        step(adam)
        if k > 0.85 * STEPS and k % 3 == 0:
            mean.update_parameters(net)
        if k % 50 == 0:
            print(f"{time.time() - begun:.0f} s, step {k}:", *(f"{name} {loss:.3f}" for name, loss in losses.items()), flush=True)
    return mean.module


def main():
    model, dense, teacher, file, out = sys.argv[1:]
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(1)
    tensors, arrays = read_tensors(f"{model}/model.safetensors"), read_tensors(file)
    linear = read_tensors(f"{dense}/model.safetensors")["linear.weight"]
    pool = Pool(arrays)
    tables = {task: Table(arrays, task, pool) for task in ("sentiment", "ner", "qa", "vectors", "pos")}
    start = Net(tensors, linear).to(device)
    targets = {"vectors": vector_targets(teacher, tables["vectors"]),
               "sentiment": sentiment_targets(start, tables["sentiment"]), "ner": names_targets(start, tables["ner"])}
    torch.manual_seed(11)
    write_tensors(out, learn(Student(start, arrays, pool, tables, targets)).tensors(), half=False)


if __name__ == "__main__":
    main()
