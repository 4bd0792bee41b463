#!/usr/bin/env python3
# Records files written by the safetensors library for tests/unit/test_ckpt_golden.c, which writes the same
# tensors and compares byte by byte. Requires: numpy, torch, safetensors (recorded with 0.8.0).
# usage: record.py            writes every_dtype.safetensors and names.safetensors to its own folder
# SPDX-License-Identifier: Apache-2.0
import os

import torch
from safetensors.torch import save_file

here = os.path.dirname(os.path.abspath(__file__))
names = {
    "bool": torch.bool, "u8": torch.uint8, "s8": torch.int8, "u16": torch.uint16,
    "s16": torch.int16, "u32": torch.uint32, "s32": torch.int32, "u64": torch.uint64,
    "s64": torch.int64, "bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32,
    "f64": torch.float64,
}
tensors = {}
for name, dtype in names.items():
    values = torch.arange(6, dtype=torch.float64)
    values = values % 2 if name == "bool" else values / 2 - 1 if dtype.is_floating_point else values + 1
    tensors["t." + name] = values.to(dtype).reshape(2, 3)
save_file(tensors, os.path.join(here, "every_dtype.safetensors"), metadata={"format": "pt"})

odd = {
    "scalar": torch.tensor(2.5),
    "empty": torch.zeros(0, 3),
    "naïve.權重": torch.tensor([1.0, 2.0]),
    'quote"back\\slash\ttab\x01': torch.tensor([3], dtype=torch.uint8),
}
save_file(odd, os.path.join(here, "names.safetensors"))
