"""record.py - runs the files of tests/cts/test_onnx.c in ONNX Runtime, and records their hashes and outputs.

    python3 record.py TEST_ONNX    requires onnxruntime, onnx, numpy, safetensors; TEST_ONNX: build/tests/cts/test_onnx

Recorded with onnxruntime 1.32.0 and onnx 1.23.2, whose checker accepts the files.

SPDX-License-Identifier: Apache-2.0"""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from safetensors.numpy import save_file

OUT = pathlib.Path(__file__).resolve().parent / "operations.safetensors"
BATCH = 5


def run(path):
    """The outputs for BATCH samples by name, after checking that those of one sample are the same."""
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path)
    entry = session.get_inputs()[0]
    outputs = {}
    for length in (4, 7, 1) if "length" in entry.shape else ("",):
        shape = [BATCH if d == "batch" else length if d == "length" else d for d in entry.shape]
        x = ((numpy.arange(numpy.prod(shape)) * 7919 % 1024) / 512 - 1).astype(numpy.float32).reshape(shape)
        output = session.run(None, {entry.name: x})[0]
        one = session.run(None, {entry.name: x[:1]})[0]
        assert abs(one - output[:1]).max() < 1e-5, "the batch is of any size"
        outputs[f"{path.stem}/output_{length}".rstrip("_")] = output
        print(path.name, output.shape)
    return outputs


record = {}
with tempfile.TemporaryDirectory() as folder:
    if not OUT.exists():
        save_file({"empty": numpy.zeros(1, numpy.uint8)}, OUT)
    subprocess.run([sys.argv[1], "the_files_are_the_recorded_ones"], env={**os.environ, "FGT_ONNX": folder}, check=True)
    for path in sorted(pathlib.Path(folder).iterdir()):
        digits = hashlib.sha256(path.read_bytes()).hexdigest().encode()
        record[f"{path.name}/sha256"] = numpy.frombuffer(digits, numpy.uint8)
        if path.suffix == ".onnx":
            record |= run(path)

assert (record.pop("split/output") == record["loops/output"]).all(), "the tensors of the second file are read"
save_file(record, OUT)
