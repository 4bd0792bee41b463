"""record.py - records PyTorch's results for the tests of src/nn and src/optim.

    python3 record.py        requires torch, numpy, safetensors; writes .safetensors files to its own folder

layers:     inputs, variables, results and gradients of layers; images are stored channels last
optimizers: parameters after each of 20 updates of a small least-squares problem
schedules:  learning rate and momentum at all steps
curves:     the losses of 100 updates of the MLP and of LeNet. Their inputs and initial weights are not
            stored: both sides compute them from counter-based random numbers (counted.py).

SPDX-License-Identifier: Apache-2.0"""
import pathlib

import numpy
import torch
from safetensors.numpy import save_file

from counted import uniform, words

HERE = pathlib.Path(__file__).resolve().parent
torch.manual_seed(20261121)
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)


def channels_last(a):
    return a.permute(0, 2, 3, 1) if a.dim() == 4 else a


def store(out, name, a):
    a = a.detach() if torch.is_tensor(a) else torch.as_tensor(a)
    out[name] = numpy.array(a.numpy(), order="C")  # a copy: buffers change in place


# ---- layers ----------------------------------------------------------------------------------------


def record_layer(out, case, layer, x):
    """One application and the gradients of sum(y r)."""
    for name, p in layer.named_parameters():
        store(out, f"{case}/{name}", p)
    x = x.clone().requires_grad_(True)
    y = layer(x)
    r = torch.randn_like(y)
    (y * r).sum().backward()
    store(out, f"{case}/x", channels_last(x))
    store(out, f"{case}/y", channels_last(y))
    store(out, f"{case}/r", channels_last(r))
    store(out, f"{case}/x.grad", channels_last(x.grad))
    for name, p in layer.named_parameters():
        store(out, f"{case}/{name}.grad", p.grad)


def record_norm(out, case, layer, shape, real):
    """Two training batches, of which `real` samples count, and one application of the trained."""
    with torch.no_grad():
        layer.weight.uniform_(0.5, 1.5)
        layer.bias.uniform_(-1, 1)
    for name, p in layer.named_parameters():
        store(out, f"{case}/{name}", p)
    for mode in ("train1", "train2", "eval"):
        layer.train(mode != "eval")
        layer.zero_grad()
        x = torch.randn(shape) * 2 + 0.5
        r = torch.randn(shape)
        r[real:] = 0
        part = x[:real].clone().requires_grad_(True)
        y = layer(part)
        (y * r[:real]).sum().backward()
        grad = torch.zeros(shape)
        grad[:real] = part.grad
        for name, a in (("x", x), ("r", r), ("y", y), ("x.grad", grad)):
            store(out, f"{case}/{mode}/{name}", channels_last(a))
        for name, p in layer.named_parameters():
            store(out, f"{case}/{mode}/{name}.grad", p.grad)
        for name, b in layer.named_buffers():
            store(out, f"{case}/{mode}/{name}", b)


def layers():
    out = {}
    nn = torch.nn
    record_layer(out, "linear", nn.Linear(5, 3), torch.randn(4, 5))
    record_layer(out, "linear_deep", nn.Linear(5, 3), torch.randn(2, 3, 5))
    record_layer(out, "linear_plain", nn.Linear(5, 3, bias=False), torch.randn(4, 5))
    record_layer(out, "conv", nn.Conv2d(3, 4, 3), torch.randn(2, 3, 7, 6))
    record_layer(out, "conv_stride", nn.Conv2d(3, 4, 3, stride=2, padding=1), torch.randn(2, 3, 7, 6))
    record_layer(out, "conv_dilation", nn.Conv2d(3, 4, 3, dilation=2, padding=2),
                 torch.randn(2, 3, 7, 6))
    record_layer(out, "conv_groups", nn.Conv2d(4, 6, 3, groups=2), torch.randn(2, 4, 5, 6))
    record_layer(out, "conv_wide", nn.Conv2d(1, 6, 5, padding=2), torch.randn(2, 1, 8, 8))
    record_layer(out, "conv_plain", nn.Conv2d(3, 4, 1, bias=False), torch.randn(2, 3, 4, 4))
    record_norm(out, "norm", nn.BatchNorm1d(3), (6, 3), 6)
    record_norm(out, "norm_image", nn.BatchNorm2d(3), (4, 3, 5, 4), 4)
    record_norm(out, "norm_options", nn.BatchNorm1d(3, eps=1e-2, momentum=0.3), (6, 3), 6)
    record_norm(out, "norm_masked", nn.BatchNorm1d(3), (6, 3), 4)
    record_norm(out, "norm_image_masked", nn.BatchNorm2d(3), (4, 3, 5, 4), 3)
    save_file(out, HERE / "layers.safetensors")


# ---- optimizers ------------------------------------------------------------------------------------

STEPS = 20


def descend(out, case, make, schedule=None, clip=None):
    torch.manual_seed(7)
    layer = torch.nn.Linear(5, 4)
    x, y = torch.randn(16, 5), torch.randn(16, 4)
    if "problem/x" not in out:
        for name, a in (("x", x), ("y", y), *layer.named_parameters()):
            store(out, f"problem/{name}", a.clone())
    optimizer = make(layer.parameters())
    scheduler = schedule(optimizer) if schedule else None
    weights, biases = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(layer(x), y).backward()
        if clip:
            clip(layer.parameters())
        optimizer.step()
        if scheduler:
            scheduler.step()
        weights.append(layer.weight.detach().clone())
        biases.append(layer.bias.detach().clone())
    store(out, f"{case}/weight", torch.stack(weights))
    store(out, f"{case}/bias", torch.stack(biases))


def optimizers():
    out = {}
    o = torch.optim
    cycle = lambda opt: o.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=STEPS + 1)
    descend(out, "sgd", lambda p: o.SGD(p, lr=0.1))
    descend(out, "sgd_decay", lambda p: o.SGD(p, lr=0.1, weight_decay=0.05))
    descend(out, "sgd_momentum", lambda p: o.SGD(p, lr=0.1, momentum=0.9))
    descend(out, "sgd_momentum_decay", lambda p: o.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.05))
    descend(out, "sgd_nesterov",
            lambda p: o.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.05, nesterov=True))
    descend(out, "sgd_dampening", lambda p: o.SGD(p, lr=0.1, momentum=0.9, dampening=0.3))
    descend(out, "adam", lambda p: o.Adam(p, lr=0.05))
    descend(out, "adam_decay", lambda p: o.Adam(p, lr=0.05, weight_decay=0.1))
    descend(out, "adam_options", lambda p: o.Adam(p, lr=0.02, betas=(0.8, 0.95), eps=1e-3))
    descend(out, "adamw", lambda p: o.AdamW(p, lr=0.05))
    descend(out, "adamw_decay", lambda p: o.AdamW(p, lr=0.05, weight_decay=0.5))
    descend(out, "adamw_plain", lambda p: o.AdamW(p, lr=0.05, weight_decay=0))
    descend(out, "sgd_cycle", lambda p: o.SGD(p, lr=0.1, momentum=0.9), cycle)
    descend(out, "sgd_bare_cycle", lambda p: o.SGD(p, lr=0.1), cycle)
    descend(out, "adam_cycle", lambda p: o.Adam(p, lr=0.1), cycle)
    norm = lambda p: torch.nn.utils.clip_grad_norm_(p, 0.3)
    value = lambda p: torch.nn.utils.clip_grad_value_(p, 0.05)
    descend(out, "sgd_clip_norm", lambda p: o.SGD(p, lr=0.1, momentum=0.9), clip=norm)
    descend(out, "sgd_clip_value", lambda p: o.SGD(p, lr=0.1, momentum=0.9), clip=value)
    descend(out, "adamw_clip_norm", lambda p: o.AdamW(p, lr=0.05), clip=norm)
    save_file(out, HERE / "optimizers.safetensors")


# ---- schedules -------------------------------------------------------------------------------------


def follow(out, case, total, **options):
    p = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, total_steps=total, max_lr=0.7, **options)
    lr, momentum = [], []
    for step in range(total):
        lr.append(optimizer.param_groups[0]["lr"])
        momentum.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        if step + 1 < total:
            scheduler.step()
    out[f"{case}/lr"] = numpy.array(lr)
    out[f"{case}/momentum"] = numpy.array(momentum)


def schedules():
    out = {}
    for total in (2, 3, 5, 11, 250):
        follow(out, f"plain{total}", total)
    follow(out, "linear", 100, anneal_strategy="linear")
    follow(out, "early", 100, pct_start=0.05, div_factor=10, final_div_factor=100)
    follow(out, "late", 33, pct_start=0.9, base_momentum=0.5, max_momentum=0.99)
    follow(out, "up", 20, pct_start=1.0)
    follow(out, "three", 101, three_phase=True)
    follow(out, "three_linear", 40, three_phase=True, pct_start=0.4, anneal_strategy="linear")
    follow(out, "calm", 30, cycle_momentum=False)
    save_file(out, HERE / "schedules.safetensors")


# ---- loss curves -----------------------------------------------------------------------------------
#
# Where rectifiers and maxima decide, a rounding error in the last digit now and then moves a whole
# gradient, and steep descents make much of it: PyTorch's own f32 and f64 curves may then differ by
# more than the tests allow. The problems here are chosen so that they do not: each is recorded
# only if curves from weights that differ in the last digit agree within CALM.

SEED, BATCH, CLASSES, CURVE, CALM = 2026, 32, 10, 100, 1e-4


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(784, 512)
        self.fc2 = torch.nn.Linear(512, 512)
        self.fc3 = torch.nn.Linear(512, CLASSES)

    def forward(self, x):
        x = x.flatten(1)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


class LeNet(torch.nn.Module):
    def __init__(self, side, channels):
        super().__init__()
        small = side < 16
        kernel, pads = (3, (1, 1)) if small else (5, (2, 0))
        left = (side // 2 - (0 if small else 4)) // 2
        self.conv1 = torch.nn.Conv2d(channels, 6, kernel, padding=pads[0])
        self.conv2 = torch.nn.Conv2d(6, 16, kernel, padding=pads[1])
        self.fc1 = torch.nn.Linear(16 * left * left, 120)
        self.fc2 = torch.nn.Linear(120, 84)
        self.fc3 = torch.nn.Linear(84, CLASSES)

    def forward(self, x):
        pool = torch.nn.functional.max_pool2d
        x = pool(torch.relu(self.conv1(x)), 2)
        x = pool(torch.relu(self.conv2(x)), 2)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x.flatten(1))))))


def counted_weights(model):
    """Parameter number k, element i of its file order: (2 u - 1)/sqrt(fan in of its layer), u
    uniform under tag k."""
    parameters = list(model.parameters())
    with torch.no_grad():
        for k, p in enumerate(parameters):
            fan_in = (p if p.dim() > 1 else parameters[k - 1])[0].numel()
            u = uniform(SEED, k, p.numel())
            bound = numpy.float32(1 / numpy.sqrt(fan_in))
            p.copy_(torch.from_numpy((2 * u - 1) * bound).reshape(p.shape))


def counted_batch(step, side, channels):
    """u8[B, side, side, channels]: the eighth of the pixels that the label's pattern names is lit at
    random, the rest is dark."""
    size = side * side * channels
    labels = (words(SEED, 1000 + step, BATCH) % numpy.uint32(CLASSES)).astype(numpy.int64)
    pattern = (words(SEED, 900, CLASSES * size) >> numpy.uint32(24)).reshape(CLASSES, size)
    noise = (words(SEED, 2000 + step, BATCH * size) >> numpy.uint32(24)).reshape(BATCH, size)
    pixels = numpy.where(pattern[labels] < 32, noise, 0)
    return pixels.astype(numpy.uint8).reshape(BATCH, side, side, channels), labels


def losses(model, optimizer, side, channels, steps, jitter):
    counted_weights(model)
    chance = torch.Generator().manual_seed(jitter)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1 + bool(jitter) * 2**-23 * (torch.randint(0, 3, p.shape, generator=chance) - 1))
    optimizer = optimizer(model.parameters())
    out = []
    for step in range(steps):
        pixels, labels = counted_batch(step, side, channels)
        x = torch.from_numpy(pixels).permute(0, 3, 1, 2).float() * (1 / 255)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), torch.from_numpy(labels))
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return numpy.array(out)


def curve(out, case, model, optimizer, side, channels, steps):
    out[case] = losses(model, optimizer, side, channels, steps, 0)
    others = [losses(model, optimizer, side, channels, steps, j) for j in (1, 2, 3)]
    spread = max(numpy.abs(o / out[case] - 1).max() for o in others)
    print(case, " ".join(f"{v:.4f}" for v in out[case][:: steps // 5]), f"spread {spread:.2g}")
    assert spread < CALM, "rounding decides this curve: choose another problem"


def curves():
    out = {}
    sgd = lambda p: torch.optim.SGD(p, lr=0.03, momentum=0.9)
    adam = lambda p: torch.optim.Adam(p, lr=2e-4)
    curve(out, "mlp_sgd", Mlp(), lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9), 28, 1, CURVE)
    curve(out, "mlp_adam", Mlp(), adam, 28, 1, CURVE)
    quick = lambda p: torch.optim.Adam(p, lr=1e-3)
    curve(out, "lenet_sgd", LeNet(28, 1), sgd, 28, 1, CURVE)
    curve(out, "lenet_adam", LeNet(28, 1), quick, 28, 1, CURVE)
    curve(out, "lenet_colour", LeNet(32, 3), quick, 32, 3, 20)
    curve(out, "lenet_small", LeNet(8, 1), lambda p: torch.optim.Adam(p, lr=2e-3), 8, 1, 60)
    save_file(out, HERE / "curves.safetensors")


if __name__ == "__main__":
    layers()
    optimizers()
    schedules()
    curves()
