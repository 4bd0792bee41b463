#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fuzz_ops: random programs of a few operations, with random shapes and dtypes: results and gradients of run_ops.c
are compared with PyTorch's in f64. The bound is PyTorch's own error in the program's dtype, a few times, and roundings
of the largest value.

usage: fuzz_ops.py [--cases N] [--first K] [--devices N] [--falsify NAME] PROGRAM

Case K is the same in every run. --falsify NAME changes the results of an operation by 3 %, which must be found.
PROGRAM is build/tests/tools/run_ops. Requires torch. Exits with 1 if a case differs."""
import argparse
import math
import random
import subprocess
import sys

import torch
import torch.nn.functional as F

DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16}
EPS = {"f32": 2.0**-23, "f64": 2.0**-52, "bf16": 2.0**-7, "f16": 2.0**-10}
GROUP = 40  # programs compiled together
LARGEST = 600  # elements


def first(x):
    return x.movedim(-1, 1)


def last(x):
    return x.movedim(1, -1)


def weight(kernel):
    return kernel.movedim((-1, -2), (0, 1)).contiguous()


def conv(x, k, n):
    return last([F.conv1d, F.conv2d, F.conv3d][x.dim() - 3](first(x), weight(k), None, n[0], n[1], n[2], n[3]))


def conv_transpose(x, k, n):
    f = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][x.dim() - 3]
    return last(f(first(x), weight(k), None, n[0], n[1], n[4], n[3], n[2]))


def adaptive(kind):
    return lambda x, n: last(getattr(F, f"adaptive_{kind}_pool{x.dim() - 2}d")(first(x), tuple(n)))


def resize(x, n):
    mode = "nearest" if n[0] == 0 else ("linear", "bilinear", "trilinear")[x.dim() - 3]
    return last(F.interpolate(first(x), tuple(n[1:]), mode=mode))


def sliced(x, n):
    r = x.dim()
    return x[tuple(slice(n[i], n[r + i], n[2 * r + i]) for i in range(r))]


def padded(x, n):
    for i in range(x.dim()):
        low, high, gap = n[i], n[x.dim() + i], n[2 * x.dim() + i]
        x = x.movedim(i, 0)
        y = x.new_full((low + high + (x.shape[0] - 1) * (gap + 1) + 1, *x.shape[1:]), 0.5)
        y[low:low + (x.shape[0] - 1) * (gap + 1) + 1:gap + 1] = x
        x = y.movedim(0, i)
    return x


def gather(a, i, n):
    i = i.long().clamp(0, a.shape[n[0]] - 1)
    if n[1] == 0:
        return torch.index_select(a, n[0], i.flatten()).unflatten(n[0], i.shape) if i.dim() else a.select(n[0], i)
    return torch.stack([gather(one, at, [n[0] - 1, n[1] - 1]) for one, at in zip(a, i)])


def scatter_add(a, i, u, n):
    i = i.long().clamp(0, a.shape[n[0]] - 1)
    if n[1] == 0:
        flat = u.flatten(n[0], n[0] + i.dim() - 1) if i.dim() else u.unsqueeze(n[0])
        return torch.index_add(a, n[0], i.reshape(-1), flat)
    return torch.stack([scatter_add(*one, [n[0] - 1, n[1] - 1]) for one in zip(a, i, u)])


def block(a, start, size):
    places = [min(max(s, 0), d - z) for s, d, z in zip(start.tolist(), a.shape, size)]
    return tuple(slice(p, p + z) for p, z in zip(places, size))


def dynamic_slice(a, start, n):
    if start.dim() == 2:
        return torch.stack([dynamic_slice(one, at, n[1:]) for one, at in zip(a, start)])
    return a[block(a, start, n)]


def dynamic_update_slice(a, b, start, n):
    if start.dim() == 2:
        return torch.stack([dynamic_update_slice(*one, n) for one in zip(a, b, start)])
    a = a.clone()
    a[block(a, start, b.shape)] = b
    return a


# ---- generation ----------------------------------------------------------------------------------


class Program:
    """The lines of a program, and its values in f64, on which later choices depend."""

    def __init__(self, case):
        self.rng = random.Random(f"case {case}")
        self.dtype = self.rng.choice(["f32", "f32", "f32", "f64", "bf16", "f16"])
        self.steps, self.values, self.is_input = [], [], []

    def add(self, step, value):
        self.steps.append(step)
        self.values.append(value)
        self.is_input.append(step[0] == "in")
        return len(self.values) - 1

    def input(self, shape, positive=False):
        """Multiples of 1/16, which all dtypes represent."""
        count = math.prod(shape)
        values = [self.rng.choice([-1, 1]) * self.rng.randint(1, 40) / 16 for _ in range(count)]
        data = torch.tensor(values, dtype=torch.float64).reshape(shape)
        return self.add(("in", self.dtype), data.abs() if positive else data)

    def indices(self, shape, low, high):
        values = [self.rng.randint(low, high) for _ in range(math.prod(shape))]
        return self.add(("in", "s32"), torch.tensor(values, dtype=torch.int32).reshape(shape))

    def prune(self):
        """Keeps what the last value depends on."""
        kept = {len(self.steps) - 1}
        for i in reversed(range(len(self.steps))):
            if i in kept and self.steps[i][0] == "op":
                kept.update(self.steps[i][2])
        place = {old: new for new, old in enumerate(sorted(kept))}
        self.values = [self.values[i] for i in sorted(kept)]
        self.steps = [self.steps[i] for i in sorted(kept)]
        self.steps = [s if s[0] == "in" else ("op", s[1], [place[i] for i in s[2]], s[3]) for s in self.steps]

    def shape(self, rank):
        lead = [self.rng.choice([1, 2, 3, 4, 8])] if rank > 0 else []
        return lead + [self.rng.randint(1, 5) for _ in range(rank - len(lead))]

    def pick(self, ranks):
        """A floating value of one of these ranks, the newest if possible."""
        fitting = [i for i, v in enumerate(self.values) if v.dtype == torch.float64 and v.dim() in ranks]
        if fitting and self.rng.random() < 0.9:
            return fitting[-1] if self.rng.random() < 0.8 else self.rng.choice(fitting)
        return self.input(self.shape(self.rng.choice(list(ranks))))


ANY = range(0, 5)
OPERATIONS = {}


def operation(name, reference, has_kink=False, domain=None):
    """Registers choose(p, rng) -> (operands, numbers) under a name."""
    def register(choose):
        OPERATIONS[name] = (choose, reference, has_kink, domain)
        return choose
    return register


def unary(name, f, has_kink=False, domain=None):
    operation(name, lambda x, n: f(x), has_kink, domain)(lambda p, rng: ([p.pick(ANY)], []))


for name, f in {"neg": torch.neg, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "square": torch.square,
                "sin": torch.sin, "cos": torch.cos, "erf": torch.erf, "gelu": F.gelu, "silu": F.silu,
                "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "softplus": F.softplus, "mish": F.mish,
                "expm1": torch.expm1, "exp": torch.exp}.items():
    unary(name, f, domain=lambda x: x.abs().max() < 6)
for name, f in {"relu": F.relu, "abs": torch.abs, "hardswish": F.hardswish, "elu": F.elu}.items():
    unary(name, f, has_kink=True)
for name, f in {"log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt}.items():
    unary(name, f, domain=lambda x: x.min() > 0.05)


def pair(p, rng):
    """Two values whose shapes broadcast."""
    a = p.pick(ANY)
    shape = list(p.values[a].shape)[rng.randint(0, p.values[a].dim()):] if rng.random() < 0.5 else list(p.values[a].shape)
    same = [i for i, v in enumerate(p.values) if v.dtype == torch.float64 and v.shape == p.values[a].shape and i != a]
    b = rng.choice(same) if same and rng.random() < 0.4 else p.input([1 if rng.random() < 0.2 else d for d in shape])
    return [a, b], []


operation("add", lambda a, b, n: a + b)(pair)
operation("sub", lambda a, b, n: a - b)(pair)
operation("mul", lambda a, b, n: a * b)(pair)
operation("maximum", lambda a, b, n: torch.maximum(a, b), True)(pair)
operation("minimum", lambda a, b, n: torch.minimum(a, b), True)(pair)


@operation("div", lambda a, b, n: a / b)
def _(p, rng):
    a = p.pick(ANY)
    return [a, p.input(list(p.values[a].shape), positive=True)], []


@operation("where", lambda a, b, c, n: torch.where(a > b, a, c), True)
def _(p, rng):
    a = p.pick(ANY)
    return [a, p.input(list(p.values[a].shape)), p.input(list(p.values[a].shape))], []


@operation("matmul", lambda a, b, n: a @ b)
def _(p, rng):
    a = p.pick(range(2, 5))
    shape = list(p.values[a].shape)
    return [a, p.input(shape[:-2] + [shape[-1], rng.randint(1, 5)])], []


def axes(p, rng):
    a = p.pick(range(1, 5))
    rank = p.values[a].dim()
    return [a], sorted(rng.sample(range(rank), rng.randint(1, rank)))


operation("sum", lambda a, n: a.sum(n))(axes)
operation("mean", lambda a, n: a.mean(n))(axes)
operation("max", lambda a, n: a.amax(n), True)(axes)
operation("reverse", lambda a, n: a.flip(n))(axes)
for name, f in {"softmax": torch.softmax, "log_softmax": torch.log_softmax, "logsumexp": torch.logsumexp}.items():
    operation(name, lambda a, n, f=f: f(a, -1))(lambda p, rng: ([p.pick(range(1, 5))], []))


@operation("reshape", lambda a, n: a.reshape(n))
def _(p, rng):
    a = p.pick(ANY)
    shape = list(p.values[a].shape)
    i = rng.randint(0, len(shape))
    if len(shape) > 1 and rng.random() < 0.6:
        i = min(i, len(shape) - 2)
        return [a], shape[:i] + [shape[i] * shape[i + 1]] + shape[i + 2:]
    return [a], shape[:i] + [1] + shape[i:]


@operation("permute", lambda a, n: a.permute(n))
def _(p, rng):
    a = p.pick(range(1, 5))
    return [a], rng.sample(range(p.values[a].dim()), p.values[a].dim())


@operation("broadcast_to", lambda a, n: a.expand(n))
def _(p, rng):
    a = p.pick(range(0, 4))
    shape = [rng.randint(1, 4) if d == 1 else d for d in p.values[a].shape]
    return [a], [rng.randint(1, 4)] + shape


@operation("slice", sliced)
def _(p, rng):
    a = p.pick(range(1, 5))
    shape = p.values[a].shape
    start = [rng.randint(0, d - 1) for d in shape]
    return [a], start + [rng.randint(s + 1, d) for s, d in zip(start, shape)] + [rng.randint(1, 3) for _ in shape]


@operation("pad", padded)
def _(p, rng):
    a = p.pick(range(1, 4))
    return [a], [rng.randint(0, 2) for _ in range(3 * p.values[a].dim())]


@operation("concat", lambda *a: torch.cat(a[:-1], a[-1][0]))
def _(p, rng):
    a = p.pick(range(1, 5))
    shape = list(p.values[a].shape)
    axis = rng.randrange(len(shape))
    return [a, p.input(shape[:axis] + [rng.randint(1, 3)] + shape[axis + 1:])], [axis]


def along(p, rng):
    a = p.pick(range(1, 4))
    shape = list(p.values[a].shape)
    axis = rng.randrange(len(shape))
    batch = rng.randint(0, min(axis, 1))
    index = p.indices(shape[:batch] + [rng.randint(1, 4) for _ in range(rng.randint(batch == 0 and 0 or 1, 2))], -1, shape[axis])
    return a, shape, axis, batch, index


@operation("gather", gather)
def _(p, rng):
    a, _, axis, batch, index = along(p, rng)
    return [a, index], [axis, batch]


@operation("scatter_add", scatter_add)
def _(p, rng):
    a, shape, axis, batch, index = along(p, rng)
    updates = p.input(shape[:axis] + list(p.values[index].shape)[batch:] + shape[axis + 1:])
    return [a, index, updates], [axis, batch]


def start(p, rng):
    a = p.pick(range(1, 5))
    shape = list(p.values[a].shape)
    each = len(shape) > 1 and rng.random() < 0.5
    size = [d if each and i == 0 else rng.randint(1, d) for i, d in enumerate(shape)]
    return a, size, p.indices([shape[0], len(shape) - 1] if each else [len(shape)], -1, 4)


@operation("dynamic_slice", dynamic_slice)
def _(p, rng):
    a, size, at = start(p, rng)
    return [a, at], size


@operation("dynamic_update_slice", dynamic_update_slice)
def _(p, rng):
    a, size, at = start(p, rng)
    return [a, p.input(size), at], []


def image(p, rng, rank):
    channels = rng.choice([1, 2, 3, 4])
    shape = [rng.choice([1, 2, 4]), *[rng.randint(2, 9 - 2 * rank) for _ in range(rank)], channels]
    old = p.pick([rank + 2])
    return old if rng.random() < 0.5 else p.input(shape)


def convolution(rank, is_transposed):
    def choose(p, rng):
        a = image(p, rng, rank)
        channels = p.values[a].shape[-1]
        groups = rng.choice([g for g in range(1, channels + 1) if channels % g == 0])
        other = rng.randint(1, 3)
        stride, pad, dilation = rng.randint(1, 3), rng.randint(0, 2), rng.randint(1, 2)
        size = [rng.randint(1, 3) for _ in range(rank)]
        ends = [other, channels] if is_transposed else [channels // groups, groups * other]
        return [a, p.input(size + ends)], [stride, pad, dilation, groups] + [rng.randrange(stride)] * is_transposed
    return choose


for rank in (1, 2, 3):
    operation(f"conv{rank}d", conv)(convolution(rank, False))
    operation(f"conv_transpose{rank}d", conv_transpose)(convolution(rank, True))


def window(p, rng):
    a, size = image(p, rng, 2), rng.randint(1, 3)
    return [a], [size, rng.randint(1, 3), rng.randint(0, size // 2)]


operation("max_pool", lambda a, n: last(F.max_pool2d(first(a), *n)), True)(window)
operation("avg_pool", lambda a, n: last(F.avg_pool2d(first(a), *n)))(window)


def sizes(p, rng):
    a = image(p, rng, rng.choice([1, 2, 3]))
    return [a], [rng.randint(1, 6) for _ in range(p.values[a].dim() - 2)]


operation("adaptive_avg_pool", adaptive("avg"))(sizes)
# its gradient is divided among equal elements; in PyTorch, the first receives it
operation("adaptive_max_pool", adaptive("max"), True, lambda x: x.unique().numel() == x.numel())(sizes)


@operation("resize", resize)
def _(p, rng):
    operands, n = sizes(p, rng)
    return operands, [rng.randint(0, 1)] + n


def generate(case):
    p = Program(case)
    names, goal, tries = list(OPERATIONS), p.rng.choice([1, 1, 2, 3, 4, 6]), 0
    done = 0
    while done < goal and tries < 60:
        tries += 1
        name = p.rng.choice(names)
        choose, reference, has_kink, domain = OPERATIONS[name]
        length = len(p.values)
        operands, numbers = choose(p, p.rng)
        values = [p.values[i] for i in operands]
        # where an operation is not smooth, roundings of 16-bit floats would choose the other side
        is_rough = has_kink and p.dtype in ("bf16", "f16") and not all(p.is_input[i] for i in operands)
        try:
            y = None if is_rough or (domain and not domain(values[0])) else reference(*values, numbers)
        except (RuntimeError, ValueError):
            y = None  # a window that does not fit
        if y is None or y.numel() == 0 or y.numel() > LARGEST or y.dim() > 5 or not (y.abs().max() < 100):
            del p.steps[length:], p.values[length:], p.is_input[length:]
            continue
        p.add(("op", name, operands, numbers), y)
        done += 1
    if done == 0:
        p.add(("op", "neg", [p.input([2])], []), -p.values[-1])
    p.prune()
    return p


# ---- running -------------------------------------------------------------------------------------


def evaluate(p, dtype):
    """Result and gradients in PyTorch."""
    values, leaves = [], []
    for step, value in zip(p.steps, p.values):
        if step[0] == "in":
            y = value if step[1] == "s32" else value.to(dtype, copy=True).requires_grad_()
            if step[1] != "s32":
                leaves.append(y)
        else:
            y = OPERATIONS[step[1]][1](*[values[i] for i in step[2]], step[3])
        values.append(y)
    y = values[-1]
    gradients = torch.autograd.grad((y.to(p.weights.dtype) * p.weights).sum(), leaves, allow_unused=True)
    results = [y] + [torch.zeros_like(v) if g is None else g for g, v in zip(gradients, leaves)]
    return [r.detach().to(torch.float64) for r in results]


def hexadecimal(tensor, dtype):
    return tensor.detach().contiguous().to(dtype).reshape(-1).view(torch.uint8).numpy().tobytes().hex()


def lines_of(p):
    y = p.values[-1]
    wide = "f64" if p.dtype == "f64" else "f32"
    p.weights = (torch.arange(y.numel()).reshape(y.shape) % 7 - 3.5).to(torch.float64)
    steps = p.steps[:-1] + [("in", wide)] + p.steps[-1:]
    values = p.values[:-1] + [p.weights] + p.values[-1:]
    for step, value in zip(steps, values):
        dims = ",".join(map(str, value.shape)) or "-"
        if step[0] == "in":
            yield f"in {step[1]} {dims} {hexadecimal(value, torch.int32 if step[1] == 's32' else DTYPES[step[1]])}"
        else:
            yield f"op {step[1]} {','.join(map(str, step[2]))} {','.join(map(str, step[3])) or '-'}"
    yield f"end {len(values) - 2}"


def read(line):
    word, dtype, data = line.split()
    return torch.frombuffer(bytearray.fromhex(data), dtype=DTYPES[dtype]).to(torch.float64)


def differences(p, got):
    """What is out of bounds in the results of a program."""
    exact = evaluate(p, torch.float64)
    try:
        rounded = evaluate(p, DTYPES[p.dtype])
    except RuntimeError:  # not implemented for 16-bit floats
        rounded = [r.to(DTYPES[p.dtype]).to(torch.float64) for r in exact]
    largest = max(float(v.abs().max()) for v in p.values)
    for i, (ours, want, theirs) in enumerate(zip(got, exact, rounded)):
        off = (ours - want.reshape(-1)).abs()
        scale = max(float(want.abs().max()), largest)
        bound = 6 * float((theirs - want).abs().max()) + (4 + len(p.steps)) * EPS[p.dtype] * scale
        if not bool((off <= bound).all()):
            at = int(torch.nan_to_num(off, nan=math.inf).argmax())
            name = "result" if i == 0 else f"gradient {i - 1}"
            yield f"{name}: element {at} is {float(ours[at]):.9g}, PyTorch has {float(want.reshape(-1)[at]):.9g}, bound {bound:.3g}"


def describe(case, p):
    print(f"case {case} in {p.dtype}:")
    for i, (step, value) in enumerate(zip(p.steps, p.values)):
        print(f"  {i}: {' '.join(map(str, step))} -> {list(value.shape)}")


def run(program, cases, count):
    """Writes the cases to run_ops and reads its results; the number of cases that differ."""
    failures = 0
    for start_at in range(0, len(cases), GROUP):
        group = [(case, generate(case)) for case in cases[start_at:start_at + GROUP]]
        for _, p in group:
            for line in lines_of(p):
                program.stdin.write(line + "\n")
        program.stdin.write("run\n")
        program.stdin.flush()
        for case, p in group:
            outputs = 1 + sum(step[0] == "in" and step[1] != "s32" for step in p.steps)
            answers = [program.stdout.readline() for _ in range(outputs)]
            if not answers[-1]:
                sys.exit(f"run_ops ended in the group of case {group[0][0]}; --cases 1 --first K runs one case")
            found = list(differences(p, [read(line) for line in answers]))
            if found:
                failures += 1
                describe(case, p)
                print("\n".join("  " + text for text in found), flush=True)
        print(f"{start_at + len(group)} cases, {failures} differ", file=sys.stderr, flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--falsify", default=None)
    o = parser.parse_args()
    torch.set_num_threads(1)
    command = [o.program, str(o.devices)] + ([o.falsify] if o.falsify else [])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        failures = run(program, range(o.first, o.first + o.cases), o.cases)
        program.stdin.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
