"""torch_curve.py - trains a full-size model from random weights in PyTorch, and writes what a run of the program needs to
do the same: the weights as published files, the batches, and a configuration.

usage: torch_curve.py gpt2|vit_tiny|bert|convnext_tiny FOLDER STEPS    requires torch, transformers, timm, tokenizers,
scikit-learn; prints the losses as JSON

Data: the documentation of the project (gpt2, bert: which of the files a line is from), the handwritten digits of
scikit-learn enlarged to 64x64 pixels.

SPDX-License-Identifier: Apache-2.0"""
import json
import pathlib
import sys

import numpy
import timm
import torch
import transformers
from sklearn.datasets import load_digits
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

DOCS = sorted((pathlib.Path(__file__).resolve().parents[2] / "docs").glob("*.md"))
LENGTH, SIDE, CLASSES = 64, 64, 10
BATCH = {"gpt2": 2, "bert": 4, "vit_tiny": 8, "convnext_tiny": 8}
CONFIG = """model: {{hf: model{classes}}}
data: {{{data}}}
optimizer: {{name: adamw, lr: 1e-4, weight_decay: 0.01, no_decay: none}}
trainer: {{batch_size: {batch}, overfit_batches: {steps}, max_steps: {steps}, log_every: 1, run_dir: run,
  ckpt_every_epochs: 0, val_every_epochs: 0}}
"""


def gpt2(folder, steps):
    """Bytes of the documentation as tokens of a vocabulary of the usual size; the other tokens never occur."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {word: i for i, word in enumerate(alphabet + [f"unused{i}" for i in range(50257 - len(alphabet))])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))
    count = BATCH["gpt2"] * steps * LENGTH
    text = "".join(path.read_text() for path in DOCS).encode("ascii", "replace").decode()[: count + 1]
    (folder / "text.txt").write_text(text)
    tokens = torch.tensor(tokenizer.encode(text).ids)
    x, y = tokens[:count].reshape(-1, LENGTH), tokens[1 : count + 1].reshape(-1, LENGTH)
    config = transformers.GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    model = transformers.GPT2LMHeadModel(config)
    model.save_pretrained(folder / "model")
    return model, lambda x: model(x).logits, x, y, f"format: text, path: text.txt, length: {LENGTH}, tokenizer: tokenizer.json"


def save_arrays(folder, x, y):
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "y.npy", y.astype(numpy.int32))
    return "format: npy, x: x.npy, y: y.npy"


def bert(folder, steps):
    lines = [(line.encode("ascii", "replace")[:LENGTH], i % CLASSES) for i, path in enumerate(DOCS)
             for line in path.read_text().splitlines() if len(line) >= LENGTH]
    order = numpy.random.default_rng(0).permutation(len(lines))[: BATCH["bert"] * steps]
    x = numpy.array([numpy.frombuffer(lines[i][0], numpy.uint8) for i in order]).astype(numpy.int32) + 1000
    y = numpy.array([lines[i][1] for i in order])
    data = save_arrays(folder, x, y)
    config = transformers.BertConfig(hidden_dropout_prob=0, attention_probs_dropout_prob=0, num_labels=CLASSES)
    model = transformers.BertForSequenceClassification(config)
    model.save_pretrained(folder / "model")
    return model, lambda x: model(x).logits, torch.from_numpy(x).long(), torch.from_numpy(y), data


def images(folder, steps, name, **options):
    digits = load_digits()
    count = BATCH[name] * steps
    large = digits.images[:count].repeat(SIDE // 8, 1).repeat(SIDE // 8, 2)
    x = numpy.repeat((large * 15).astype(numpy.uint8)[..., None], 3, 3)
    data = save_arrays(folder, x, digits.target[:count]) + ", mean: 0.5, std: 0.5"
    model = timm.create_model(options.pop("timm"), num_classes=CLASSES, **options)
    timm.models.save_for_hf(model, folder / "model", safe_serialization=True)
    return model, model, (torch.from_numpy(x).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.5, torch.from_numpy(digits.target[:count]), data


def vit_tiny(folder, steps):
    return images(folder, steps, "vit_tiny", timm="vit_tiny_patch16_224", img_size=SIDE)


def convnext_tiny(folder, steps):
    return images(folder, steps, "convnext_tiny", timm="convnext_tiny")


def main():
    name, folder, steps = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    model, forward, x, y, data = globals()[name](folder, steps)
    classes = "" if name == "gpt2" else f", classes: {CLASSES}"
    (folder / "run.yaml").write_text(CONFIG.format(classes=classes, data=data, batch=BATCH[name], steps=steps))
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01), []
    model.train()
    for i in range(steps):
        rows = slice(i * BATCH[name], (i + 1) * BATCH[name])
        optimizer.zero_grad()
        logits = forward(x[rows])
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y[rows].reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps(losses))


main()
