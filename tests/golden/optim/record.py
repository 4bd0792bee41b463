"""record.py - records the results of PyTorch and optax for the tests of src/optim.

    python3 record.py        requires torch, transformers, jax, optax, numpy, safetensors; writes .safetensors files to its own folder

optimizers: parameters after each of 20 updates of the least-squares problem of ../nn/record.py
schedules:  the learning rate at all steps
gan:        data, losses, and parameters before and after 12 steps of two optimizers

SPDX-License-Identifier: Apache-2.0"""
import math
import pathlib

import jax
import jax.numpy as jnp
import numpy
import optax
import torch
import transformers
from safetensors.numpy import load_file, save_file

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 20
PROBLEM = load_file(HERE.parent / "nn" / "optimizers.safetensors")
WEIGHT, BIAS, X, Y = (PROBLEM[f"problem/{name}"] for name in ("weight", "bias", "x", "y"))

# ---- optimizers ------------------------------------------------------------------------------------


def store(out, case, weights, biases):
    out[f"{case}/weight"] = numpy.stack(weights)
    out[f"{case}/bias"] = numpy.stack(biases)


def with_torch(out, case, make):
    """make(weight, bias): a list of optimizers."""
    weight, bias = (torch.nn.Parameter(torch.tensor(a)) for a in (WEIGHT, BIAS))
    optimizers = make(weight, bias)
    weights, biases = [], []
    for _ in range(STEPS):
        for o in optimizers:
            o.zero_grad()
        torch.nn.functional.mse_loss(torch.tensor(X) @ weight.T + bias, torch.tensor(Y)).backward()
        for o in optimizers:
            o.step()
        weights.append(weight.detach().numpy().copy())
        biases.append(bias.detach().numpy().copy())
    store(out, case, weights, biases)


def with_optax(out, case, optimizer):
    params = {"weight": jnp.array(WEIGHT), "bias": jnp.array(BIAS)}
    loss = lambda p: jnp.mean((X @ p["weight"].T + p["bias"] - Y) ** 2)
    state, weights, biases = optimizer.init(params), [], []
    for _ in range(STEPS):
        updates, state = optimizer.update(jax.grad(loss)(params), state, params)
        params = optax.apply_updates(params, updates)
        weights.append(numpy.array(params["weight"]))
        biases.append(numpy.array(params["bias"]))
    store(out, case, weights, biases)


def muon(weight, bias, **options):
    o = torch.optim
    matrices = o.Muon([weight], lr=0.02, adjust_lr_fn="match_rms_adamw", **options)
    return [matrices, o.AdamW([bias], lr=0.02, weight_decay=options.get("weight_decay", 0.1))]


def optimizers():
    out, o = {}, torch.optim
    with_torch(out, "nadam", lambda w, b: [o.NAdam([w, b], lr=0.05)])
    with_torch(out, "nadam_decay", lambda w, b: [o.NAdam([w, b], lr=0.01, betas=(0.8, 0.95), weight_decay=0.1)])
    with_torch(out, "rmsprop", lambda w, b: [o.RMSprop([w, b], lr=0.02)])
    with_torch(out, "rmsprop_momentum", lambda w, b: [o.RMSprop([w, b], lr=0.02, alpha=0.9, momentum=0.8)])
    with_torch(out, "rmsprop_centered",
               lambda w, b: [o.RMSprop([w, b], lr=0.02, eps=1e-3, centered=True, weight_decay=0.1)])
    with_torch(out, "adagrad", lambda w, b: [o.Adagrad([w, b], lr=0.1)])
    with_torch(out, "adagrad_decay", lambda w, b: [o.Adagrad([w, b], lr=0.1, weight_decay=0.1)])
    with_torch(out, "adafactor", lambda w, b: [o.Adafactor([w, b], lr=0.5)])
    with_torch(out, "adafactor_decay", lambda w, b: [o.Adafactor([w, b], lr=0.1, weight_decay=0.1)])
    with_optax(out, "lamb", optax.lamb(0.05))
    with_optax(out, "lamb_decay", optax.lamb(0.05, b1=0.8, b2=0.95, weight_decay=0.1))
    is_weight = {"weight": True, "bias": False}
    with_optax(out, "lars", optax.lars(20, trust_ratio_mask=is_weight))
    with_optax(out, "lars_nesterov", optax.lars(5, weight_decay=0.05, trust_coefficient=0.01, momentum=0.8,
                                                nesterov=True, trust_ratio_mask=is_weight))
    with_optax(out, "lion", optax.lion(0.02, weight_decay=0))
    with_optax(out, "lion_decay", optax.lion(0.02, b1=0.8, b2=0.95, weight_decay=0.5))
    with_torch(out, "adamw_groups",
               lambda w, b: [o.AdamW([{"params": [w]}, {"params": [b], "lr": 0.1, "weight_decay": 0, "betas": (0.8, 0.9)}],
                                     lr=0.05, weight_decay=0.5)])
    with_torch(out, "sgd_groups", lambda w, b: [o.SGD([{"params": [w]}, {"params": [b], "momentum": 0.9}], lr=0.1)])
    with_torch(out, "muon_groups", lambda w, b: [o.AdamW([w, b], lr=0.02, weight_decay=0.1)])
    # In f32, as the library computes: PyTorch iterates in bf16.
    bf16, torch.bfloat16 = torch.bfloat16, torch.float32
    with_torch(out, "muon", muon)
    with_torch(out, "muon_plain", lambda w, b: muon(w, b, momentum=0.5, weight_decay=0))
    torch.bfloat16 = bf16
    save_file(out, HERE / "optimizers.safetensors")


# ---- schedules -------------------------------------------------------------------------------------

TOTAL = 40


def follow(out, case, schedule, warmup=0):
    """The learning rates of schedule(optimizer), after a linear warm-up."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.7)
    s, all_of = torch.optim.lr_scheduler, schedule(optimizer)
    if warmup > 0:
        rise = s.LambdaLR(optimizer, lambda step: min(step / warmup, 1))
        all_of = s.SequentialLR(optimizer, [rise, all_of], [warmup])
    lr = []
    for _ in range(TOTAL):
        lr.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        all_of.step()
    out[case] = numpy.array(lr)


def schedules():
    out, s = {}, torch.optim.lr_scheduler
    follow(out, "step", lambda o: s.StepLR(o, 12))  # 0.3 of 40
    follow(out, "step_options", lambda o: s.StepLR(o, 7, gamma=0.5))
    follow(out, "multistep", lambda o: s.MultiStepLR(o, [20, 30]))
    follow(out, "multistep_options", lambda o: s.MultiStepLR(o, [4, 11, 36], gamma=0.3))
    follow(out, "exponential", lambda o: s.ExponentialLR(o, 0.01 ** (1 / TOTAL)))
    follow(out, "exponential_options", lambda o: s.ExponentialLR(o, 0.9))
    follow(out, "cosine", lambda o: s.CosineAnnealingLR(o, TOTAL))
    follow(out, "cosine_final", lambda o: s.CosineAnnealingLR(o, TOTAL, eta_min=0.07))
    follow(out, "cosine_warmup", lambda o: s.CosineAnnealingLR(o, TOTAL - 8), warmup=8)
    follow(out, "cosine_cycles", lambda o: s.CosineAnnealingWarmRestarts(o, 10, eta_min=0.07))
    follow(out, "cosine_mult", lambda o: s.CosineAnnealingWarmRestarts(o, 5, T_mult=2), warmup=5)  # 5, 10, 20
    follow(out, "linear", lambda o: s.LinearLR(o, 1, 0, TOTAL))
    follow(out, "linear_options", lambda o: s.LinearLR(o, 1, 0.1, TOTAL - 4), warmup=4)
    follow(out, "polynomial", lambda o: s.PolynomialLR(o, TOTAL, 0.9))
    follow(out, "polynomial_options", lambda o: s.PolynomialLR(o, TOTAL, 2))
    follow(out, "inverse_sqrt", lambda o: transformers.get_inverse_sqrt_schedule(o, 0, timescale=50))
    follow(out, "inverse_sqrt_warmup", lambda o: transformers.get_inverse_sqrt_schedule(o, 6))
    wsd = lambda kind, low: lambda o: transformers.get_wsd_schedule(o, 0 if low else 4, 8, num_training_steps=TOTAL,
                                                                    decay_type=kind, min_lr_ratio=low)
    follow(out, "wsd", wsd("1-sqrt", 0))
    follow(out, "wsd_linear", wsd("linear", 0.1))
    follow(out, "wsd_cosine", wsd("cosine", 0.1))
    record_plateau(out)
    save_file(out, HERE / "schedules.safetensors")


def record_plateau(out):
    """The learning rate after each of some metrics."""
    values = numpy.array([1, 0.9, 0.9, 0.8995, 0.95, 0.9, math.nan, 0.5, 0.6, 0.7, 0.8, 0.55, 0.4, 0.4, 0.4, 0.4, 0.4])
    out["plateau/values"] = values
    for mode in ("min", "max"):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.7)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode, factor=0.3, patience=2, threshold=1e-3,
                                                              min_lr=0.03)
        lr = []
        for value in values:
            schedule.step(value if mode == "min" else 2 - value)
            lr.append(optimizer.param_groups[0]["lr"])
        out[f"plateau/{mode}"] = numpy.array(lr)


# ---- a GAN -----------------------------------------------------------------------------------------


def gan():
    """Two networks that train against each other: both gradients are taken before either optimizer steps; the
    generator's steps in every second one, and its learning rate follows a cosine over all of them."""
    torch.manual_seed(3)
    steps, batch, nn = 12, 8, torch.nn
    make = lambda outputs: nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, outputs))
    nets = {"generator": make(2), "discriminator": make(1)}
    angle = torch.rand(steps * batch) * 2 * math.pi
    real = torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(steps * batch, 2)
    noise = torch.randn(steps * batch, 2)
    out = {"real": real.numpy(), "noise": noise.numpy()}
    keep = lambda when: out.update({f"{when}/{net}.{layer}.{kind}": getattr(nets[net][i], kind).detach().numpy().copy()
                                    for net in nets for layer, i in (("fc1", 0), ("fc2", 2)) for kind in ("weight", "bias")})
    keep("first")
    g, d = nets["generator"], nets["discriminator"]
    of_g = torch.optim.Adam(g.parameters(), lr=0.05, betas=(0.5, 0.99))
    of_d = torch.optim.SGD(d.parameters(), lr=0.3, momentum=0.5)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(of_g, steps)
    entropy, losses = nn.functional.binary_cross_entropy_with_logits, {"loss": [], "discriminator_loss": [], "lr": []}
    for step in range(steps):
        at = slice(step * batch, (step + 1) * batch)
        on_real, on_fake = d(real[at]), d(g(noise[at]))
        loss_d = entropy(on_real, torch.ones(batch, 1)) + entropy(on_fake, torch.zeros(batch, 1))
        loss_g = entropy(on_fake, torch.ones(batch, 1))
        of_both = [torch.autograd.grad(loss, list(net.parameters()), retain_graph=True) for loss, net in ((loss_g, g), (loss_d, d))]
        for net, gradients in zip((g, d), of_both):
            for p, gradient in zip(net.parameters(), gradients):
                p.grad = gradient
        nn.utils.clip_grad_norm_(d.parameters(), 0.2)
        losses["lr"].append(of_g.param_groups[0]["lr"])
        of_d.step()
        if (step + 1) % 2 == 0:
            of_g.step()
        cosine.step()
        losses["loss"].append(loss_g.item())
        losses["discriminator_loss"].append(loss_d.item())
    keep("last")
    out.update({name: numpy.array(values, numpy.float32) for name, values in losses.items()})
    save_file(out, HERE / "gan.safetensors")


if __name__ == "__main__":
    gan()
    optimizers()
    schedules()
