"""record_bf16.py - prints the rms errors of PyTorch's matmul, convolution and attention in bfloat16 and of their gradients,
relative to the rms of the result in float64: the table of tests/cts/test_bf16_rounding.c.

    python3 record_bf16.py      requires torch, numpy

SPDX-License-Identifier: Apache-2.0"""
import numpy
import torch


def numbers(first, *shape):
    """Multiples of 1/64 from -2 to 2, which bfloat16 has."""
    place = numpy.arange(first, first + numpy.prod(shape), dtype=numpy.uint64)
    return torch.from_numpy(((place * 2654435761 % 2**32 >> 24).astype(numpy.float64) - 128) / 64).reshape(shape)


def print_errors(name, function, *operands):
    """The last operand is the gradient by the result."""
    results = []
    for dtype in (torch.float64, torch.bfloat16):
        of = [operand.to(dtype).requires_grad_() for operand in operands[:-1]]
        y = function(*of)
        results.append([y.detach(), *torch.autograd.grad(y, of, operands[-1].to(dtype))])
    errors = [((half.double() - full).square().mean() / full.square().mean()).sqrt().item() for full, half in zip(*results)]
    print(name, torch.__version__, " ".join(f"{error:.4e}" for error in errors))


print_errors("matmul", torch.matmul, numbers(0, 64, 4096), numbers(7, 4096, 64), numbers(11, 64, 64))
images, kernel, gradient = numbers(0, 4, 12, 12, 64), numbers(7, 3, 3, 64, 64), numbers(11, 4, 12, 12, 64)
print_errors("conv", lambda x, k: torch.nn.functional.conv2d(x, k, padding=1), images.permute(0, 3, 1, 2),
             kernel.permute(3, 2, 0, 1), gradient.permute(0, 3, 1, 2))
for is_causal in (False, True):
    heads = [numbers(first, 2, 197, 3, 64).permute(0, 2, 1, 3) for first in (0, 7, 11, 13)]
    print_errors(f"attention, {is_causal=}",
                 lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal), *heads)
