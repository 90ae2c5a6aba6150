"""usage: words.py SECONDS MODEL DATA OUT
The head `mlm` of the English model, with layers 3 to 6 of its own, learns masked words from DATA/words.safetensors of export.py.
MODEL: float32, with the head to begin with. Writes OUT/mlm.safetensors.
On one H200 beside three of heads.py: 746 s, 11,100 steps, 574 million tokens; the loss fell from 3.25 to 2.82."""
import os
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from net import CLS, DOCUMENT_END, MASK, SEP, Clock, Dense, Encoder, Layer, compiled, device, optimizer, parameter, put
from net import read_tensors, set_rate, step, work, write_tensors

HIDDEN, HEADS, EPS = 384, 12, 1e-12
RATE, MASKED = 8e-4, .2
# What share of the rows is of which kind; talk has short texts alone.
SHARE = {'wiki': .46, 'books': .19, 'news': .11, 'dialogue': .07, 'films': .08, 'talk': .05, 'more': .04}
# A step has a batch of long rows and one of short ones, such as people type: tokens, weight of the loss, [(length, probability)]
LONG, SHORT = (49152, .75, [(128, .62), (64, .23), (256, .15)]), (18432, .25, [(32, .6), (16, .4)])


class Head(nn.Module):
    def __init__(self, t):
        super().__init__()
        self.layers = nn.ModuleList(Layer(t, f'heads.mlm.encoder.layer.{i}.') for i in range(2, 6))
        self.dense = Dense(t, 'heads.mlm.cls.predictions.transform.dense.')
        self.g, self.b = (parameter(t, f'heads.mlm.cls.predictions.transform.LayerNorm.{kind}') for kind in ('weight', 'bias'))
        self.bias = parameter(t, 'heads.mlm.cls.predictions.bias')

    def last(self):
        return self.dense.weight, self.dense.bias, self.g, self.b, self.bias

    def tensors(self):
        out = self.dense.tensors('heads.mlm.cls.predictions.transform.dense.')
        for i, layer in enumerate(self.layers, 2):
            out |= layer.tensors(f'heads.mlm.encoder.layer.{i}.')
        names = ['transform.LayerNorm.weight', 'transform.LayerNorm.bias', 'bias']
        return out | {'heads.mlm.cls.predictions.' + name: value for name, value in zip(names, (self.g, self.b, self.bias))}


def loss_of(x, label, weight, embeddings, wd, bd, g, b, bias):
    """x: [N, H]; label, weight: [N]; embeddings: [V, H]"""
    y = F.layer_norm(F.gelu(F.linear(x.float(), wd, bd)), (HIDDEN,), g, b, EPS)
    logits = F.linear(y.to(work), embeddings, bias.to(work))
    losses = F.cross_entropy(logits.float(), label, reduction='none')
    return (losses * weight).sum() / weight.sum()


fast_loss = compiled(loss_of)


class Text:
    """a stream of tokens on the device, of which rows are cut at random"""

    def __init__(self, tokens):
        ends, documents = np.flatnonzero(tokens == SEP), np.flatnonzero(tokens == DOCUMENT_END)
        inside = np.append(np.flatnonzero((tokens != SEP) & (tokens != DOCUMENT_END)), len(tokens))
        starts = inside[np.searchsorted(inside, np.append(0, ends[:-1] + 1))]
        starts, ends = starts[starts < ends], ends[starts < ends]
        stops = np.append(documents, len(tokens))[np.searchsorted(documents, ends)]  # ends of the sentences' documents
        self.tokens = put(tokens.astype(np.int32), torch.int32)
        self.starts, self.ends, self.stops = put(starts), put(ends), put(stops)
        size = self.ends - self.starts
        # short rows begin with a sentence that fits
        self.fit = {L: torch.nonzero((size <= L - 2) & (size >= (3 if L == 16 else 8)))[:, 0] for L, _ in SHORT[2]}

    def cut(self, n, L):
        """n rows of about L tokens -> first places, places after the last"""
        if L in self.fit:  # one to three sentences
            s = self.fit[L][torch.randint(len(self.fit[L]), (n,), device=device)]
        else:
            s = torch.randint(len(self.starts), (n,), device=device)
        begin, stop = self.starts[s], self.stops[s]
        most = torch.minimum(begin + L - 2 + 3, stop)  # three more, for ends of sentences, which go away
        last = torch.searchsorted(self.ends, most, right=True) - 1  # the last sentence that ends in time
        if L in self.fit:
            return begin, self.ends[torch.minimum(torch.maximum(last, s), s + torch.randint(3, (n,), device=device))]
        end = self.ends[last.clamp(min=0)]
        whole = (last >= s) & (((end - begin) * 2 > L - 2) | (most == stop))  # else a row is cut within a sentence
        return begin, torch.where(whole, end, most)

    def rows(self, n, L):
        """n rows: [CLS], sentences of one document, [SEP] -> ids, real: [n, L]"""
        begin, end = self.cut(n, L)
        place = begin[:, None] + torch.arange(L + 8, device=device)
        x = self.tokens[place.clamp(max=len(self.tokens) - 1)]
        good = (place < end[:, None]) & (x != SEP) & (x != DOCUMENT_END)
        # ends of sentences go, the rest moves together
        order = torch.argsort((~good).to(torch.int8), dim=1, stable=True)[:, :L - 2]
        x, good = x.gather(1, order), good.gather(1, order)
        ids = F.pad(torch.where(good, x, 0).long(), (1, 1))
        size = good.sum(1)[:, None]
        ids[:, 0] = CLS
        ids.scatter_(1, size + 1, SEP)
        return ids, torch.arange(L, device=device) < size + 2


def batch(texts, n, L):
    names = [name for name in texts if name != 'talk' or L <= 32]
    share = np.array([SHARE[name] for name in names])
    counts = (share / share.sum() * n).astype(int)
    counts[np.random.permutation(len(names))[:n - counts.sum()]] += 1
    parts = [texts[name].rows(count, L) for name, count in zip(names, counts.tolist()) if count]
    return [torch.cat(part) for part in zip(*parts)]


def masked(ids, real):
    """-> ids with masks, [n, L]; places of the masks, labels, weights, [n, K]"""
    n, L = ids.shape
    can = real & (ids != CLS) & (ids != SEP)
    wanted = (can.sum(1) * MASKED + torch.rand(n, device=device)).floor().clamp(min=1)
    K = int((L - 2) * MASKED + 1)
    score, place = torch.where(can, torch.rand(n, L, device=device), -1.).topk(K, 1)
    weight = (torch.arange(K, device=device) < wanted[:, None]) & (score >= 0)
    label, r = ids.gather(1, place), torch.rand(n, K, device=device)
    new = torch.where(r < .8, MASK, torch.where(r < .9, torch.randint(999, 30522, (n, K), device=device), label))
    return ids.scatter(1, place, torch.where(weight, new, label)), place, label, weight.float()


def loss_on(texts, trunk, head, tokens, lengths):
    L = lengths[np.random.choice(len(lengths), p=[p for _, p in lengths])][0]
    ids, real = batch(texts, tokens // L, L)
    ids, place, label, weight = masked(ids, real)
    with torch.no_grad():
        x, mask = trunk(ids, real), trunk.mask(real)
    for layer in head.layers:
        x = layer(x, mask, HEADS, 0., EPS)
    x = x.gather(1, place[:, :, None].expand(-1, -1, HIDDEN)).flatten(0, 1)
    return fast_loss(x, label.flatten(), weight.flatten(), trunk.embeddings.word.to(work), *head.last()), real.sum()


def main(seconds, model, data, out):
    torch.manual_seed(1)
    np.random.seed(3)
    clock = Clock(float(seconds), .04)
    t = read_tensors(model + '/model.safetensors')
    trunk, head = Encoder(t, 'bert.', 2, HEADS).to(device).requires_grad_(False), Head(t).to(device)
    texts = {name: Text(tokens) for name, tokens in read_tensors(data + '/words.safetensors').items()}
    opt, steps, tokens, losses, shown = optimizer(head.parameters(), RATE), 0, 0, [], time.time()
    while not clock.done():
        set_rate(opt, RATE * clock.rate())
        for size, weight, lengths in (LONG, SHORT):
            loss, real = loss_on(texts, trunk, head, size, lengths)
            (loss * weight).backward()
            losses.append(loss.detach())
            tokens = tokens + real
        step(opt)
        steps += 1
        if time.time() - shown > 15:
            long, short = torch.stack(losses).view(-1, 2).mean(0).tolist()
            now = f'{100 * clock.part():.0f}%, step {steps}, {int(tokens)} tokens'
            print(f'{now}, loss {long:.4f}, short {short:.4f}', flush=True)
            losses, shown = [], time.time()
    os.makedirs(out, exist_ok=True)
    write_tensors(out + '/mlm.safetensors', head.tensors())


if __name__ == '__main__':
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
