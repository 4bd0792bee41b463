"""Compiles a JAX training step for TPUs with libtpu, without executing it, and reports memory and cost per
device. Data parallel: the batch is sharded across all devices, the state is replicated. Prints one JSON object.

usage: jax_tpu.py mlp|resnet50|gpt TOPOLOGY f32|bf16 BATCH     requires: jax flax optax libtpu
TOPOLOGY is a name that libtpu accepts ("v5e:2x4", "v3:2x2"), BATCH the number of samples per device.
"""
import json
import os
import pathlib
import re
import sys
import tempfile
from functools import partial

DUMP = tempfile.TemporaryDirectory()
os.environ.update({"XLA_FLAGS": f"--xla_dump_to={DUMP.name} --xla_dump_hlo_as_text",
                   "JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_ID": "0",
                   "TPU_WORKER_HOSTNAMES": "localhost", "TPU_ACCELERATOR_TYPE": "v5litepod-8",
                   "ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "TPU_LOG_DIR": "disabled"})

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jax_gpt


class Mlp(nn.Module):
    dtype: jnp.dtype

    @nn.compact
    def __call__(self, x, train=True):
        for width in (512, 512):
            x = nn.relu(nn.Dense(width, dtype=self.dtype)(x))
        return nn.Dense(10, dtype=self.dtype)(x)


class Bottleneck(nn.Module):
    width: int
    stride: int
    dtype: jnp.dtype

    @nn.compact
    def __call__(self, x):
        conv = partial(nn.Conv, use_bias=False, dtype=self.dtype)
        norm = partial(nn.BatchNorm, use_running_average=False, momentum=0.9, dtype=self.dtype)
        y = nn.relu(norm()(conv(self.width, (1, 1))(x)))
        y = nn.relu(norm()(conv(self.width, (3, 3), self.stride, padding=1)(y)))
        y = norm()(conv(4 * self.width, (1, 1))(y))
        if x.shape != y.shape:
            x = norm()(conv(4 * self.width, (1, 1), self.stride)(x))
        return nn.relu(x + y)


class ResNet50(nn.Module):
    dtype: jnp.dtype

    @nn.compact
    def __call__(self, x, train=True):
        x = nn.Conv(64, (7, 7), 2, padding=3, use_bias=False, dtype=self.dtype)(x)
        x = nn.relu(nn.BatchNorm(use_running_average=False, momentum=0.9, dtype=self.dtype)(x))
        x = nn.max_pool(x, (3, 3), (2, 2), ((1, 1), (1, 1)))
        for stage, blocks in enumerate((3, 4, 6, 3)):
            for block in range(blocks):
                stride = 2 if stage > 0 and block == 0 else 1
                x = Bottleneck(64 << stage, stride, self.dtype)(x)
        return nn.Dense(1000, dtype=self.dtype)(x.mean((1, 2)))


def make_step(model, optimizer):
    def loss_of(params, stats, x, y):
        x = x.astype(jnp.float32) * (1 / 255)
        logits, new = model.apply({"params": params, "batch_stats": stats}, x,
                                  mutable=["batch_stats"])
        loss = optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), y)
        return loss.mean(), new.get("batch_stats", {})

    def step(params, stats, state, x, y):
        (loss, stats), grads = jax.value_and_grad(loss_of, has_aux=True)(params, stats, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), stats, state, loss

    return step


def make_gpt_step(optimizer):
    def step(params, stats, state, x, y):
        loss, grads = jax.value_and_grad(jax_gpt.loss_of)(params, x, y)
        bad = sum(jnp.sum(~jnp.isfinite(g)) for g in jax.tree.leaves(grads))
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), stats, state, (loss, bad)

    return step


def gpt(dtype, count):
    """The step, its optimizer and the shapes of parameters, statistics, x and y."""
    jax_gpt.DTYPE = dtype
    optimizer = optax.adamw(3e-4, weight_decay=0.01)
    tokens = jax.ShapeDtypeStruct((count, jax_gpt.LENGTH), jnp.int32)
    return make_gpt_step(optimizer), optimizer, jax.eval_shape(jax_gpt.init), {}, tokens, tokens


def classifier(name, dtype, count):
    """The same of an image classifier."""
    shape = (784,) if name == "mlp" else (224, 224, 3)
    model = Mlp(dtype) if name == "mlp" else ResNet50(dtype)
    optimizer = optax.adam(1e-3) if name == "mlp" else optax.sgd(0.1, momentum=0.9)
    variables = jax.eval_shape(
        lambda: model.init(jax.random.PRNGKey(0), jnp.zeros((1, *shape), jnp.float32)))
    return (make_step(model, optimizer), optimizer, variables["params"], variables.get("batch_stats", {}),
            jax.ShapeDtypeStruct((count, *shape), jnp.uint8), jax.ShapeDtypeStruct((count,), jnp.int32))


def main():
    name, topology, precision, batch = *sys.argv[1:4], int(sys.argv[4])
    dtype = jnp.bfloat16 if precision == "bf16" else jnp.float32
    devices = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices
    mesh = Mesh(np.array(devices), ("data",))
    whole = NamedSharding(mesh, PartitionSpec())
    split = NamedSharding(mesh, PartitionSpec("data"))
    count = batch * len(devices)
    function, optimizer, params, stats, x, y = \
        gpt(dtype, count) if name == "gpt" else classifier(name, dtype, count)
    state = jax.eval_shape(optimizer.init, params)
    step = jax.jit(function, donate_argnums=(0, 1, 2),
                   in_shardings=(whole, whole, whole, split, split), out_shardings=whole)
    compiled = step.lower(params, stats, state, x, y).compile()
    memory, cost = compiled.memory_analysis(), compiled.cost_analysis()
    # compiled.as_text() fails for v6e: jaxlib cannot parse the program
    program, = pathlib.Path(DUMP.name).glob("*jit_step*.after_codegen.txt")
    cycles = map(int, re.findall(r'"estimated_cycles":"(\d+)"', program.read_text()))
    print(json.dumps({
        "devices": len(devices),
        "hbm_bytes": memory.argument_size_in_bytes + memory.output_size_in_bytes
        - memory.alias_size_in_bytes + memory.temp_size_in_bytes
        + memory.generated_code_size_in_bytes,
        "cycles": sum(c for c in cycles if c < 2**63 - 1),  # the largest number: not known
        "bytes_accessed": cost["bytes accessed"],
        "flops": cost["flops"]}))


main()
