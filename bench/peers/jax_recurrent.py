"""jax_recurrent [lstm|gru [REPEATS]]: the gradient of an LSTM or a GRU over 200 time steps with jax.lax.scan, as in
bench/recurrent_bench.c; prints one line of JSON."""
import json
import statistics
import sys
import time

import jax
import jax.numpy as jnp

STEPS, BATCH, INPUTS, HIDDEN = 200, 32, 64, 128
KIND = sys.argv[1] if len(sys.argv) > 1 else "lstm"
REPEATS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
GATES = 4 if KIND == "lstm" else 3


def lstm(carry, x, u):
    h, c = carry
    i, f, g, o = jnp.split(x + h @ u, 4, axis=1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def gru(carry, x, u):
    (h,) = carry
    xr, xz, xn = jnp.split(x, 3, axis=1)
    hr, hz, hn = jnp.split(h @ u, 3, axis=1)
    n = jnp.tanh(xn + jax.nn.sigmoid(xr + hr) * hn)
    h = n + jax.nn.sigmoid(xz + hz) * (h - n)
    return (h,), h


def loss(weights, x):
    w, u = weights
    zero = jnp.zeros((BATCH, HIDDEN))
    body = lstm if KIND == "lstm" else gru
    _, y = jax.lax.scan(lambda carry, row: body(carry, row, u), (zero,) * (GATES - 2), x @ w)
    return jnp.mean(jnp.square(y))


def wave(*shape):
    return 0.002 * (jnp.arange(jnp.prod(jnp.array(shape))) * 37 % 101 - 50).astype(jnp.float32).reshape(shape)


def main():
    x, w, u = wave(STEPS, BATCH, INPUTS), wave(INPUTS, GATES * HIDDEN), wave(HIDDEN, GATES * HIDDEN)
    step = jax.jit(jax.grad(loss))
    times = []
    for _ in range(REPEATS + 1):
        begin = time.perf_counter()
        jax.block_until_ready(step((w, u), x))
        times.append(1e3 * (time.perf_counter() - begin))
    median = statistics.median(times[1:])
    print(json.dumps({"compile_ms": round(times[0] - median, 1), "step_ms": round(median, 3)}))


main()
