# SPDX-License-Identifier: Apache-2.0
"""fit_step: trains a model of bench/models with `fulgurite fit` on random data, and returns what a step took.

`write_data` writes the data to a folder; `fit` runs the program there, because the paths of a configuration are
relative to it."""
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PRECISIONS = {"f32": "32-true", "bf16": "bf16-mixed"}
# name: shape of a sample, or the length of a sequence of tokens; classes or tokens; samples
DATA = {
    "mlp": ((784,), 10, 12800),
    "lenet": ((28, 28, 1), 10, 12800),
    "resnet18": ((32, 32, 3), 10, 1280),
    "resnet50": ((224, 224, 3), 1000, 64),
    "gpt": (256, 256, 48),
    "vit_tiny": ((224, 224, 3), 1000, 64),
    "gpt2": (256, 50257, 48),
}


def write_npy(path, shape, kind, data):
    """NumPy's format 1.0 (numpy.lib.format), so that the benchmarks need no packages."""
    header = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data)


def write_integers(path, values):
    write_npy(path, (len(values),), "<i4", b"".join(value.to_bytes(4, "little") for value in values))


def write_data(program, folder, name, least=0):
    """Random pixels and classes, or a pack of random tokens, of at least this number of samples. The last class and
    token occur."""
    numbers, (shape, classes, count) = random.Random(0), DATA[name]
    count = max(count, least)
    size = shape + 1 if isinstance(shape, int) else 1
    values = [numbers.randrange(classes) for _ in range(count * size - 1)] + [classes - 1]
    if isinstance(shape, int):
        write_integers(folder / "tokens.npy", values)
        run_json(program, "pack", folder / "tokens.npy", folder / "tokens.pack", f"--sequence={shape}", "--quiet")
        return
    write_npy(folder / "x.npy", (count, *shape), "|u1", numbers.randbytes(count * math.prod(shape)))
    write_integers(folder / "y.npy", values)


def run_json(*command, folder=None, environment=None):
    """Runs a program. Returns the JSON object on its last line, if any, its messages, and its peak memory in MB."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as messages:
        process = subprocess.Popen([str(part) for part in command], stdout=out, stderr=messages, cwd=folder,
                                   env={**os.environ, **(environment or {})})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), messages.seek(0)
        lines, text = out.read().strip().splitlines(), messages.read()
    if process.returncode != 0:
        last = (text.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{' '.join(process.args)}: exit status {process.returncode}: {last}")
    return json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}, text, usage.ru_maxrss / 1024


def fit(program, name, precision, steps, folder, cache, *settings, is_cold=True):
    """Trains with the data in `folder` and the compile cache in `cache`, whose programs are removed before a cold start.
    The time to the first step includes that from the start of the process to the program's first line, measured with
    --version, but not the check of the plugin before its first use."""
    if not cache.exists():
        cache.mkdir()
        fit(program, name, precision, 1, folder, cache, *settings)
    if is_cold:
        shutil.rmtree(cache / "fulgurite" / "programs", ignore_errors=True)
    begin = time.perf_counter()
    run_json(program, "--version")
    version_s = time.perf_counter() - begin
    _, text, rss_mb = run_json(
        program, "fit", HERE / "models" / f"{name}.yaml", "--overwrite", "--summary=summary.json",
        f"--trainer.precision={PRECISIONS[precision]}", f"--trainer.max_steps={steps + 1}", "--trainer.run_dir=run",
        "--trainer.ckpt_every_epochs=0", "--trainer.accelerator=cpu", *settings, folder=folder,
        environment={"XDG_CACHE_HOME": str(cache)})
    summary = json.loads((folder / "summary.json").read_text())
    times = json.loads((folder / "run" / "report.json").read_text())["step_time"]
    return {"step_ms": times["p50_s"] * 1e3, "p5_ms": times["p5_s"] * 1e3, "p95_ms": times["p95_s"] * 1e3,
            "rss_mb": rss_mb, "start_s": version_s + summary["time_to_first_step_s"],
            "compile_s": summary["compile_s"], "own_us": summary["host_overhead_us_per_step"],
            "plugin_us": summary["plugin_us_per_step"],
            "parameters": int(re.search(r"^(\d+) parameters in total", text, re.M)[1])}
