#!/usr/bin/env python3
"""Makes recurrent.safetensors: torch.nn.RNN, GRU and LSTM in fp64 on sequences of different lengths, and pairs of them
that translate.

    pip install -r ../requirements.txt && python make_recurrent.py

For each case `NAME.`: the module's parameters under their names, x [T, D], cu_seq_lens, the first states, y [T, dirs H],
the last states [layers dirs S, H], random gradients of y and the last states, and autograd's gradients.

For each pair `NAME.`: its parameters, the sources and targets, the loss (the mean over target tokens) and the gradients;
the logits [target tokens, V] and the weights of attention [target tokens, longest source].
"""

from pathlib import Path

import torch
from safetensors.torch import save_file

HERE = Path(__file__).parent
LENGTHS = [3, 9, 1, 5]
SIZES = {"input_size": 5, "hidden_size": 7}
CASES = {
    "rnn": (torch.nn.RNN, {}),
    "rnn_relu": (torch.nn.RNN, {"nonlinearity": "relu"}),
    "gru": (torch.nn.GRU, {}),
    "lstm": (torch.nn.LSTM, {}),
    "rnn2": (torch.nn.RNN, {"num_layers": 2, "bidirectional": True}),
    "gru2": (torch.nn.GRU, {"num_layers": 2, "bidirectional": True}),
    "lstm2": (torch.nn.LSTM, {"num_layers": 2, "bidirectional": True}),
}


def single(*shape):
    """Random numbers that float32 holds exactly."""
    return torch.randn(*shape).float().double()


def run(cls, options):
    net = cls(**SIZES, **options).double()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_((0.5 * single(*p.shape)).float())
    blocks = net.num_layers * (2 if net.bidirectional else 1)
    states = [single(blocks, len(LENGTHS), SIZES["hidden_size"]).requires_grad_()
              for _ in range(2 if cls is torch.nn.LSTM else 1)]
    x = single(sum(LENGTHS), SIZES["input_size"]).requires_grad_()
    packed = torch.nn.utils.rnn.pack_sequence(torch.split(x, LENGTHS), enforce_sorted=False)
    y, last = net(packed, tuple(states) if len(states) == 2 else states[0])
    y, lengths = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True)
    y = torch.cat([row[:n] for row, n in zip(y, lengths)])
    last = last if len(states) == 2 else [last]
    gradients = [single(*t.shape) for t in (y, *last)]
    torch.autograd.backward([y, *last], gradients)
    out = {"x": x, "y": y, "dy": gradients[0], "dx": x.grad}
    for name, state, end, gradient in zip("hc", states, last, gradients[1:]):
        out |= {name: state, name + "_last": end, f"d{name}_last": gradient, "d" + name: state.grad}
    for name, p in net.named_parameters():
        out |= {name: p, "grad." + name: p.grad}
    return {name: t.detach().float().contiguous() for name, t in out.items()}


class Pair(torch.nn.Module):
    """Encoder and decoder; at each step the decoder's last hidden state asks, the answer is part of the next input."""

    def __init__(self, cls, attention, vocab, embedding, hidden, layers, bidirectional, size=5):
        super().__init__()
        context = 0 if attention == "none" else hidden
        self.kind, self.layers, self.hidden = attention, layers, hidden
        self.encoder, self.decoder = torch.nn.Module(), torch.nn.Module()
        self.encoder.embedding = torch.nn.Embedding(vocab, embedding)
        self.decoder.embedding = torch.nn.Embedding(vocab, embedding)
        half = hidden // (2 if bidirectional else 1)
        self.encoder.rnn = cls(embedding, half, layers, bidirectional=bidirectional)
        self.decoder.rnn = cls(embedding + context, hidden, layers)
        if attention == "additive":
            self.attention = torch.nn.Module()
            self.attention.query = torch.nn.Linear(hidden, size, bias=False)
            self.attention.key = torch.nn.Linear(hidden, size, bias=False)
            self.attention.score = torch.nn.Linear(size, 1, bias=False)
        self.output = torch.nn.Linear(hidden, vocab)

    def joined(self, state):
        """[layers dirs, 1, H'] -> [layers, 1, H]: both directions of a layer, side by side."""
        return state.view(self.layers, -1, 1, state.shape[-1]).transpose(1, 2).reshape(self.layers, 1, self.hidden)

    def scores(self, query, keys):
        if self.kind == "dot":
            return keys @ query
        return self.attention.score(torch.tanh(self.attention.query(query) + self.attention.key(keys))).squeeze(-1)

    def forward(self, source, target, start):
        """Of one sequence: logits [n, V] and weights [n, m]."""
        keys, state = self.encoder.rnn(self.encoder.embedding(source).unsqueeze(1))
        keys = keys.squeeze(1)
        state = tuple(map(self.joined, state)) if isinstance(state, tuple) else self.joined(state)
        logits, weights = [], []
        for token in [start, *target[:-1].tolist()]:
            x = self.decoder.embedding.weight[token]
            if self.kind != "none":
                query = (state[0] if isinstance(state, tuple) else state)[-1, 0]
                weights.append(torch.softmax(self.scores(query, keys), 0))
                x = torch.cat([x, weights[-1] @ keys])
            y, state = self.decoder.rnn(x.view(1, 1, -1), state)
            logits.append(self.output(y.view(-1)))
        return torch.stack(logits), torch.stack(weights) if weights else None


PAIRS = {
    "gru-dot": (torch.nn.GRU, "dot", 11, 4, 6, 2, True),
    "lstm-additive": (torch.nn.LSTM, "additive", 11, 4, 6, 2, True),
    "rnn-none": (torch.nn.RNN, "none", 11, 4, 5, 1, False),
    "lstm-dot": (torch.nn.LSTM, "dot", 11, 3, 5, 1, False),
    "gru-additive": (torch.nn.GRU, "additive", 11, 3, 6, 1, True),
}
SOURCES = [[3, 4, 5], [6], [7, 8, 9, 10, 2], [2, 3]]
TARGETS = [[5, 4, 1], [6, 3, 2, 10, 1], [1], [3, 2, 8, 1]]
START = 0


def run_pair(options):
    net = Pair(*options).double()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_((0.5 * single(*p.shape)).float())
    outputs = [net(torch.tensor(s), torch.tensor(t), START) for s, t in zip(SOURCES, TARGETS)]
    logits = torch.cat([l for l, _ in outputs])
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor(sum(TARGETS, [])))
    loss.backward()
    out = {"loss": loss.view(1), "logits": logits}
    for name, p in net.named_parameters():
        out |= {name: p, "grad." + name: p.grad}
    if outputs[0][1] is not None:
        longest = max(map(len, SOURCES))
        out["weights"] = torch.cat([torch.nn.functional.pad(w, (0, longest - w.shape[1])) for _, w in outputs])
    return {name: t.detach().float().contiguous() for name, t in out.items()}


def main():
    torch.manual_seed(0)
    tensors = {"cu_seq_lens": torch.tensor([0, *torch.tensor(LENGTHS).cumsum(0)], dtype=torch.int32)}
    for case, (cls, options) in CASES.items():
        tensors |= {f"{case}.{name}": t for name, t in run(cls, options).items()}
    for case, options in PAIRS.items():
        tensors |= {f"{case}.{name}": t for name, t in run_pair(options).items()}
    path = HERE / "recurrent.safetensors"
    save_file(tensors, path)
    path.chmod(0o644)


if __name__ == "__main__":
    main()
