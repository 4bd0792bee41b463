#!/usr/bin/env python3
# Records torchvision's results for tests/cts/test_aug_torchvision.c, in f64: functional.adjust_*, rgb_to_grayscale,
# resized_crop and affine of given images with given numbers; every operation of RandAugment and TrivialAugmentWide,
# those of levels for u8; and PyTorch's cross_entropy of probabilities. Images are stored channels last.
# Requires: numpy, torch, torchvision, safetensors (the versions used are in the file's metadata).
# usage: record.py
# SPDX-License-Identifier: Apache-2.0
import pathlib

import numpy
import torch
import torchvision
import torchvision.transforms.functional as F
from safetensors.torch import save_file
from torchvision.transforms import autoaugment

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


def small_levels():
    """u8 images of 20 x 24 pixels, so that equalizing has an effect; one channel with few levels, one with a single."""
    x = numpy.random.default_rng(8).integers(0, 256, (3, 3, 20, 24)) // numpy.array([1, 3, 2])[:, None, None, None]
    x[1, 0] = x[1, 0] // 40 * 40
    x[2, 1] = 77
    return torch.from_numpy(x.astype(numpy.uint8))


def operations(policy, x, number, sign):
    """Every operation of a policy, applied to one image, with a magnitude by its number."""
    height, width = x.shape[-2:]
    names = ((31, (height, width)), (31,))[isinstance(policy, autoaugment.TrivialAugmentWide)]
    results = []
    for name, (magnitudes, is_signed) in policy._augmentation_space(*names).items():
        magnitude = float(magnitudes[number]) if magnitudes.ndim > 0 else 0.0
        magnitude *= sign if is_signed else 1
        of_bytes = name in ("Posterize", "Solarize", "Equalize")
        one = x if of_bytes else x.to(torch.float64) / 255
        done = autoaugment._apply_op(one[None], name, magnitude, F.InterpolationMode.BILINEAR, None)
        results.append(done.to(torch.float64) / 255 if of_bytes else done)
    return torch.cat(results)


def probabilities():
    """Logits and target probabilities of 5 samples, with a weight for each class, and the loss of both kinds."""
    random = numpy.random.default_rng(9)
    logits = torch.from_numpy(random.normal(0, 2, (5, 4)))
    target = torch.softmax(torch.from_numpy(random.normal(0, 1, (5, 4))), 1)
    weight = torch.tensor([0.5, 1.0, 2.0, 0.25], dtype=torch.float64)
    loss = torch.nn.functional.cross_entropy
    losses = [loss(logits, target), loss(logits, target, weight=weight, label_smoothing=0.125)]
    return {"logits": logits, "probabilities": target, "class_weight": weight, "soft_loss": torch.stack(losses)}


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
    u8 = small_levels()
    wide = u8.to(torch.float64) / 255
    tensors |= {
        "u8": wide,
        "invert": F.invert(u8) / 255, "solarize": F.solarize(u8, 128) / 255, "posterize": F.posterize(u8, 3) / 255,
        "autocontrast": F.autocontrast(wide), "equalize": F.equalize(u8) / 255,
        "sharpness": F.adjust_sharpness(wide, 1.75),
        "rand_augment": operations(autoaugment.RandAugment(), u8[0], 13, -1),
        "trivial_augment": operations(autoaugment.TrivialAugmentWide(), u8[0], 11, 1),
    } | probabilities()
    for name, value in tensors.items():
        if value.dim() == 4:
            value = value.permute(0, 2, 3, 1)
        tensors[name] = value.to(torch.float32).contiguous().clone()
    versions = {"torch": torch.__version__, "torchvision": torchvision.__version__}
    save_file(tensors, HERE / "torchvision.safetensors", metadata=versions)


main()
