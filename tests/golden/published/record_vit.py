"""record_vit.py - a small ViT as transformers saves it, and its predictions, for tests/e2e/test_published.c.

    python3 record_vit.py    requires torch, transformers, numpy, and x.npy; writes the folder vit and vit_y.txt

Predictions are softmax probabilities, computed in f64 from the weights in the file.

SPDX-License-Identifier: Apache-2.0"""
import pathlib
import shutil

import numpy
import torch
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "vit"

torch.manual_seed(0)
shutil.rmtree(FOLDER, ignore_errors=True)
config = ViTConfig(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=16,
                   patch_size=8, num_labels=5)
model = ViTForImageClassification(config)
with torch.no_grad():
    for name, value in model.named_parameters():
        value.copy_(0.4 * torch.randn_like(value) + ("norm" in name and name.endswith("weight")))
model.eval().half().save_pretrained(FOLDER)
ViTImageProcessor(size={"height": 16, "width": 16}, image_mean=[0.5] * 3, image_std=[0.5] * 3).save_pretrained(FOLDER)

images = (torch.from_numpy(numpy.load(HERE / "x.npy")).double() / 255 - 0.5) / 0.5
with torch.no_grad():
    y = torch.softmax(model.double()(images.permute(0, 3, 1, 2)).logits, 1)
numpy.savetxt(HERE / "vit_y.txt", y.numpy(), "%.8f")
