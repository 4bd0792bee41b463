#!/usr/bin/env python3
# Opens one of our tensor files with the safetensors library and prints its contents, one tensor per line.
# usage: read_back.py FILE
# SPDX-License-Identifier: Apache-2.0
import sys

from safetensors import safe_open

with safe_open(sys.argv[1], framework="np") as file:
    for name in sorted(file.keys()):
        tensor = file.get_tensor(name)
        print(name, tensor.dtype, list(tensor.shape), float(tensor.astype("float64").sum()))
