"""A 784-512-512-10 MLP, batch size 128, Adam, f32, as one jitted JAX step on data that is already on the
device: the bare step, without a loader. With DEVICES, it runs on that many virtual CPU devices, with the batch
sharded and the parameters replicated. Prints one JSON object.

usage: jax_mlp.py STEPS [DEVICES]     requires: jax flax optax
"""
import json
import os
import resource
import statistics
import sys
import time

DEVICES = int(sys.argv[2]) if len(sys.argv) > 2 else 1
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def process_start():
    fields = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
    return float(fields[19]) / 100


class Mlp(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(512)(x))
        x = nn.relu(nn.Dense(512)(x))
        return nn.Dense(10)(x)


def main():
    steps = int(sys.argv[1])
    model, optimizer = Mlp(), optax.adam(1e-3)
    x = jnp.asarray(np.random.default_rng(0).standard_normal((128, 784), dtype=np.float32))
    y = jnp.asarray(np.arange(128) % 10)
    params = jax.jit(model.init)(jax.random.PRNGKey(0), x)
    state = optimizer.init(params)

    mesh = Mesh(np.array(jax.devices()), ("data",))
    x, y = jax.device_put((x, y), NamedSharding(mesh, PartitionSpec("data")))
    params, state = jax.device_put((params, state), NamedSharding(mesh, PartitionSpec()))

    def loss_of(params, x, y):
        logits = model.apply(params, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def step(params, state, x, y):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, loss

    step = jax.jit(step, donate_argnums=(0, 1))
    params, state, loss = step(params, state, x, y)
    loss.block_until_ready()
    first = time.clock_gettime(time.CLOCK_BOOTTIME) - process_start()
    times = []
    for _ in range(steps):
        t = time.perf_counter()
        params, state, loss = step(params, state, x, y)
        loss.block_until_ready()
        times.append(time.perf_counter() - t)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"step_ms": statistics.median(times) * 1e3, "first_s": first, "rss_mb": rss}))


main()
