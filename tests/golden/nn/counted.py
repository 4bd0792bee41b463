"""counted.py - the library's counter-based random numbers in NumPy: Threefry-2x32 with 20 rounds, as in
src/base/rng.c, so that both sides can generate the same inputs and weights without storing them.

SPDX-License-Identifier: Apache-2.0"""
import numpy

ROTATION = (13, 15, 26, 6, 17, 29, 16, 24)


def threefry(key, x0, x1):
    """One block per counter (x0, x1); arrays of uint32."""
    with numpy.errstate(over="ignore"):
        schedule = [numpy.uint32(key[0]), numpy.uint32(key[1])]
        schedule.append(schedule[0] ^ schedule[1] ^ numpy.uint32(0x1BD11BDA))
        x0 = x0 + schedule[0]
        x1 = x1 + schedule[1]
        for r in range(20):
            x0 = x0 + x1
            turn = numpy.uint32(ROTATION[r % 8])
            x1 = ((x1 << turn) | (x1 >> (numpy.uint32(32) - turn))) ^ x0
            if r % 4 == 3:
                n = r // 4 + 1
                x0 = x0 + schedule[n % 3]
                x1 = x1 + schedule[(n + 1) % 3] + numpy.uint32(n)
    return x0, x1


def words(seed, tag, count):
    """The first words of counters 0..count-1 under the key of seed, folded with tag."""
    zero = numpy.zeros(1, numpy.uint32)
    k0, k1 = threefry((seed & 0xFFFFFFFF, seed >> 32), zero + numpy.uint32(tag), zero)
    index = numpy.arange(count, dtype=numpy.uint32)
    return threefry((k0[0], k1[0]), index, numpy.zeros(count, numpy.uint32))[0]


def uniform(seed, tag, count):
    """f32 in [0, 1)."""
    return (words(seed, tag, count) >> numpy.uint32(8)).astype(numpy.float32) * numpy.float32(2**-24)
