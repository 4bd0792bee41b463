"""record_precision.py - records PyTorch's results for the tests of precision and loss scaling.

    python3 record_precision.py     requires torch, numpy, safetensors; writes precision.safetensors

mlp_bf16, lenet_bf16   losses of 60 updates under torch.autocast("cpu", torch.bfloat16)
mlp_f16                the same under torch.float16, with a GradScaler
NAME/spread            the difference between such curves if the initial weights differ in bf16's last digit:
                       the effect of rounding alone
mlp_f64, lenet_f64     losses of 30 updates of the models in float64, with SGD and with Adam
scaler/...             torch.amp.GradScaler("cpu") on least squares: scale after each update, weights,
                       and the factor on the loss (1, inf or nan) that causes the overflow

SPDX-License-Identifier: Apache-2.0"""
import pathlib

import numpy
import torch
from safetensors.numpy import save_file

from record import LeNet, Mlp, counted_batch, counted_weights

HERE = pathlib.Path(__file__).resolve().parent
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
FINE_STEPS, SCALED_STEPS = 30, 24


def pixels_of(step, dtype):
    pixels, labels = counted_batch(step, 28, 1)
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).to(dtype) * (1 / 255), torch.from_numpy(labels)


# ---- autocast --------------------------------------------------------------------------------------


def autocast(model, dtype, make, jitter):
    counted_weights(model)
    chance = torch.Generator().manual_seed(jitter)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1 + bool(jitter) * 2**-9 * (torch.randint(0, 3, p.shape, generator=chance) - 1))
    optimizer = make(model.parameters())
    scaler = torch.amp.GradScaler("cpu", enabled=dtype is torch.float16)
    out = []
    for step in range(60):
        x, labels = pixels_of(step, torch.float32)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype):
            loss = torch.nn.functional.cross_entropy(model(x), labels)
        assert loss.dtype == torch.float32
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        out.append(loss.item())
    return numpy.array(out)


def curve(out, case, model, dtype, make):
    out[case] = autocast(model, dtype, make, 0)
    others = [autocast(model, dtype, make, j) for j in (1, 2, 3)]
    out[f"{case}/spread"] = numpy.array(max(numpy.abs(o / out[case] - 1).max() for o in others))
    print(case, " ".join(f"{v:.4f}" for v in out[case][::12]), "spread", out[f"{case}/spread"])


# ---- float64 ---------------------------------------------------------------------------------------


def fine(out, case, model, make):
    counted_weights(model)
    model.double()
    optimizer = make(model.parameters())
    losses = []
    for step in range(FINE_STEPS):
        x, labels = pixels_of(step, torch.float64)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    out[case] = numpy.array(losses)
    print(case, losses[0], losses[-1])


# ---- loss scaling ----------------------------------------------------------------------------------


def scaler(out):
    torch.manual_seed(11)
    layer = torch.nn.Linear(5, 4)
    x, y = torch.randn(16, 5), torch.randn(16, 4)
    for name, a in (("x", x), ("y", y), *layer.named_parameters()):
        out[f"scaler/{name}"] = a.detach().numpy().copy()
    factor = numpy.ones(SCALED_STEPS, numpy.float32)
    factor[[0, 6, 7, 15]] = numpy.inf
    factor[19] = numpy.nan
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    amp = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_factor=2.0, backoff_factor=0.25,
                               growth_interval=4)
    scales, weights = [], []
    for step in range(SCALED_STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(layer(x), y) * float(factor[step])
        amp.scale(loss).backward()
        amp.step(optimizer)
        amp.update()
        scales.append(amp.get_scale())
        weights.append(layer.weight.detach().clone())
    out["scaler/factor"] = factor
    out["scaler/scale"] = numpy.array(scales, numpy.float32)
    out["scaler/weights"] = torch.stack(weights).numpy()
    print("scales", scales)


if __name__ == "__main__":
    out = {}
    sgd = lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9)
    adam = lambda p: torch.optim.Adam(p, lr=4e-4)
    scaler(out)
    fine(out, "mlp_f64_sgd", Mlp(), sgd)
    fine(out, "mlp_f64_adam", Mlp(), lambda p: torch.optim.Adam(p, lr=2e-4))
    fine(out, "lenet_f64_adam", LeNet(28, 1), lambda p: torch.optim.Adam(p, lr=1e-3))
    curve(out, "mlp_bf16", Mlp(), torch.bfloat16, sgd)
    curve(out, "lenet_bf16", LeNet(28, 1), torch.bfloat16, adam)
    curve(out, "mlp_f16", Mlp(), torch.float16, sgd)
    save_file(out, HERE / "precision.safetensors")
