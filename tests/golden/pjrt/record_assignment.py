#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the device assignments that tests/unit/test_pjrt_world.c expects, as written by JAX: one replica, one
partition per device, in the given order.

usage: python record_assignment.py        (jax 0.10.2)
"""
import numpy as np
from jax._src.lib import xla_client

for ids in ([0, 1, 4, 5, 2, 3, 6, 7], [3, 7, 2, 6, 1, 5, 0, 4]):
    assignment = xla_client.DeviceAssignment.create(np.array([ids]))
    print(ids, assignment.serialize().hex())
