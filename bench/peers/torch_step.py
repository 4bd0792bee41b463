"""A training step of a model in PyTorch, on data in memory: the bare step, without a loader. Prints one JSON object.

usage: torch_step.py MODEL PRECISION MODE STEPS     requires: torch; torchvision for resnet18 and resnet50
MODEL: mlp, lenet, resnet18, resnet50, gpt, vit_tiny, or gpt2 (GPT-2 with 124 M parameters, batch size 2)
PRECISION: f32, or bf16 with autocast
MODE: eager, channels-last, or compiled (torch.compile; convolutions with channels last)
"""
import contextlib
import sys

import torch
from step_timer import THREADS, measure, report
from torch import nn
from torch.nn import functional as F

LENGTH = 256  # tokens of a sequence


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


def resnet18():
    import torchvision
    model = torchvision.models.resnet18(num_classes=10)
    model.conv1, model.maxpool = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.Identity()
    return model


def resnet50():
    import torchvision
    return torchvision.models.resnet50()


class Block(nn.Module):
    """Of a transformer: GPT's has causal attention and the approximated GELU."""

    def __init__(self, width, heads, is_gpt):
        super().__init__()
        self.heads, self.is_gpt, eps = heads, is_gpt, 1e-5 if is_gpt else 1e-6
        self.norm1, self.norm2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        heads = self.qkv(self.norm1(x)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(*heads, is_causal=self.is_gpt)
        x = x + self.proj(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh" if self.is_gpt else "none"))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, vocabulary):
        super().__init__()
        self.tokens = nn.Parameter(torch.randn(vocabulary, width) * 0.02)
        self.places = nn.Parameter(torch.randn(LENGTH, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads, True) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return F.linear(self.norm(self.blocks(F.embedding(x, self.tokens) + self.places)), self.tokens).flatten(0, 1)


class Vit(nn.Module):
    def __init__(self, layers, width, heads):
        super().__init__()
        self.patches, self.head = nn.Conv2d(3, width, 16, 16), nn.Linear(width, 1000)
        self.first, self.places = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.randn(197, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads, False) for _ in range(layers)))
        self.norm = nn.LayerNorm(width, 1e-6)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


def vit_tiny():
    return Vit(12, 192, 3)


def gpt():
    return Gpt(6, 384, 6, 256)


def gpt2():
    return Gpt(12, 768, 12, 50257)


# constructor, shape of a sample, batch size, classes, batches, optimizer
ADAM = lambda parameters: torch.optim.Adam(parameters, 1e-3, fused=True)
SGD = lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9, weight_decay=5e-4, fused=True)
ADAMW = lambda parameters: torch.optim.AdamW(parameters, 1e-3, weight_decay=0.01, fused=True)
MODELS = {
    "mlp": (mlp, (784,), 128, 10, 8, ADAM),
    "lenet": (lenet, (1, 28, 28), 128, 10, 8, ADAM),
    "resnet18": (resnet18, (3, 32, 32), 128, 10, 1, SGD),
    "resnet50": (resnet50, (3, 224, 224), 16, 1000, 1, SGD),
    "gpt": (gpt, (LENGTH,), 12, 256, 1, ADAMW),
    "gpt2": (gpt2, (LENGTH,), 2, 50257, 1, ADAMW),
    "vit_tiny": (vit_tiny, (3, 224, 224), 16, 1000, 1, ADAMW),
}


def make_data(name):
    """The batches: inputs and classes."""
    _, shape, batch, classes, batches, _ = MODELS[name]
    if name.startswith("gpt"):
        tokens = torch.randint(0, classes, (batches, 2, batch, LENGTH))
        return [(x, y.flatten()) for x, y in tokens]
    return [(torch.randn(batch, *shape), torch.randint(0, classes, (batch,))) for _ in range(batches)]


def main():
    name, precision, mode, steps = *sys.argv[1:4], int(sys.argv[4])
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    model, data = MODELS[name][0](), make_data(name)
    if mode != "eager" and name in ("lenet", "resnet18", "resnet50"):
        model = model.to(memory_format=torch.channels_last)
        data = [(x.to(memory_format=torch.channels_last), y) for x, y in data]
    optimizer = MODELS[name][5](model.parameters())
    forward = torch.compile(model) if mode == "compiled" else model
    scope = torch.autocast("cpu", dtype=torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()

    def step(i):
        x, y = data[i % len(data)]
        optimizer.zero_grad()
        with scope:
            logits = forward(x)
        F.cross_entropy(logits.float(), y).backward()
        optimizer.step()

    times, start_s = measure(step, steps)
    report(times, start_s, sum(p.numel() for p in model.parameters()), "torch")


if __name__ == "__main__":
    main()
