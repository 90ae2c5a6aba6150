#!/usr/bin/env python3
"""Makes recurrent.safetensors: torch.nn.RNN, GRU and LSTM in fp64 on sequences of different lengths.

    pip install -r ../requirements.txt && python make_recurrent.py

For each case `NAME.`: the module's parameters under their names, x [T, D], cu_seq_lens, the first states, y [T, dirs H],
the last states [layers dirs S, H], random gradients of y and the last states, and autograd's gradients.
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


def main():
    torch.manual_seed(0)
    tensors = {"cu_seq_lens": torch.tensor([0, *torch.tensor(LENGTHS).cumsum(0)], dtype=torch.int32)}
    for case, (cls, options) in CASES.items():
        tensors |= {f"{case}.{name}": t for name, t in run(cls, options).items()}
    save_file(tensors, HERE / "recurrent.safetensors")


if __name__ == "__main__":
    main()
