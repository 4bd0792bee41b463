#!/usr/bin/env python3
# Generates the .npy files in this folder with NumPy. Element i of an array of n is
# i - 2 (i for unsigned, i % 2 for bool), unless a comment says otherwise.
# Recorded with numpy 2.4.6.
#
# SPDX-License-Identifier: Apache-2.0
import io
import os

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))


def write(name, array, version=None):
    with open(os.path.join(here, name + ".npy"), "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def numbers(dtype, *shape):
    i = np.arange(int(np.prod(shape)))
    if dtype == "bool":
        i = i % 2
    elif not dtype.startswith("u"):
        i = i - 2
    return i.astype(dtype).reshape(shape)


for dtype in ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
              "float16", "float32", "float64"]:
    write(dtype, numbers(dtype, 4, 3))
write("version2", numbers("float32", 4, 3), version=(2, 0))
write("version3", numbers("float32", 4, 3), version=(3, 0))
write("labels", np.array([2, 0, 1, 2], dtype=np.int64))
write("labels_u8", np.array([2, 0, 1, 2], dtype=np.uint8))
write("three_rows", numbers("float32", 3, 2))
write("rank8", numbers("uint8", 2, 1, 2, 1, 2, 1, 2, 1))
write("wide", np.array([0, 1, 2**31], dtype=np.int64))
write("empty", np.zeros((0, 3), dtype=np.float32))
# refused
write("scalar", np.float32(1).reshape(()))
write("fortran", np.asfortranarray(numbers("float32", 4, 3)))
write("big_endian", numbers("float32", 4, 3).astype(">f4"))
write("complex", numbers("complex64", 4, 3))
write("structured", np.zeros(3, dtype=[("a", "<f4"), ("b", "<i4")]))
write("no_columns", np.zeros((3, 0), dtype=np.float32))
