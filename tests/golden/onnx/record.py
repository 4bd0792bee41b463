"""record.py - runs the file of tests/cts/test_onnx.c in ONNX Runtime, and records its hash and output.

    python3 record.py TEST_ONNX    requires onnxruntime, onnx, numpy, safetensors; TEST_ONNX: build/tests/cts/test_onnx

Recorded with onnxruntime 1.32.0 and onnx 1.23.2, whose checker accepts the file.

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

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "operations.onnx"
    if not OUT.exists():
        save_file({"sha256": numpy.zeros(64, numpy.uint8)}, OUT)
    subprocess.run([sys.argv[1], "the_file_is_the_recorded_one"], env={**os.environ, "FGT_ONNX": str(path)}, check=True)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path)
    shape = (3, *session.get_inputs()[0].shape[1:])
    x = ((numpy.arange(numpy.prod(shape)) * 7919 % 1024) / 512 - 1).astype(numpy.float32).reshape(shape)
    output = session.run(None, {session.get_inputs()[0].name: x})[0]
    one = session.run(None, {session.get_inputs()[0].name: x[:1]})[0]
    assert abs(one - output[:1]).max() < 1e-5, "the batch is of any size"
    digits = numpy.frombuffer(hashlib.sha256(path.read_bytes()).hexdigest().encode(), numpy.uint8)
    save_file({"sha256": digits, "output": output}, OUT)
    print(output.shape)
