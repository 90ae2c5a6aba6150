"""What the scripts for a GPU share: encoders of BERT's and MPNet's form, files of tensors, batches, steps, a schedule by time.
EAGER=1 in the environment: nothing is compiled."""
import collections
import json
import math
import os
import struct
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

device = 'cuda' if torch.cuda.is_available() else 'cpu'
work = torch.bfloat16 if device == 'cuda' else torch.float32  # type of activations
torch.backends.cuda.matmul.allow_tf32 = True
KINDS = {'F32': np.float32, 'F16': np.float16, 'I8': np.int8, 'U8': np.uint8, 'I64': np.int64, 'U16': np.uint16, 'I32': np.int32}
CLS, SEP, MASK = 101, 102, 103
DOCUMENT_END = 1  # [unused0], in streams of text
NAMES = {np.dtype(kind): name for name, kind in KINDS.items()}


def read_header(path):
    """A safetensors file's header, {name: {dtype, shape, data_offsets}}, and the place where its data begin"""
    with open(path, 'rb') as f:
        size = struct.unpack('<Q', f.read(8))[0]
        header = json.loads(f.read(size))
    header.pop('__metadata__', None)
    return header, 8 + size


def read_tensors(path):
    """safetensors file -> {name: numpy array}"""
    header, begin = read_header(path)
    with open(path, 'rb') as f:
        data = memoryview(f.read())[begin:]
    arrays = {name: np.frombuffer(data[slice(*v['data_offsets'])], KINDS[v['dtype']]) for name, v in header.items()}
    return {name: a.reshape(header[name]['shape']) for name, a in arrays.items()}


def write_tensors(path, tensors, half=True):
    """{name: torch or numpy} -> safetensors file, floats as float16 if half; whole or not at all"""
    header, parts, at = {}, [], 0
    for name, value in tensors.items():
        a = value.detach().float().cpu().numpy() if torch.is_tensor(value) else value
        if a.dtype.kind == 'f':
            a = a.astype(np.float16 if half else np.float32)
        parts.append(np.ascontiguousarray(a).tobytes())
        header[name] = {'dtype': NAMES[a.dtype], 'shape': list(a.shape), 'data_offsets': [at, at + len(parts[-1])]}
        at += len(parts[-1])
    head = json.dumps(header).encode()
    with open(path + '.part', 'wb') as f:
        f.write(struct.pack('<Q', len(head)) + head)
        f.writelines(parts)
    os.replace(path + '.part', path)


def parameter(t, name):
    return nn.Parameter(torch.tensor(np.asarray(t[name], np.float32)))


def compiled(f):
    """f, compiled on a GPU for shapes that change; numbers among its arguments are constants of the code"""
    if device != 'cuda' or os.environ.get('EAGER'):
        return f
    import torch._dynamo.config as config
    config.specialize_int = config.specialize_float = True
    config.recompile_limit = 64  # one for each such constant, with gradients and without
    return torch.compile(f, dynamic=True)


def layer_forward(x, mask, heads, p, eps, wqkv, bqkv, wo, bo, g1, b1, wi, bi, wd, bd, g2, b2):
    """One layer of a Transformer, normalised after each half. x: [B, T, H]; p: dropout.
    mask: bool [B, 1, 1, T] (True: attend), or numbers to add, [B, heads, T, T], or None"""
    B, T, H = x.shape
    d = x.dtype
    q, k, v = F.linear(x, wqkv.to(d), bqkv.to(d)).view(B, T, 3, heads, H // heads).permute(2, 0, 3, 1, 4).unbind(0)
    a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)
    a = F.linear(a.transpose(1, 2).reshape(B, T, H), wo.to(d), bo.to(d))
    x = F.layer_norm((x + F.dropout(a, p, p > 0)).float(), (H,), g1, b1, eps).to(d)
    h = F.linear(F.gelu(F.linear(x, wi.to(d), bi.to(d))), wd.to(d), bd.to(d))
    return F.layer_norm((x + F.dropout(h, p, p > 0)).float(), (H,), g2, b2, eps).to(d)


fast_layer = compiled(layer_forward)


class Layer(nn.Module):
    NAMES = 'wqkv bqkv wo bo g1 b1 wi bi wd bd g2 b2'.split()
    # query, key, value, output, first norm, intermediate, output, second norm
    BERT = ('attention.self.query attention.self.key attention.self.value attention.output.dense attention.output.LayerNorm '
            'intermediate.dense output.dense output.LayerNorm').split()
    MPNET = ('attention.attn.q attention.attn.k attention.attn.v attention.attn.o attention.LayerNorm '
             'intermediate.dense output.dense output.LayerNorm').split()

    def __init__(self, t, prefix, names=BERT):
        """t: tensors by name; prefix: '..encoder.layer.N.'"""
        super().__init__()
        pairs = [[parameter(t, f'{prefix}{name}.{kind}') for kind in ('weight', 'bias')] for name in names]
        joined = [nn.Parameter(torch.cat(three).detach()) for three in zip(*pairs[:3])]
        for name, value in zip(self.NAMES, joined + sum(pairs[3:], [])):
            self.register_parameter(name, value)

    def forward(self, x, mask, heads, p, eps):
        return fast_layer(x, mask, heads, p, eps, *[getattr(self, name) for name in self.NAMES])

    def tensors(self, prefix):
        """tensors by Hugging Face's BERT names"""
        weights = [*self.wqkv.chunk(3), self.wo, self.g1, self.wi, self.wd, self.g2]
        biases = [*self.bqkv.chunk(3), self.bo, self.b1, self.bi, self.bd, self.b2]
        out = {f'{prefix}{name}.weight': value for name, value in zip(self.BERT, weights)}
        return out | {f'{prefix}{name}.bias': value for name, value in zip(self.BERT, biases)}


class Embeddings(nn.Module):
    def __init__(self, t, prefix, eps, mpnet=False):
        super().__init__()
        self.eps, self.first = eps, 2 if mpnet else 0  # MPNet's positions begin with 2
        self.word = parameter(t, prefix + 'word_embeddings.weight')
        self.position = parameter(t, prefix + 'position_embeddings.weight')
        self.kind = None if mpnet else parameter(t, prefix + 'token_type_embeddings.weight')
        self.g, self.b = parameter(t, prefix + 'LayerNorm.weight'), parameter(t, prefix + 'LayerNorm.bias')

    def forward(self, ids, types=None, p=0.):
        """ids, types: [B, T] -> [B, T, H]"""
        x = F.embedding(ids, self.word) + self.position[self.first:self.first + ids.shape[1]]
        if self.kind is not None:
            x = x + (self.kind[0] if types is None else F.embedding(types, self.kind))
        return F.dropout(F.layer_norm(x, x.shape[-1:], self.g, self.b, self.eps), p, p > 0).to(work)

    def tensors(self, prefix):
        out = {'word_embeddings.weight': self.word, 'position_embeddings.weight': self.position}
        out |= {'token_type_embeddings.weight': self.kind, 'LayerNorm.weight': self.g, 'LayerNorm.bias': self.b}
        return {prefix + name: value for name, value in out.items()}


class Encoder(nn.Module):
    """Of BERT's form, with the prefix 'bert.' in its tensors' names, or of MPNet's, with the prefix ''"""

    def __init__(self, t, prefix, layers, heads, mpnet=False):
        super().__init__()
        self.heads, self.mpnet, self.eps = heads, mpnet, 1e-5 if mpnet else 1e-12
        self.embeddings = Embeddings(t, prefix + 'embeddings.', self.eps, mpnet)
        names = Layer.MPNET if mpnet else Layer.BERT
        self.layers = nn.ModuleList(Layer(t, f'{prefix}encoder.layer.{i}.', names) for i in range(layers))
        if mpnet:
            self.relative = parameter(t, prefix + 'encoder.relative_attention_bias.weight')  # [32, heads]

    def bias(self, T):
        """MPNet's relative attention bias, [1, heads, T, T]"""
        at = torch.arange(T, device=self.relative.device)
        n = at[:, None] - at[None, :]
        before, n = (n < 0).long() * 16, n.abs()
        far = (8 + (torch.log(n.float().clamp(min=1) / 8) / math.log(128 / 8) * 8).long()).clamp(max=15)
        return self.relative[before + torch.where(n < 8, n, far)].permute(2, 0, 1)[None]

    def mask(self, real):
        """real: bool [B, T] -> what layers want"""
        if not self.mpnet:
            return None if real is None else real[:, None, None, :]
        bias = self.bias(real.shape[1])
        return (bias + torch.zeros_like(real, dtype=bias.dtype).masked_fill(~real, -1e4)[:, None, None, :]).to(work)

    def forward(self, ids, real=None, types=None, p=0.):
        """ids, real (bool), types: [B, T] -> hidden states, [B, T, H]"""
        x, mask = self.embeddings(ids, types, p), self.mask(real)
        for layer in self.layers:
            x = layer(x, mask, self.heads, p, self.eps)
        return x


class Dense(nn.Module):
    """linear, in float32; t None: drawn anew"""

    def __init__(self, t, prefix, shape=None):
        super().__init__()
        if t is None:
            self.weight, self.bias = nn.Parameter(torch.randn(shape) * 0.02), nn.Parameter(torch.zeros(shape[0]))
        else:
            self.weight, self.bias = parameter(t, prefix + 'weight'), parameter(t, prefix + 'bias')

    def forward(self, x):
        return F.linear(x.float(), self.weight, self.bias)

    def tensors(self, prefix):
        return {prefix + 'weight': self.weight, prefix + 'bias': self.bias}


def slope(part, warmup):
    """Share of the learning rate when `part` of the time has passed: up to 1 in the warm-up, then down to 0"""
    return max(0., min(part / warmup, (1 - part) / (1 - warmup)))


class Clock:
    """A schedule by time, that ends so many seconds from now"""

    def __init__(self, seconds, warmup=0.03):
        self.start, self.seconds, self.warmup = time.time(), max(seconds, 1e-6), warmup

    def part(self):
        return (time.time() - self.start) / self.seconds

    def done(self):
        return self.part() >= 1

    def rate(self):
        return slope(self.part(), self.warmup)


def optimizer(parameters, lr, decay=0.01, betas=(0.9, 0.98)):
    """AdamW; matrices alone decay"""
    ps = [p for p in parameters if p.requires_grad]
    matrices, others = [p for p in ps if p.ndim > 1], [p for p in ps if p.ndim < 2]
    groups = [{'params': matrices, 'weight_decay': decay}, {'params': others, 'weight_decay': 0.}]
    return torch.optim.AdamW(groups, lr=lr, betas=betas, eps=1e-6, fused=True)


def set_rate(opt, lr):
    for group in opt.param_groups:
        group['lr'] = lr


def step(*optimizers):
    """A step by gradients, whose norm is cut to 1; none where they are not finite. Does not wait for the device."""
    norm = nn.utils.clip_grad_norm_([p for opt in optimizers for group in opt.param_groups for p in group['params']], 1.0)
    for opt in optimizers:
        opt.grad_scale, opt.found_inf = None, (~torch.isfinite(norm)).float()  # as GradScaler tells a fused optimizer
        opt.step()
        opt.zero_grad(set_to_none=True)


def batches(lengths, tokens, rng, order=None, most=None, least=8, window=8192, smallest=1):
    """One pass: lists of row numbers, of similar length, in random order. A batch has about `tokens` tokens with padding, but
    `least` to `most` rows. Of each `window` rows, those left over make a smaller one, unless they are fewer than `smallest`."""
    order = rng.permutation(len(lengths)) if order is None else order
    out = []
    for w in range(0, len(order), window):
        part = order[w:w + window]
        part = part[np.argsort(lengths[part], kind='stable')[::-1]]
        while len(part) >= smallest:
            n = tokens // up(lengths[part[0]])
            n = max(least, n if most is None else min(most, n))
            out.append(part[:n])
            part = part[n:]
    return [out[i] for i in rng.permutation(len(out))]


def up(n, step=16):
    return -(-int(n) // step) * step


def put(a, kind=torch.long):
    return torch.from_numpy(np.ascontiguousarray(a)).to(device, non_blocking=True).to(kind)


# A batch of Rows. ids, real, types (or None), allowed (logits are for these tokens): [B, T]; place: [B, T], the tokens' places
# among all rows' tokens, after the last one where there is none.
Batch = collections.namedtuple('Batch', 'ids real types allowed place')


class Rows:
    """rows of tokens, all on the device"""

    def __init__(self, flat, lengths, question=None):
        """question: how many tokens of a row [CLS] question [SEP] context [SEP] are the question's"""
        self.lengths, self.n, self.total = lengths, len(lengths), int(lengths.sum())
        self.flat, self.size = put(flat.astype(np.int32), torch.int32), put(lengths)
        self.begin = put(np.cumsum(lengths) - lengths)
        self.question = None if question is None else put(question)

    def batch(self, rows, T):
        """rows: long [B], on the device"""
        t, n = torch.arange(T, device=device)[None], self.size[rows][:, None]
        real = t < n
        place = torch.where(real, self.begin[rows][:, None] + t, self.total)
        ids = torch.where(real, self.flat[place.clamp(max=self.total - 1)], 0).long()
        if self.question is None:
            return Batch(ids, real, None, real & (t > 0) & (t < n - 1), place)
        second = t >= self.question[rows][:, None] + 2
        return Batch(ids, real, (second & real).long(), (t == 0) | second & (t < n - 1), place)

    def in_order(self, size):
        """all rows, of similar lengths -> row numbers and batches"""
        order = np.argsort(self.lengths, kind='stable')
        for i in range(0, self.n, size):
            rows = order[i:i + size]
            yield rows, self.batch(put(rows), up(self.lengths[rows].max()))


def wrapped(flat, lengths, first=CLS, last=SEP):
    """`first`, the row's tokens, `last`, for each row -> flat, lengths"""
    lengths = lengths.astype(np.int64)
    ends = np.cumsum(lengths + 2)
    new = np.zeros(len(flat) + 2 * len(lengths), np.int64)
    new[np.arange(len(flat)) + 2 * np.repeat(np.arange(len(lengths)), lengths) + 1] = flat
    new[ends - lengths - 2], new[ends - 1] = first, last
    return new, lengths + 2


def split(flat, lengths):
    return np.split(flat, np.cumsum(lengths.astype(np.int64))[:-1])


def plan(rows, lengths, tokens, most, rng):
    """batches (row numbers on the device, the same here, T) of similar lengths, in random order"""
    # one or two rows are not worth a step
    out = batches(lengths, tokens, rng, rng.permutation(rows), most, least=4, window=48 * most, smallest=3)
    flat = put(np.concatenate(out)).split([len(rows) for rows in out])
    return [(index, rows, up(lengths[rows[0]])) for index, rows in zip(flat, out)]
