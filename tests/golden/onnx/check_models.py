"""check_models.py - compares exported models in ONNX Runtime with the recorded logits of transformers and timm.

    python3 check_models.py TEST_NN_MODELS    requires onnx, onnxruntime, numpy, safetensors; build/tests/cts/test_nn_models

Prints the largest differences. Recorded with onnxruntime 1.32.0: all are below 3e-6.

SPDX-License-Identifier: Apache-2.0"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from safetensors.numpy import load_file

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "nn"))
from counted import uniform, words

SEED, BATCH, LENGTH, VOCABULARY = 11, 4, 6, 11
record = load_file(HERE.parent / "nn" / "models.safetensors")


def batch(shape):
    """The batch of record_models.py: tokens [N, T], or images [N, C, H, W]."""
    count = int(numpy.prod(shape))
    if len(shape) == 2:
        tokens = (words(SEED, 5000, count) % VOCABULARY).astype(numpy.int32).reshape(shape)
        tokens[:, 0] = 1
        return tokens
    n, c, h, w = shape
    return (2 * uniform(SEED, 5000, count) - 1).reshape(n, h, w, c).transpose(0, 3, 1, 2)


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1]], env={**os.environ, "FGT_ONNX": folder}, check=True, capture_output=True)
    for path in sorted(pathlib.Path(folder).glob("*.onnx")):
        onnx.checker.check_model(onnx.load(path), full_check=True)
        session = onnxruntime.InferenceSession(path)
        entry = session.get_inputs()[0]
        x = batch([BATCH if d == "batch" else LENGTH if d == "length" else d for d in entry.shape])
        expected = record[f"{path.stem.replace('-', '/')}/logits"]
        for rows in (BATCH, 1):
            logits = session.run(None, {entry.name: x[:rows]})[0]
            print(f"{path.stem}, {rows} rows: {abs(logits - expected[:rows]).max():.1e}")
        if path.stem in ("gpt2", "llama", "lstm"):  # of each prefix, they are those of the whole
            for length in range(1, LENGTH):
                logits = session.run(None, {entry.name: x[:, :length]})[0]
                print(f"{path.stem}, {length} tokens: {abs(logits - expected[:, :length]).max():.1e}")
