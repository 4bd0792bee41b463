"""ResNet-18 for 32x32 images, batch size 128, SGD with momentum and weight decay, in eager PyTorch with channels
last, on data in memory: the bare step, without a loader. Prints one JSON object.

usage: torch_resnet.py STEPS [f32|bf16]     requires: torch torchvision
bf16: with autocast
"""
import contextlib
import json
import os
import resource
import statistics
import sys
import time

import torch
import torchvision


def main():
    torch.set_num_threads(os.cpu_count())
    torch.manual_seed(0)
    model = torchvision.models.resnet18(num_classes=10)
    model.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    model.maxpool = torch.nn.Identity()
    model = model.to(memory_format=torch.channels_last)
    x = torch.randn(128, 3, 32, 32).to(memory_format=torch.channels_last)
    y = torch.arange(128) * 7 % 10
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=5e-4)
    half = torch.autocast("cpu", dtype=torch.bfloat16)
    scope = half if sys.argv[2:] == ["bf16"] else contextlib.nullcontext()
    times = []
    for _ in range(int(sys.argv[1]) + 1):
        t = time.perf_counter()
        optimizer.zero_grad()
        with scope:
            logits = model(x)
        torch.nn.functional.cross_entropy(logits.float(), y).backward()
        optimizer.step()
        times.append(time.perf_counter() - t)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"step_ms": statistics.median(times[1:]) * 1e3, "rss_mb": rss}))


main()
