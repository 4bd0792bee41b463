"""Compiles a JAX training step for TPUs with libtpu, without executing it, and reports memory and cost per
device. Data parallel: the batch is sharded across all devices, the state is replicated. Prints one JSON object.

usage: jax_tpu.py mlp|resnet50|gpt TOPOLOGY f32|bf16 BATCH     requires: jax optax libtpu
TOPOLOGY is a name that libtpu accepts ("v5e:2x4", "v3:2x2"), BATCH the number of samples per device.
"""
import json
import os
import pathlib
import re
import sys
import tempfile

DUMP = tempfile.TemporaryDirectory()
os.environ.update({"XLA_FLAGS": f"--xla_dump_to={DUMP.name} --xla_dump_hlo_as_text",
                   "JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_ID": "0",
                   "TPU_WORKER_HOSTNAMES": "localhost", "TPU_ACCELERATOR_TYPE": "v5litepod-8",
                   "ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "TPU_LOG_DIR": "disabled"})

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jax_step


OPTIMIZERS = {"mlp": optax.adam(1e-3), "resnet50": optax.sgd(0.1, momentum=0.9),
              "gpt": optax.adamw(3e-4, weight_decay=0.01)}


def make_step(name, dtype):
    """The step; pixels are converted on the device, and the GPT's counts non-finite gradients."""
    def loss_of(params, stats, x, y):
        x = x if name == "gpt" else x.astype(jnp.float32) * (1 / 255)
        return jax_step.loss_of(name, dtype, params, stats, x, y)

    def step(params, stats, state, x, y):
        (loss, stats), grads = jax.value_and_grad(loss_of, has_aux=True)(params, stats, x, y)
        bad = sum(jnp.sum(~jnp.isfinite(g)) for g in grads) if name == "gpt" else 0
        updates, state = OPTIMIZERS[name].update(grads, state, params)
        return optax.apply_updates(params, updates), stats, state, (loss, bad)

    return step


def make_data(name, count):
    """Types of x and y."""
    shape = jax_step.MODELS[name][1]
    if name == "gpt":
        return (jax.ShapeDtypeStruct((count, *shape), jnp.int32),) * 2
    return jax.ShapeDtypeStruct((count, *shape), jnp.uint8), jax.ShapeDtypeStruct((count,), jnp.int32)


def main():
    name, topology, precision, batch = *sys.argv[1:4], int(sys.argv[4])
    dtype = jnp.bfloat16 if precision == "bf16" else jnp.float32
    devices = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices
    mesh = Mesh(np.array(devices), ("data",))
    whole = NamedSharding(mesh, PartitionSpec())
    split = NamedSharding(mesh, PartitionSpec("data"))
    count = batch * len(devices)
    x, y = make_data(name, count)
    params, stats = jax.eval_shape(lambda: jax_step.init(name, x))
    state = jax.eval_shape(OPTIMIZERS[name].init, params)
    step = jax.jit(make_step(name, dtype), donate_argnums=(0, 1, 2),
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
