"""record_models.py - records results of transformers' and timm's models for tests/cts/test_nn_models.c.

    python3 record_models.py    requires torch, transformers, timm, numpy, safetensors; writes models.safetensors

Weights and batches are not stored: both sides generate them with counter-based random numbers (counted.py), by
the tensor's position among the sorted names. The models run in f64. Cases: NAME/{table,logits,grad,curve}. table
has the lines "name shape"; grad has, for each of them, the sum of the gradient's elements times counted numbers;
curve has the losses of 50 steps of AdamW on one batch;
published has names of transformers' files.

SPDX-License-Identifier: Apache-2.0"""
import copy
import pathlib

import numpy
import timm.models
import torch
import transformers
from safetensors.numpy import save_file

from counted import uniform, words

HERE = pathlib.Path(__file__).resolve().parent
SEED, BATCH, STEPS, CALM = 11, 4, 50, 3e-4
torch.set_num_threads(1)


def counted(tag, shape):
    """-1 to 1"""
    return torch.from_numpy(2 * uniform(SEED, tag, int(numpy.prod(shape))).reshape(shape) - 1).double()


def values(name, shape, tag):
    """Spread around 1 for what multiplies, around 0 for what adds; matrices by their fan in."""
    u, last = counted(tag, shape), name.split(".")[-1]
    if len(shape) > 1:
        return u * float(numpy.float32(numpy.sqrt(3 / numpy.prod(shape[1:]))))
    return 1 + u * 0.5 if last in ("weight", "running_var") else u * float(numpy.float32(0.1))


def state_of(model, prefix, tied):
    """Parameters and buffers by the names of the published file."""
    state = {name: t for name, t in model.state_dict(keep_vars=True).items() if t.dim() and name not in tied}
    return {name.removeprefix(prefix): state[name] for name in sorted(state, key=lambda n: n.removeprefix(prefix))}


def losses(model, loss_of, jitter):
    chance = torch.Generator().manual_seed(jitter)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1 + bool(jitter) * 2**-23 * (torch.randint(0, 3, p.shape, generator=chance) - 1))
    adamw, out = torch.optim.AdamW(model.parameters(), 1e-3), []
    for _ in range(STEPS):
        adamw.zero_grad()
        loss = loss_of(model)
        loss.backward()
        adamw.step()
        out.append(loss.item())
    return numpy.array(out)


def record(out, case, model, logits_of, labels, prefix="", tied=(), gradient=True, curve=True):
    model = model.double().train()
    state = state_of(model, prefix, tied)
    with torch.no_grad():
        for tag, (name, t) in enumerate(state.items()):
            t.copy_(values(name, tuple(t.shape), tag))
    table = "".join(f"{name} {','.join(map(str, t.shape))}\n" for name, t in state.items())
    out[f"{case}/table"] = numpy.frombuffer(table.encode(), numpy.uint8)
    model.eval()
    out[f"{case}/logits"] = logits_of(model).detach().numpy()
    if not gradient:
        return
    start = copy.deepcopy(model.state_dict())

    def loss_of(m):
        y = logits_of(m)
        return torch.nn.functional.cross_entropy(y.reshape(-1, y.shape[-1]), labels.reshape(-1))

    loss_of(model).backward()
    out[f"{case}/grad"] = numpy.array(
        [(t.grad * counted(1000 + i, tuple(t.shape))).sum().item() if t.grad is not None else 0
         for i, t in enumerate(state.values())])
    if not curve:
        return
    model.train()
    curves = []
    for jitter in range(3):
        model.load_state_dict(start)
        curves.append(losses(model, loss_of, jitter))
    spread = max(numpy.abs(c / curves[0] - 1).max() for c in curves)
    print(case, out[f"{case}/logits"].shape, curves[0][::10], f"spread {spread:.2g}")
    assert spread < CALM, "rounding decides this curve: choose another problem"
    out[f"{case}/curve"] = curves[0]


def integers(tag, shape, below):
    return torch.from_numpy((words(SEED, tag, int(numpy.prod(shape))) % below).astype(numpy.int64).reshape(shape))


VOCABULARY, LENGTH, CLASSES = 11, 6, 3


def language_models(out):
    tokens, labels = (integers(tag, (BATCH, LENGTH), VOCABULARY) for tag in (5000, 5001))
    tokens[:, 0] = 1  # not BERT's padding
    logits_of = lambda m: m(tokens).logits
    config = transformers.GPT2Config(n_layer=2, n_embd=16, n_head=2, n_positions=8, vocab_size=VOCABULARY,
                                     resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    record(out, "gpt2", transformers.GPT2LMHeadModel(config), logits_of, labels, "transformer.",
           ("lm_head.weight",))
    sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, vocab_size=VOCABULARY)
    config = transformers.LlamaConfig(**sizes, num_key_value_heads=2, intermediate_size=24, rms_norm_eps=1e-5,
                                      max_position_embeddings=16)
    record(out, "llama", transformers.LlamaForCausalLM(config), logits_of, labels, curve=False)
    config = transformers.BertConfig(**sizes, intermediate_size=32, max_position_embeddings=8,
                                     num_labels=CLASSES, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    record(out, "bert", transformers.BertForSequenceClassification(config),
           lambda m: m(tokens, attention_mask=(tokens != 0).long()).logits, integers(5001, (BATCH,), CLASSES))


class Lstm(torch.nn.Module):
    """Logits of each token, or of the last states; the token 0 is not read."""

    def __init__(self, outputs, per_token, **options):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, 6)
        self.lstm = torch.nn.LSTM(6, 6, batch_first=True, **options)
        self.fc = torch.nn.Linear(6 * (1 + self.lstm.bidirectional), outputs)
        self.per_token = per_token

    def forward(self, tokens):
        x = self.embedding(tokens)
        if self.per_token:
            return self.fc(self.lstm(x)[0])
        h = torch.cat([self.lstm(x[i, text != 0][None])[1][0] for i, text in enumerate(tokens)], 1)
        return self.fc(torch.cat([h[-2], h[-1]], 1))


def recurrent_models(out):
    tokens, labels = (integers(tag, (BATCH, LENGTH), VOCABULARY) for tag in (5000, 5001))
    tokens[:, 0] = 1
    record(out, "lstm", Lstm(VOCABULARY, True, num_layers=2), lambda m: m(tokens), labels, curve=False)
    record(out, "lstm/classes", Lstm(CLASSES, False, bidirectional=True), lambda m: m(tokens),
           integers(5001, (BATCH,), CLASSES), gradient=False)


def image_models(out):
    labels = integers(5001, (BATCH,), CLASSES)

    def images(case, side, model, **options):
        x = counted(5000, (BATCH, side, side, 3)).permute(0, 3, 1, 2)
        record(out, case, model, lambda m: m(x), labels, **options)

    vision = timm.models.vision_transformer.VisionTransformer
    images("vit", 16, vision(img_size=16, patch_size=8, embed_dim=16, depth=2, num_heads=2, num_classes=CLASSES))
    images("convnext", 32, timm.models.convnext.ConvNeXt(num_classes=CLASSES, depths=(1, 1, 2, 1),
                                                         dims=(8, 12, 16, 20)))
    tiny = timm.models.efficientnet._gen_efficientnet("efficientnet_b0", channel_multiplier=0.25,
                                                      depth_multiplier=0.4, num_classes=CLASSES)
    images("efficientnet", 64, tiny, curve=False)
    images("mobilenet_v3_small", 32, timm.create_model("mobilenetv3_small_100", num_classes=CLASSES), gradient=False)
    images("unet", 10, UNet(2, 4, 2), curve=False)


class Pair(torch.nn.Module):
    """Two 3x3 convolutions, in an attribute of the usual name."""

    def __init__(self, inner, outer):
        super().__init__()
        units = [[torch.nn.Conv2d(n, outer, 3, padding=1, bias=False), torch.nn.BatchNorm2d(outer), torch.nn.ReLU()]
                 for n in (inner, outer)]
        self.double_conv = torch.nn.Sequential(*units[0], *units[1])

    def forward(self, x):
        return self.double_conv(x)


class Down(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.maxpool_conv = torch.nn.Sequential(torch.nn.MaxPool2d(2), Pair(width, 2 * width))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.conv = torch.nn.ConvTranspose2d(width, width // 2, 2, stride=2), Pair(width, width // 2)

    def forward(self, x, skipped):
        x = self.up(x)
        rows, columns = (a - b for a, b in zip(skipped.shape[2:], x.shape[2:]))
        x = torch.nn.functional.pad(x, (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2))
        return self.conv(torch.cat([skipped, x], 1))


class UNet(torch.nn.Module):
    """Logits of all pixels, [N, H W C]."""

    def __init__(self, channels, width, depth):
        super().__init__()
        self.depth, self.inc, self.outc = depth, Pair(3, width), torch.nn.Module()
        for i in range(depth):
            setattr(self, f"down{i + 1}", Down(width << i))
            setattr(self, f"up{i + 1}", Up(width << (depth - i)))
        self.outc.conv = torch.nn.Conv2d(width, channels, 1)

    def forward(self, x):
        path = [self.inc(x)]
        for i in range(self.depth):
            path.append(getattr(self, f"down{i + 1}")(path[-1]))
        x = path.pop()
        for i in range(self.depth):
            x = getattr(self, f"up{i + 1}")(x, path.pop())
        return self.outc.conv(x).permute(0, 2, 3, 1).flatten(1)


def published_names(out):
    """Names in files of transformers, where they differ: "name" in lines."""
    config = transformers.ConvNextConfig(num_labels=CLASSES, depths=[1, 1, 2, 1], hidden_sizes=[8, 12, 16, 20])
    names = transformers.ConvNextForImageClassification(config).state_dict()
    out["convnext/published"] = numpy.frombuffer("".join(f"{n}\n" for n in names).encode(), numpy.uint8)


def main():
    out = {}
    language_models(out)
    recurrent_models(out)
    image_models(out)
    published_names(out)
    versions = {m.__name__: m.__version__ for m in (torch, transformers, timm)}
    save_file({k: numpy.ascontiguousarray(v) for k, v in out.items()}, HERE / "models.safetensors", metadata=versions)


main()
