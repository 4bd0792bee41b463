#!/usr/bin/env python3
# Generates the .npz files in this folder with NumPy: x is f32[4,3] with i - 2 as element i, y is
# s64[4]. Recorded with numpy 2.4.6.
#
# SPDX-License-Identifier: Apache-2.0
import io
import os
import struct
import zipfile

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
x = (np.arange(12) - 2).astype("float32").reshape(4, 3)
y = np.array([2, 0, 1, 2])
DATE = (2020, 1, 1, 0, 0, 0)


def path(name):
    return os.path.join(here, name + ".npz")


def npy(array):
    out = io.BytesIO()
    np.lib.format.write_array(out, array)
    return out.getvalue()


def zip64():
    """An archive whose sizes and offsets are only in the zip64 records, as in those over 4 GiB."""
    content = npy(x)
    crc, size, name = zipfile.crc32(content), len(content), b"x.npy"
    none = 0xFFFFFFFF
    sizes = struct.pack("<HHQQ", 1, 16, size, size)
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 0x21, crc, none, none, len(name),
                        len(sizes)) + name + sizes + content
    extra = struct.pack("<HHQQQ", 1, 24, size, size, 0)
    central = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 0x21, crc, none, none,
                          len(name), len(extra), 0, 0, 0, 0, none) + name + extra
    end64 = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, len(central), len(local))
    locator = struct.pack("<IIQI", 0x07064B50, 0, len(local) + len(central), 1)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, none, none, 0)
    with open(path("zip64"), "wb") as file:
        file.write(local + central + end64 + locator + end)


np.savez(path("stored"), x=x, y=y)
np.savez_compressed(path("deflated"), x_train=x, y_train=y, x_test=x[:2], y_test=y[:2])
np.savez(path("single"), x[:, 0])
zip64()
# refused
np.savez(path("fortran"), x=np.asfortranarray(x))
with zipfile.ZipFile(path("lzma"), "w", zipfile.ZIP_LZMA) as file:
    file.writestr(zipfile.ZipInfo("x.npy", DATE), npy(x), zipfile.ZIP_LZMA)
for count, name in ((12, "twelve"), (13, "thirteen")):
    with zipfile.ZipFile(path(name), "w") as file:
        for letter in "abcdefghijklm"[:count]:
            file.writestr(zipfile.ZipInfo(letter + ".npy", DATE), b"")
