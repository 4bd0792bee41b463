"""record_resnet.py - a small ResNet as transformers saves it, and its predictions, for tests/e2e/test_published.c.

    python3 record_resnet.py    requires torch, transformers, numpy; writes the folder resnet18, x.npy and y.txt

Weights are f16, in shards. Batch norms have statistics of their own. Predictions are softmax probabilities, computed
in f64 from the weights in the files.

SPDX-License-Identifier: Apache-2.0"""
import pathlib
import shutil

import numpy
import torch
from transformers import ConvNextImageProcessor, ResNetConfig, ResNetForImageClassification

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "resnet18"
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]

torch.manual_seed(0)
shutil.rmtree(FOLDER, ignore_errors=True)
config = ResNetConfig(embedding_size=2, hidden_sizes=[2, 4, 8, 16], depths=[2, 2, 2, 2], layer_type="basic", num_labels=5)
model = ResNetForImageClassification(config)
with torch.no_grad():
    for name, value in list(model.named_parameters()) + list(model.named_buffers()):
        if value.dim() == 1:
            value.copy_(0.1 * torch.randn_like(value) + (0 if name.endswith(("bias", "mean")) else 1))
    model.classifier[1].weight.mul_(0.1)
model.eval().half().save_pretrained(FOLDER, max_shard_size="16KB")
ConvNextImageProcessor(size={"shortest_edge": 16}, crop_pct=0.875, image_mean=MEAN, image_std=STD).save_pretrained(FOLDER)

x = numpy.random.default_rng(0).integers(0, 256, (4, 16, 16, 3), numpy.uint8)
numpy.save(HERE / "x.npy", x)
images = (torch.from_numpy(x).double() / 255 - torch.tensor(MEAN).double()) / torch.tensor(STD).double()
with torch.no_grad():
    y = torch.softmax(model.double()(images.permute(0, 3, 1, 2)).logits, 1)
numpy.savetxt(HERE / "y.txt", y.numpy(), "%.8f")
