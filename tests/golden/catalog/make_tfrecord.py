#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records made.tfrecord, without TensorFlow: framing, CRC-32C and tf.Example are written as their specifications say.
Run in this folder. make_tensorflow.py records the same samples with TensorFlow."""
import struct

SAMPLES = [  # file name, image, label, text
    (b"a.jpg", b"first image", 2, b"cat"),
    (b"b.jpg", b"", 0, b"dog"),
    (b"c.jpg", bytes(range(256)) * 40, 2, b"cat"),
    (b"d.jpg", b"fourth", -1, b""),
]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data):
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(name, value):
    if isinstance(value, bytes):
        content = field(1, field(1, value))
    else:
        content = field(3, field(1, varint(value)))
    return field(1, field(1, name) + field(2, content))


def example(name, image, label, text):
    entries = [feature(b"image/class/label", label), feature(b"image/encoded", image), feature(b"image/filename", name),
               feature(b"image/class/text", text), feature(b"image/height", 7)]
    return field(1, b"".join(entries))


if __name__ == "__main__":
    with open("made.tfrecord", "wb") as out:
        for sample in SAMPLES:
            out.write(record(example(*sample)))
