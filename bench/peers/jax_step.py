"""A training step of a model in JAX, jitted with donation, on data that are already on the device: the bare step,
without a loader. Prints one JSON object.

usage: jax_step.py MODEL PRECISION STEPS [DEVICES]     requires: jax optax
MODEL: mlp, lenet, resnet18, resnet50, gpt, vit_tiny, or gpt2 (GPT-2 with 124 M parameters, batch size 2)
PRECISION: f32, or bf16: matmuls and convolutions compute in bf16; parameters, statistics of norms, attention scores,
softmax and loss are f32
DEVICES: virtual CPU devices, which share the batch [1]
"""
import functools
import os
import sys

if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"] = "cpu"
    if sys.argv[4:]:
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={sys.argv[4]}"

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from step_timer import measure, report

LENGTH = 256  # tokens of a sequence


class Net:
    """Gives a model its parameters and running statistics, in the order in which it takes them. Without values, it
    records their shapes and initial values: a standard deviation, or "ones" or "zeros"."""

    def __init__(self, dtype, params=None, stats=None):
        self.dtype, self.is_init = dtype, params is None
        self.params, self.stats = iter(params or []), iter(stats or [])
        self.shapes, self.stat_shapes, self.new_stats = [], [], []

    def param(self, init, *shape):
        self.shapes.append((shape, init))
        return jnp.zeros(shape) if self.is_init else next(self.params)

    def statistic(self, init, size):
        self.stat_shapes.append(((size,), init))
        return jnp.zeros(size) if self.is_init else next(self.stats)


def dense(net, x, width, std=None):
    w, b = net.param(std or (1 / x.shape[-1]) ** 0.5, x.shape[-1], width), net.param("zeros", width)
    return x.astype(net.dtype) @ w.astype(net.dtype) + b.astype(net.dtype)


def conv(net, x, width, size, stride=1, pad=None):
    w = net.param((2 / (size * size * x.shape[-1])) ** 0.5, size, size, x.shape[-1], width)
    pad = size // 2 if pad is None else pad
    return jax.lax.conv_general_dilated(x.astype(net.dtype), w.astype(net.dtype), (stride, stride), [(pad, pad)] * 2,
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))


def bias(net, x):
    return x + net.param("zeros", x.shape[-1]).astype(net.dtype)


def max_pool(x, size, stride, pad=0):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, size, size, 1), (1, stride, stride, 1),
                                 ((0, 0), (pad, pad), (pad, pad), (0, 0)))


def batch_norm(net, x):
    scale, shift = net.param("ones", x.shape[-1]), net.param("zeros", x.shape[-1])
    wide = x.astype(jnp.float32)
    mean = wide.mean((0, 1, 2))
    var = jnp.maximum(jnp.square(wide).mean((0, 1, 2)) - jnp.square(mean), 0)
    for init, value in (("zeros", mean), ("ones", var)):
        net.new_stats.append(0.9 * net.statistic(init, x.shape[-1]) + 0.1 * value)
    return ((wide - mean) * (jax.lax.rsqrt(var + 1e-5) * scale) + shift).astype(net.dtype)


def layer_norm(net, x, eps):
    scale, shift = net.param("ones", x.shape[-1]), net.param("zeros", x.shape[-1])
    x = x.astype(jnp.float32)
    mean = x.mean(-1, keepdims=True)
    var = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + eps) * scale + shift


def attention(net, x, heads, is_causal):
    batch, length, width = x.shape
    q, k, v = jnp.split(dense(net, x, 3 * width, 0.02), 3, -1)
    q, k, v = (a.reshape(batch, length, heads, width // heads) for a in (q, k, v))
    scores = jnp.einsum("bthd,bshd->bhts", q, k, preferred_element_type=jnp.float32) / np.sqrt(width // heads)
    if is_causal:
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    y = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores, -1).astype(net.dtype), v)
    return dense(net, y.reshape(x.shape), width, 0.02)


def transformer(net, h, layers, heads, is_causal, eps):
    for _ in range(layers):
        h = h + attention(net, layer_norm(net, h, eps), heads, is_causal)
        up = dense(net, layer_norm(net, h, eps), 4 * h.shape[-1], 0.02)
        h = h + dense(net, jax.nn.gelu(up, approximate=is_causal), h.shape[-1], 0.02)
    return layer_norm(net, h, eps)


def mlp(net, x):
    for width in (512, 512):
        x = jax.nn.relu(dense(net, x, width))
    return dense(net, x, 10)


def lenet(net, x):
    for width, pad in ((6, 2), (16, 0)):
        x = max_pool(jax.nn.relu(bias(net, conv(net, x, width, 5, pad=pad))), 2, 2)
    x = x.reshape(x.shape[0], -1)
    for width in (120, 84):
        x = jax.nn.relu(dense(net, x, width))
    return dense(net, x, 10)


def residual(net, x, width, stride, is_bottleneck):
    layers = ((width, 1, 1), (width, 3, stride), (4 * width, 1, 1)) if is_bottleneck else \
        ((width, 3, stride), (width, 3, 1))
    y = x
    for i, (channels, size, step) in enumerate(layers):
        y = batch_norm(net, conv(net, y if i == 0 else jax.nn.relu(y), channels, size, step))
    if x.shape != y.shape:
        x = batch_norm(net, conv(net, x, y.shape[-1], 1, stride))
    return jax.nn.relu(x + y)


def resnet(net, x, blocks, is_bottleneck, classes):
    if is_bottleneck:
        x = max_pool(jax.nn.relu(batch_norm(net, conv(net, x, 64, 7, 2))), 3, 2, 1)
    else:
        x = jax.nn.relu(batch_norm(net, conv(net, x, 64, 3)))
    for stage, count in enumerate(blocks):
        for block in range(count):
            x = residual(net, x, 64 << stage, 2 if stage > 0 and block == 0 else 1, is_bottleneck)
    return dense(net, x.astype(jnp.float32).mean((1, 2)), classes)


def gpt(net, x, layers, width, heads, vocabulary):
    tokens, places = net.param(0.02, vocabulary, width), net.param(0.02, LENGTH, width)
    h = transformer(net, tokens[x] + places, layers, heads, True, 1e-5)
    return h.astype(net.dtype) @ tokens.astype(net.dtype).T


def vit_tiny(net, x):
    x = bias(net, conv(net, x, 192, 16, 16, 0)).reshape(x.shape[0], -1, 192)
    first = jnp.broadcast_to(net.param(0.02, 192).astype(net.dtype), (x.shape[0], 1, 192))
    h = jnp.concatenate([first, x], 1) + net.param(0.02, 197, 192)
    return dense(net, transformer(net, h, 12, 3, False, 1e-6)[:, 0], 1000, 0.02)


ADAM = optax.adam(1e-3)
SGD = optax.chain(optax.add_decayed_weights(5e-4), optax.sgd(0.1, 0.9))
ADAMW = optax.adamw(1e-3, weight_decay=0.01)
SMALL = functools.partial(gpt, layers=6, width=384, heads=6, vocabulary=256)
LARGE = functools.partial(gpt, layers=12, width=768, heads=12, vocabulary=50257)
# function, shape of a sample, batch size, classes, batches, optimizer
MODELS = {
    "mlp": (mlp, (784,), 128, 10, 8, ADAM),
    "lenet": (lenet, (28, 28, 1), 128, 10, 8, ADAM),
    "resnet18": (functools.partial(resnet, blocks=(2, 2, 2, 2), is_bottleneck=False, classes=10), (32, 32, 3), 128, 10,
                 1, SGD),
    "resnet50": (functools.partial(resnet, blocks=(3, 4, 6, 3), is_bottleneck=True, classes=1000), (224, 224, 3), 16,
                 1000, 1, SGD),
    "gpt": (SMALL, (LENGTH,), 12, 256, 1, ADAMW),
    "gpt2": (LARGE, (LENGTH,), 2, 50257, 1, ADAMW),
    "vit_tiny": (vit_tiny, (224, 224, 3), 16, 1000, 1, ADAMW),
}


def make_data(name):
    _, shape, batch, classes, batches, _ = MODELS[name]
    numbers = np.random.default_rng(0)
    for _ in range(batches):
        if name.startswith("gpt"):
            tokens = numbers.integers(0, classes, (batch, LENGTH + 1))
            yield jnp.asarray(tokens[:, :-1]), jnp.asarray(tokens[:, 1:])
        else:
            yield (jnp.asarray(numbers.standard_normal((batch, *shape), dtype=np.float32)),
                   jnp.asarray(numbers.integers(0, classes, batch)))


def make_values(shapes):
    numbers = np.random.default_rng(0)
    fixed = {"ones": np.ones, "zeros": np.zeros}
    return [fixed[init](shape, np.float32) if init in fixed
            else numbers.standard_normal(shape, dtype=np.float32) * np.float32(init) for shape, init in shapes]


def init(name, x):
    """Parameters and running statistics of a model for a batch x."""
    net = Net(jnp.float32)
    jax.eval_shape(functools.partial(MODELS[name][0], net), x)
    return make_values(net.shapes), make_values(net.stat_shapes)


def loss_of(name, dtype, params, stats, x, y):
    net = Net(dtype, params, stats)
    logits = MODELS[name][0](net, x).astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), net.new_stats


def make_step(name, dtype):
    optimizer = MODELS[name][5]

    def step(params, stats, state, x, y):
        (loss, stats), grads = jax.value_and_grad(functools.partial(loss_of, name, dtype), has_aux=True)(
            params, stats, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), stats, state, loss

    return jax.jit(step, donate_argnums=(0, 1, 2))


def main():
    name, precision, steps = *sys.argv[1:3], int(sys.argv[3])
    data = list(make_data(name))
    params, stats = init(name, data[0][0])
    count = sum(value.size for value in params)
    params, stats = jax.device_put((params, stats))
    values = params, stats, jax.jit(MODELS[name][5].init)(params)
    if sys.argv[4:]:
        mesh = Mesh(np.array(jax.devices()), ("data",))
        data = jax.device_put(data, NamedSharding(mesh, PartitionSpec("data")))
        values = jax.device_put(values, NamedSharding(mesh, PartitionSpec()))
    compiled = make_step(name, jnp.bfloat16 if precision == "bf16" else jnp.float32)

    def step(i):
        nonlocal values
        *values, loss = compiled(*values, *data[i % len(data)])
        loss.block_until_ready()

    times, start_s = measure(step, steps)
    report(times, start_s, count, "jax")


if __name__ == "__main__":
    main()
