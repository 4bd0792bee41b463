"""ResNet-18 for 32x32 images, batch size 128, SGD with momentum and weight decay, as one jitted JAX step
with donation on data that is already on the device: the bare step, without a loader. Prints one JSON object.

usage: jax_resnet.py STEPS [f32|bf16 [DEVICES]]     requires: jax flax optax
bf16: layers compute in bf16, parameters and loss are f32. With DEVICES, it runs on that many virtual CPU
devices, with the batch sharded and the state replicated.
"""
import functools
import json
import os
import resource
import statistics
import sys
import time

DEVICES = int(sys.argv[3]) if len(sys.argv) > 3 else 1
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from jax.sharding import Mesh, NamedSharding, PartitionSpec

DTYPE = jnp.bfloat16 if sys.argv[2:3] == ["bf16"] else jnp.float32
Conv = functools.partial(nn.Conv, use_bias=False, dtype=DTYPE)
Norm = functools.partial(nn.BatchNorm, use_running_average=False, momentum=0.9, epsilon=1e-5,
                         dtype=DTYPE)


class Block(nn.Module):
    width: int
    stride: int

    @nn.compact
    def __call__(self, x):
        y = nn.relu(Norm()(Conv(self.width, (3, 3), self.stride)(x)))
        y = Norm()(Conv(self.width, (3, 3))(y))
        if x.shape != y.shape:
            x = Norm()(Conv(self.width, (1, 1), self.stride)(x))
        return nn.relu(x + y)


class ResNet18(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(Norm()(Conv(64, (3, 3))(x)))
        for stage in range(4):
            for block in range(2):
                x = Block(64 << stage, 2 if stage > 0 and block == 0 else 1)(x)
        return nn.Dense(10, dtype=DTYPE)(x.mean((1, 2)))


def main():
    model = ResNet18()
    optimizer = optax.chain(optax.add_decayed_weights(5e-4), optax.sgd(0.1, 0.9))
    x = jnp.asarray(np.random.default_rng(0).standard_normal((128, 32, 32, 3), dtype=np.float32))
    y = jnp.asarray(np.arange(128) * 7 % 10)
    variables = jax.jit(model.init)(jax.random.PRNGKey(0), x)
    params, stats = variables["params"], variables["batch_stats"]
    state = optimizer.init(params)
    mesh = Mesh(np.array(jax.devices()), ("data",))
    x, y = jax.device_put((x, y), NamedSharding(mesh, PartitionSpec("data")))
    params, stats, state = jax.device_put((params, stats, state),
                                          NamedSharding(mesh, PartitionSpec()))

    def loss_of(params, stats, x, y):
        logits, new = model.apply({"params": params, "batch_stats": stats}, x,
                                  mutable=["batch_stats"])
        loss = optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), y)
        return loss.mean(), new["batch_stats"]

    def step(params, stats, state, x, y):
        (loss, stats), grads = jax.value_and_grad(loss_of, has_aux=True)(params, stats, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), stats, state, loss

    step = jax.jit(step, donate_argnums=(0, 1, 2))
    times = []
    for _ in range(int(sys.argv[1]) + 1):
        t = time.perf_counter()
        params, stats, state, loss = step(params, stats, state, x, y)
        loss.block_until_ready()
        times.append(time.perf_counter() - t)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"step_ms": statistics.median(times[1:]) * 1e3, "rss_mb": rss}))


main()
