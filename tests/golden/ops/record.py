#!/usr/bin/env python3
# Records PyTorch's results for the rows of tests/support/cases/FAMILY_cases.h, for tests/cts/test_ops.c: inputs,
# result and gradients of each row, in FAMILY.safetensors in this folder. PyTorch computes in f64, on numbers that
# bf16 represents exactly, so that the same record is valid for every dtype.
# Requires: numpy, torch, safetensors (the versions used are in the file's metadata).
# usage: record.py [FAMILY...]; without arguments, all families
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys
import zlib

import numpy
import safetensors
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "..", "..", "support", "cases")
ENDING = "_cases.h"
FIXED = {"s32": torch.int32, "s64": torch.int64, "u8": torch.uint8, "bool": torch.bool}


def channels_first(x):
    return x.movedim(-1, 1)


def conv(x, kernel, stride=1, pad=0, dilation=1, groups=1):
    of_rank = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[x.dim()]
    weight = kernel.movedim((-1, -2), (0, 1))
    return of_rank(channels_first(x), weight, None, stride, pad, dilation, groups).movedim(1, -1)


def conv_transpose(x, kernel, stride=1, pad=0, output_pad=0, dilation=1, groups=1):
    of_rank = {3: F.conv_transpose1d, 4: F.conv_transpose2d, 5: F.conv_transpose3d}[x.dim()]
    weight = kernel.movedim((-1, -2), (0, 1))
    return of_rank(channels_first(x), weight, None, stride, pad, output_pad, groups, dilation).movedim(1, -1)


def max_pool(x, size=2, stride=None, padding=0):
    return F.max_pool2d(x.permute(0, 3, 1, 2), size, stride, padding).permute(0, 2, 3, 1)


def avg_pool(x, size=2, stride=None, padding=0):
    return F.avg_pool2d(x.permute(0, 3, 1, 2), size, stride, padding).permute(0, 2, 3, 1)


def pad(x, value, low, high, interior):
    """Dimension by dimension: spread out, then grown or cut at both ends."""
    for i, (lo, hi, gap) in enumerate(zip(low, high, interior)):
        x = x.movedim(i, 0)
        spread = torch.full((x.shape[0] + (x.shape[0] - 1) * gap, *x.shape[1:]), value, dtype=x.dtype)
        spread[::gap + 1] = x
        grown = [torch.full((max(n, 0), *x.shape[1:]), value, dtype=x.dtype) for n in (lo, hi)]
        x = torch.cat([grown[0], spread[max(-lo, 0):spread.shape[0] - max(-hi, 0)], grown[1]])
        x = x.movedim(0, i)
    return x


def first_argmax(x):
    """The first of equal elements; torch promises none."""
    return torch.from_numpy(numpy.argmax(x.numpy(), -1)).to(torch.int32)


def block(x, start, size):
    """The block at `start`, moved into x."""
    for i, (first, length) in enumerate(zip(start.tolist(), size)):
        x = x.narrow(i, min(max(first, 0), x.shape[i] - length), length)
    return x


def replaced(x, y, start):
    """x with the block at `start`, moved into x, replaced."""
    x = x.clone()
    block(x, start, y.shape).copy_(y)
    return x


def crop_resize(x, boxes, height, width, antialias=True):
    """torchvision's resized_crop of tensors: crop, then interpolate."""
    images = []
    for one, (top, left, h, w) in zip(x, boxes.tolist()):
        cut = one[top:top + h, left:left + w].permute(2, 0, 1)[None]
        images.append(F.interpolate(cut, (height, width), mode="bilinear", align_corners=False, antialias=antialias)[0])
    return torch.stack(images).permute(0, 2, 3, 1)


def affine_sample(x, matrix, size=None, mode="bilinear"):
    """torchvision's affine of tensors: the grid in pixels from the centre, scaled for grid_sample."""
    batch, high, wide, _ = x.shape
    h, w = size or (high, wide)
    rows = torch.arange(h, dtype=x.dtype) + 0.5 - h / 2
    columns = torch.arange(w, dtype=x.dtype) + 0.5 - w / 2
    at = torch.stack([columns[None, :].expand(h, w), rows[:, None].expand(h, w), torch.ones(h, w, dtype=x.dtype)], -1)
    grid = torch.einsum("hwk,bik->bhwi", at, matrix.detach()) / torch.tensor([wide / 2, high / 2], dtype=x.dtype)
    return F.grid_sample(x.permute(0, 3, 1, 2), grid, mode=mode, align_corners=False).permute(0, 2, 3, 1)


def sigmoid_focal(x, t, gamma, alpha):
    """torchvision's sigmoid_focal_loss with reduction "mean"."""
    p = torch.sigmoid(x)
    p_t = p * t + (1 - p) * (1 - t)
    loss = F.binary_cross_entropy_with_logits(x, t, reduction="none") * (1 - p_t) ** gamma
    return (loss if alpha < 0 else (alpha * t + (1 - alpha) * (1 - t)) * loss).mean()


def one_hot(index, depth):
    return index[..., None] == torch.arange(depth)


def loop_chain(x, s, reverse):
    ys = [None] * len(x)
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        s = torch.tanh(s * x[t] + s)
        ys[t] = s * x[t]
    return torch.stack(ys + [s])


def loop_recurrent(x, w, u):
    hs = [torch.zeros(x.shape[1], u.shape[0], dtype=x.dtype)]
    for row in x:
        hs.append(torch.tanh(row @ w + hs[-1] @ u))
    return torch.stack(hs[1:])


def loop_nested(x, s):
    ys = []
    for row in x:
        c = torch.cos(s)
        for e in row:
            s = torch.sin(s + e) * c
        ys.append(s)
    return torch.stack(ys)


def loop_while(s, most):
    count = 0
    while (s * s).sum() < most and count < 9:
        s, count = 1.5 * s + torch.sin(s), count + 1
    return s


def rows(family):
    """(id, checks, inputs, reference) of each row: its arguments split at the outer commas."""
    with open(os.path.join(CASES, family + ENDING), encoding="utf-8") as text:
        source = re.sub(r"/\*.*?\*/", "", text.read(), flags=re.S)
    for start in re.finditer(r"^ROW\(", source, flags=re.M):
        depth, begin, arguments, quoted = 0, start.end(), [], False
        for at in range(start.end(), len(source)):
            c = source[at]
            if c == '"':
                quoted = not quoted
            if quoted:
                continue
            if depth == 0 and c in ",)":
                arguments.append(source[begin:at].strip())
                begin = at + 1
                if c == ")":
                    break
            depth += (c in "([{") - (c in ")]}")
        name, checks, inputs, _, reference = arguments
        yield name, checks, inputs.strip('"'), reference.strip('"')


def sixteenths(random, count, low, high):
    """Multiples of 1/16 that are not 0; distinct as long as there are enough."""
    values = numpy.array([k for k in range(low, high + 1) if k != 0])
    drawn = [random.permutation(values) for _ in range(count // len(values) + 1)]
    return numpy.concatenate(drawn)[:count] / 16.0


def inputs_of(name, text):
    random = numpy.random.default_rng(zlib.crc32(name.encode()))
    specs = [re.fullmatch(r"(\w+)\[([\d,]*)\](\+|=|~|<\d+)?", word).groups() for word in text.split()]
    shapes = [[int(n) for n in dims.split(",") if n] for _, dims, _ in specs]
    counts = [int(numpy.prod(shape)) for shape in shapes]
    plain = sixteenths(random, sum(counts), -64, 64)  # one draw, so that operands differ too
    for i, ((dtype, _, mark), shape, count) in enumerate(zip(specs, shapes, counts)):
        values = plain[sum(counts[:i]):][:count]
        if mark == "+":
            values = numpy.abs(values) if len(values) > 60 else sixteenths(random, count, 1, 64)
        elif mark == "=":
            values = random.integers(-1, 2, count)
        elif mark == "~":
            values = sixteenths(random, count, -16, 16)
        elif mark is not None:
            values = random.integers(0, int(mark[1:]), count)
        elif dtype == "bool":
            values = random.integers(0, 2, count)
        elif dtype != "T":
            values = numpy.rint(values * 16)
        tensor = torch.tensor(values, dtype=torch.float64).reshape(shape)
        yield tensor if dtype == "T" else tensor.to(FIXED[dtype])


def record(tensors, name, checks, inputs, reference):
    args = list(inputs_of(name, inputs))
    wants_gradient = re.search(r"GRAD|ALL", checks) is not None
    for i, arg in enumerate(args):
        is_open = arg.dtype == torch.float64
        tensors[f"{name}.in{i}"] = arg.to(torch.float32) if is_open else arg
        if is_open and wants_gradient:
            arg.requires_grad_()
    scope = dict(globals(), **dict(zip("abc", args)))
    out = eval(reference, scope)
    tensors[f"{name}.out"] = out.detach().to(torch.float64) if out.is_floating_point() else out
    if not wants_gradient:
        return
    random = numpy.random.default_rng(zlib.crc32(name.encode()) + 1)
    weight = torch.tensor(sixteenths(random, out.numel(), -16, 16)).reshape(out.shape)
    tensors[f"{name}.w"] = weight.to(torch.float32)
    (out.to(torch.float64) * weight).sum().backward()
    for i, arg in enumerate(args):
        if arg.requires_grad:
            tensors[f"{name}.d{i}"] = torch.zeros_like(arg) if arg.grad is None else arg.grad


def record_family(family):
    tensors = {}
    for row in rows(family):
        try:
            record(tensors, *row)
        except Exception as error:
            raise SystemExit(f"{row[0]}: {error}") from error
    if not tensors:
        return
    tensors = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
    versions = {"torch": torch.__version__, "numpy": numpy.__version__,
                "safetensors": safetensors.__version__}
    path = os.path.join(HERE, f"{family}.safetensors")
    save_file(tensors, path, metadata=versions)
    print(f"{path}: {len(tensors)} tensors, {os.path.getsize(path)} bytes")


def main():
    families = [name.removesuffix(ENDING) for name in sorted(os.listdir(CASES))]
    for family in sys.argv[1:] or families:
        record_family(family)


main()
