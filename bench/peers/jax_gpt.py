"""A GPT with 6 layers, width 384, 6 heads, 256 tokens, a vocabulary of 256, batch size 12, AdamW, as one jitted
JAX step with donation on data that is already on the device: the bare step, without a loader; or with GPT-2's
sizes and batch size 2 (124M). Prints one JSON object; start_s is the time from the first line of this script to the
end of the first step.

usage: jax_gpt.py STEPS [f32|bf16 [124M]]     requires: jax optax
bf16: matmuls compute in bf16, parameters, norms, attention scores, softmax and loss are f32.
"""
import time

BEGIN = time.perf_counter()
import json
import resource
import statistics
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

LENGTH = 256
LAYERS, WIDTH, HEADS, VOCABULARY, BATCH = (12, 768, 12, 50257, 2) if sys.argv[3:4] == ["124M"] else (6, 384, 6, 256, 12)
DTYPE = jnp.bfloat16 if sys.argv[2:3] == ["bf16"] else jnp.float32


def init():
    rng = np.random.default_rng(0)
    normal = lambda *shape: jnp.asarray(rng.standard_normal(shape, dtype=np.float32) * 0.02)
    linear = lambda i, o: {"w": normal(i, o), "b": jnp.zeros(o)}
    norm = lambda: {"w": jnp.ones(WIDTH), "b": jnp.zeros(WIDTH)}
    block = lambda: {"ln1": norm(), "qkv": linear(WIDTH, 3 * WIDTH), "proj": linear(WIDTH, WIDTH), "ln2": norm(),
                     "up": linear(WIDTH, 4 * WIDTH), "down": linear(4 * WIDTH, WIDTH)}
    return {"wte": normal(VOCABULARY, WIDTH), "wpe": normal(LENGTH, WIDTH), "norm": norm(),
            "blocks": [block() for _ in range(LAYERS)]}


def linear(p, x):
    return x.astype(DTYPE) @ p["w"].astype(DTYPE) + p["b"].astype(DTYPE)


def norm(p, x):
    x = x.astype(jnp.float32)
    mean = x.mean(-1, keepdims=True)
    var = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p["w"] + p["b"]


def attention(p, x):
    q, k, v = jnp.split(linear(p["qkv"], x), 3, -1)
    q, k, v = (a.reshape(-1, LENGTH, HEADS, WIDTH // HEADS) for a in (q, k, v))
    scores = jnp.einsum("bthd,bshd->bhts", q, k, preferred_element_type=jnp.float32) / np.sqrt(WIDTH // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -jnp.inf)
    y = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores, -1).astype(DTYPE), v)
    return linear(p["proj"], y.reshape(x.shape))


def loss_of(params, x, y):
    h = params["wte"][x] + params["wpe"]
    for p in params["blocks"]:
        h = h + attention(p, norm(p["ln1"], h))
        h = h + linear(p["down"], jax.nn.gelu(linear(p["up"], norm(p["ln2"], h)), approximate=True))
    logits = norm(params["norm"], h).astype(DTYPE) @ params["wte"].astype(DTYPE).T
    return optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), y).mean()


def main():
    steps = int(sys.argv[1])
    optimizer = optax.adamw(3e-4, weight_decay=0.01)
    params = init()
    state = optimizer.init(params)
    tokens = np.random.default_rng(1).integers(0, VOCABULARY, (BATCH, LENGTH + 1))
    x, y = jnp.asarray(tokens[:, :-1]), jnp.asarray(tokens[:, 1:])

    def step(params, state, x, y):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    step = jax.jit(step, donate_argnums=(0, 1))
    times, start = [], None
    for _ in range(steps + 1):
        t = time.perf_counter()
        params, state, loss = step(params, state, x, y)
        loss.block_until_ready()
        times.append(time.perf_counter() - t)
        start = start or time.perf_counter() - BEGIN
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"step_ms": statistics.median(times[1:]) * 1e3, "rss_mb": rss, "start_s": start}))


if __name__ == "__main__":
    main()
