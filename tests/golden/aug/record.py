#!/usr/bin/env python3
# Records torchvision's results for tests/cts/test_aug_torchvision.c, in f64: functional.adjust_*, rgb_to_grayscale,
# resized_crop and affine of given images with given numbers. Images are stored channels last.
# Requires: numpy, torch, torchvision, safetensors (the versions used are in the file's metadata).
# usage: record.py
# SPDX-License-Identifier: Apache-2.0
import pathlib

import numpy
import torch
import torchvision
import torchvision.transforms.functional as F
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent
BATCH, HEIGHT, WIDTH = 4, 6, 5
FACTORS = (0.25, 0.8125, 1.0, 1.75)
SIGMAS = (0.25, 0.75, 1.5, 4.0)
SHIFTS = (-0.5, -0.125, 0.0, 0.4375)
BOXES = ((0, 0, 6, 5), (1, 2, 4, 3), (3, 1, 2, 2), (0, 3, 5, 2))  # top, left, height, width
ANGLES = ((30, (0, 0), 1, (0, 0)), (-75, (1, -2), 1.25, (0, 0)), (0, (0, 1), 0.8, (20, 0)), (10, (0, 0), 1, (-15, 25)))


def images():
    """Random pixels, of which some are gray, black, white, or have two equal channels."""
    x = torch.from_numpy(numpy.random.default_rng(7).integers(0, 256, (BATCH, 3, HEIGHT, WIDTH))) / 255.0
    x[:, :, 0, 0], x[:, :, 0, 1], x[:, 1, 0, 2] = 0, 1, x[:, 0, 0, 2]
    x[:, 1:, 0, 3], x[:, :, 0, 4] = x[:, :1, 0, 3], 0.5
    return x.to(torch.float32).to(torch.float64)


def each(function, x, numbers):
    return torch.cat([function(one[None], number) for one, number in zip(x, numbers)])


def inverse_matrix(angle, translate, scale, shear):
    """The map from places in the result to places in the image, from its center: torchvision's own."""
    m = F._get_inverse_affine_matrix([0.0, 0.0], angle, [float(t) for t in translate], scale, [float(s) for s in shear])
    return torch.tensor(m, dtype=torch.float64).reshape(2, 3)


def main():
    x = images()
    tensors = {
        "image": x.to(torch.float32),
        "factor": torch.tensor(FACTORS), "shift": torch.tensor(SHIFTS),
        "box": torch.tensor(BOXES, dtype=torch.float32),
        "matrix": torch.stack([inverse_matrix(*a) for a in ANGLES]).to(torch.float32),
        "brightness": each(F.adjust_brightness, x, FACTORS),
        "contrast": each(F.adjust_contrast, x, FACTORS),
        "saturation": each(F.adjust_saturation, x, FACTORS),
        "hue": each(F.adjust_hue, x, SHIFTS),
        "gray": F.rgb_to_grayscale(x),
        "resized_crop": each(lambda one, box: F.resized_crop(one, *box, [3, 4], antialias=True), x, BOXES),
        "sigma": torch.tensor(SIGMAS),
        "blur": each(lambda one, sigma: F.gaussian_blur(one, 5, sigma), x, SIGMAS),
        "affine": each(lambda one, a: F.affine(one, a[0], a[1], a[2], a[3], F.InterpolationMode.BILINEAR), x, ANGLES),
    }
    for name, value in tensors.items():
        if value.dim() == 4:
            value = value.permute(0, 2, 3, 1)
        tensors[name] = value.to(torch.float32).contiguous().clone()
    versions = {"torch": torch.__version__, "torchvision": torchvision.__version__}
    save_file(tensors, HERE / "torchvision.safetensors", metadata=versions)


main()
