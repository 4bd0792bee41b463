"""record_transformer.py - records PyTorch's results of norms, embeddings, recurrent layers, attention and transformer blocks for
tests/cts/test_nn_transformer.c.

    python3 record_transformer.py    requires torch, numpy, safetensors; writes transformer.safetensors

Each case has its input x, r, the result y, and the gradients of sum(y r), in f32. The last sample has r = 0: a
mask that excludes it changes nothing. All numbers fit bf16; NAME.bf16 is the rms error of the same in
bf16, relative to the rms of NAME.

SPDX-License-Identifier: Apache-2.0"""
import math
import pathlib

import numpy
import torch
from safetensors.numpy import save_file
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).resolve().parent
BATCH, LENGTH, WIDTH = 4, 6, 8
torch.manual_seed(20261129)
torch.set_num_threads(1)


def narrow(a):
    return a.bfloat16().float()


def channels_last(a):
    return a.permute(0, 2, 3, 1) if a.dim() == 4 else a


def run(layer, x, r, dtype):
    """The result and the gradients, by name."""
    layer = layer.to(dtype)
    layer.zero_grad()
    is_index = x.dtype == torch.int32
    x = x.clone() if is_index else x.to(dtype).clone().requires_grad_(True)
    y = layer(x)
    (y.float() * r).sum().backward()
    out = {"y": y, **{f"{name}.grad": p.grad for name, p in layer.named_parameters()}}
    if not is_index:
        out["x.grad"] = x.grad
    return {name: channels_last(a.detach().float().clone()) for name, a in out.items()}


def record(out, case, layer, x=None, image=False):
    if x is None:
        x = narrow(torch.randn(BATCH, WIDTH, 3, 2) if image else torch.randn(BATCH, LENGTH, WIDTH))
    with torch.no_grad():
        for p in layer.parameters():
            if p.dim() == 1:
                p.copy_(torch.randn_like(p) * 0.3 + (p.mean() if p.numel() else 0))
            p.copy_(narrow(p))
        r = narrow(torch.randn_like(layer(x)))
    r[-1] = 0
    tensors = {"x": channels_last(x), "r": channels_last(r), **dict(layer.named_parameters())}
    tensors = {name: a.detach().clone() for name, a in tensors.items()}
    wide = run(layer, x, r, torch.float32)
    for name, a in run(layer, x, r, torch.bfloat16).items():
        error = (a - wide[name]).square().mean().sqrt() / wide[name].square().mean().sqrt()
        tensors[f"{name}.bf16"] = error.reshape(1)
    for name, a in {**tensors, **wide}.items():
        out[f"{case}/{name}"] = numpy.array(a.numpy(), order="C")


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(7, WIDTH))

    def forward(self, index):
        return F.embedding(index, self.weight) @ self.weight.T


def rotate(x, base=10000.0):
    """x [B, T, H, D]"""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[1])[:, None] * base ** (-torch.arange(half) / half)
    cos, sin = (torch.cat([f(angle)] * 2, -1)[:, None].to(x.dtype) for f in (torch.cos, torch.sin))
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def slopes(heads):
    """Press et al. 2022, as published with the paper"""
    power = 2 ** math.floor(math.log2(heads))
    out = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return torch.tensor(out + [2 ** (-4 * (2 * i + 1) / power) for i in range(heads - power)])


class Attention(nn.Module):
    def __init__(self, heads=2, kv=None, width=WIDTH, causal=False, window=0, rotary=False, alibi=False,
                 padding=False, segments=False, fused=True, bias=True):
        super().__init__()
        self.heads, self.kv, self.head = heads, kv or heads, width // heads
        self.causal, self.window, self.rotary, self.alibi = causal, window, rotary, alibi
        self.padding, self.segments, self.fused = padding, segments, fused
        sizes = [width, self.kv * self.head, self.kv * self.head]
        if fused:
            self.qkv = nn.Linear(width, sum(sizes), bias=bias)
        else:
            self.q_proj, self.k_proj, self.v_proj = (nn.Linear(width, s, bias=bias) for s in sizes)
        self.proj = nn.Linear(width, width, bias=bias)
        self.sizes = sizes

    def allowed(self, length):
        """bool[B, 1, T, S]; the same in test_nn_transformer.c"""
        at = torch.arange(length)
        away = at[:, None] - at[None]
        ok = torch.ones(BATCH, 1, length, length, dtype=torch.bool)
        if self.causal:
            ok &= away >= 0
        if self.window:
            ok &= away.abs() < self.window
        if self.padding:
            ok &= (at[None] < 3 + torch.arange(BATCH)[:, None])[:, None, None]
        if self.segments:
            segment = (at[None] >= 1 + torch.arange(BATCH)[:, None]).int()
            ok &= (segment[:, :, None] == segment[:, None])[:, None]
        return ok, away

    def forward(self, x):
        n, length, _ = x.shape
        parts = (self.qkv(x).split(self.sizes, -1) if self.fused
                 else (self.q_proj(x), self.k_proj(x), self.v_proj(x)))
        q, k, v = (a.reshape(n, length, -1, self.head) for a in parts)
        if self.rotary:
            q, k = rotate(q), rotate(k)
        k, v = (a.repeat_interleave(self.heads // self.kv, 2) for a in (k, v))
        ok, away = self.allowed(length)
        bias = torch.zeros(n, self.heads, length, length)
        if self.alibi:
            bias = bias - slopes(self.heads)[:, None, None] * away.abs()
        bias = bias.masked_fill(~ok, float("-inf")).to(x.dtype)
        y = F.scaled_dot_product_attention(*(a.transpose(1, 2) for a in (q, k, v)), attn_mask=bias)
        return self.proj(y.transpose(1, 2).reshape(n, length, -1))


class Recurrent(nn.Module):
    """A layer whose last states are added to its result; lengths 3, 4, ... or an initial state."""

    def __init__(self, kind, padding=False, first=None, **options):
        super().__init__()
        layer = kind(WIDTH, 3, batch_first=True, **options)
        self.padding, self.first = padding, first
        self.__dict__["layer"] = layer  # its parameters have no prefix
        for name, p in layer.named_parameters():
            self.register_parameter(name, p)

    def forward(self, x):
        if self.padding:
            x = nn.utils.rnn.pack_padded_sequence(x, 3 + torch.arange(BATCH), True, enforce_sorted=False)
        first = None if self.first is None else torch.full(
            (self.layer.num_layers, BATCH, 3), self.first, dtype=x.dtype)
        y, last = self.layer(x) if first is None else self.layer(x, first)
        if self.padding:
            y, _ = nn.utils.rnn.pad_packed_sequence(y, True, total_length=LENGTH)
        for state in last if isinstance(last, tuple) else [last]:
            y = y + torch.cat(list(state), -1)[:, None]
        return y


class Mlp(nn.Module):
    def __init__(self, hidden, act, gated, bias):
        super().__init__()
        self.fc1 = nn.Linear(WIDTH, hidden, bias=bias)
        self.fc2 = nn.Linear(hidden, WIDTH, bias=bias)
        if gated:
            self.gate = nn.Linear(WIDTH, hidden, bias=bias)
        self.act, self.gated = act, gated

    def forward(self, x):
        return self.fc2(self.act(self.gate(x)) * self.fc1(x) if self.gated else self.act(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, norm, attn, mlp, post=False):
        super().__init__()
        self.norm1, self.attn, self.norm2, self.mlp, self.post = norm(), attn, norm(), mlp, post

    def forward(self, x):
        if self.post:
            x = self.norm1(x + self.attn(x))
            return self.norm2(x + self.mlp(x))
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def main():
    out = {}
    record(out, "layer_norm", nn.LayerNorm(WIDTH))
    record(out, "layer_norm_far", nn.LayerNorm(WIDTH), narrow(torch.randn(BATCH, WIDTH) + 30))
    record(out, "layer_norm_eps", nn.LayerNorm(WIDTH, eps=0.5, bias=False))
    record(out, "rms_norm", nn.RMSNorm(WIDTH, eps=1e-5))
    record(out, "group_norm", nn.GroupNorm(2, WIDTH), image=True)
    record(out, "instance_norm", nn.InstanceNorm2d(WIDTH), image=True)
    index = torch.randint(0, 7, (BATCH, LENGTH), dtype=torch.int32)
    record(out, "embedding", nn.Embedding(7, WIDTH), index)
    record(out, "tied", Tied(), index)
    record(out, "attention", Attention())
    record(out, "causal", Attention(causal=True))
    record(out, "grouped", Attention(heads=4, kv=2, causal=True, rotary=True, fused=False, bias=False))
    record(out, "windowed", Attention(causal=True, window=3))
    record(out, "padded", Attention(padding=True, window=4))
    record(out, "segments", Attention(causal=True, segments=True, fused=False))
    record(out, "alibi", Attention(heads=8, causal=True, alibi=True))
    record(out, "alibi_uneven", Attention(heads=6, width=12, alibi=True),
           narrow(torch.randn(BATCH, LENGTH, 12)))
    norm = lambda: nn.LayerNorm(WIDTH)
    record(out, "pre_norm", Block(norm, Attention(causal=True), Mlp(16, F.gelu, False, True)))
    record(out, "post_norm", Block(norm, Attention(padding=True), Mlp(16, F.gelu, False, True), post=True))
    gated = Mlp(12, F.silu, True, False)
    record(out, "gated", Block(lambda: nn.RMSNorm(WIDTH, eps=1e-6),
                               Attention(heads=4, kv=2, causal=True, rotary=True, bias=False), gated))
    record(out, "in_chunks", Attention(heads=4, kv=2, causal=True, window=4, alibi=True, padding=True,
                                       segments=True))
    record(out, "lstm", Recurrent(nn.LSTM, padding=True, bidirectional=True))
    record(out, "gru", Recurrent(nn.GRU, first=0.5))
    save_file(out, HERE / "transformer.safetensors")


main()
