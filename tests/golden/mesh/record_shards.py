#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints jax_shards.txt, which tests/unit/test_device_mesh.c reads: the shard of an array [8, 4, 2] on each
device according to JAX, as start indices and sizes.

usage: python record_shards.py > jax_shards.txt        (jax 0.10.2, numpy)
"""
import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SHAPE = (8, 4, 2)
MESHES = ({"data": 2, "fsdp": 2, "model": 2}, {"model": 4, "data": 2}, {"fsdp": 8})
SPECS = ("", "data", "fsdp", "data+fsdp", "none,model", "model,none,data", "fsdp,data+model",
         "data,fsdp,model", "none,data+fsdp,model")

for axes in MESHES:
    mesh = Mesh(np.array(jax.devices()).reshape(tuple(axes.values())), tuple(axes))
    for spec in SPECS:
        words = [tuple(word.split("+")) if word != "none" else None for word in spec.split(",") if word]
        if any(axis not in axes for word in words if word for axis in word):
            continue
        sharding = NamedSharding(mesh, PartitionSpec(*words))
        for device, index in sharding.devices_indices_map(SHAPE).items():
            ranges = [one.indices(size)[:2] for one, size in zip(index, SHAPE)]
            print(",".join(f"{name}={size}" for name, size in axes.items()), spec or "none", device.id,
                  *(first for first, _ in ranges), *(last - first for first, last in ranges))
