"""record_resnet.py - records the results of torchvision's ResNets for tests/cts/test_nn_resnet.c.

    python3 record_resnet.py    requires torch, torchvision, numpy, safetensors; writes resnet.safetensors

Weights are not stored: both sides generate them with counter-based random numbers (counted.py). Of a model's
file, only the header that safetensors writes for torchvision's state dict is stored, and a table with the
position of each tensor's data, so that the test can create the same file. The models run in f64. Cases: name/{header,table,logits,loss,next_loss,grad,after}: grad has the norm
of each parameter's gradient, after the norm of each tensor after one step of SGD, both in the order
of the table (0 if it has no gradient).

SPDX-License-Identifier: Apache-2.0"""
import json
import pathlib
import tempfile

import numpy
import torch
import torchvision
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import save_file

from counted import uniform, words

HERE = pathlib.Path(__file__).resolve().parent
SEED, BATCH, CLASSES, TRACKED = 7, 4, 10, 3


def values(name, shape, tag):
    """f32: spread around 1 for what multiplies, around 0 for what adds; kernels by their fan in."""
    u = 2 * uniform(SEED, tag, int(numpy.prod(shape))).reshape(shape) - 1
    last = name.split(".")[-1]
    if len(shape) > 1:
        return u * numpy.float32(numpy.sqrt(3 / numpy.prod(shape[1:])))
    if last == "running_var" or (last == "weight" and len(shape) == 1):
        return 1 + u * numpy.float32(0.5)
    return u * numpy.float32(0.1)


def fill(model):
    """Counted values for the state dict; tags count its names in alphabetical order."""
    state = {}
    for tag, (name, t) in enumerate(sorted(model.state_dict().items())):
        if t.dtype == torch.int64:
            state[name] = torch.tensor(TRACKED)
        else:
            state[name] = torch.from_numpy(values(name, tuple(t.shape), tag))
    model.load_state_dict(state)


def file_of(model):
    """Header as bytes; table as lines "tag first_byte count name"."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.safetensors"
        save_file(model.state_dict(), path)
        raw = path.read_bytes()
    size = 8 + int.from_bytes(raw[:8], "little")
    entries = {k: v for k, v in json.loads(raw[8:size]).items() if k != "__metadata__"}
    lines = [f"{tag} {size + e['data_offsets'][0]} {int(numpy.prod(e['shape'], dtype=int))} {name}"
             for tag, (name, e) in enumerate(sorted(entries.items()))]
    return numpy.frombuffer(raw[:size], numpy.uint8), "\n".join(lines) + "\n"


def batch(side):
    """Images f32 [B,H,W,C] in -1 to 1, and labels."""
    x = 2 * uniform(SEED, 5000, BATCH * side * side * 3).reshape(BATCH, side, side, 3) - 1
    return x, (words(SEED, 5001, BATCH) % CLASSES).astype(numpy.int64)


def record(out, case, model, side, steps):
    fill(model)
    header, table = file_of(model)
    out[f"{case}/header"] = header
    out[f"{case}/table"] = numpy.frombuffer(table.encode(), numpy.uint8)
    images, labels = batch(side)
    model = model.double()
    x = torch.from_numpy(images).double().permute(0, 3, 1, 2)
    y = torch.from_numpy(labels)
    with torch.no_grad():
        out[f"{case}/logits"] = model.eval()(x).numpy()
    if not steps:
        return
    model.train()
    sgd = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9, weight_decay=5e-4)
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    names = sorted(model.state_dict())
    parameters = dict(model.named_parameters())
    out[f"{case}/loss"] = numpy.array([loss.item()])
    out[f"{case}/grad"] = numpy.array(
        [parameters[n].grad.norm().item() if n in parameters else 0 for n in names])
    sgd.step()
    state = model.state_dict()
    out[f"{case}/after"] = numpy.array([state[n].double().norm().item() for n in names])
    out[f"{case}/next_loss"] = numpy.array(
        [torch.nn.functional.cross_entropy(model(x), y).item()])
    print(case, out[f"{case}/loss"], out[f"{case}/next_loss"])


def small_stem(model):
    model.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    model.maxpool = torch.nn.Identity()
    return model


def main():
    out, nets = {}, torchvision.models
    record(out, "resnet18", nets.resnet18(num_classes=CLASSES), 64, True)
    record(out, "resnet50", nets.resnet50(num_classes=CLASSES), 64, True)
    record(out, "resnet34", small_stem(nets.resnet34(num_classes=CLASSES)), 16, False)
    versions = {"torch": torch.__version__, "torchvision": torchvision.__version__}
    save_arrays({k: numpy.ascontiguousarray(v) for k, v in out.items()},
                HERE / "resnet.safetensors", metadata=versions)


main()
