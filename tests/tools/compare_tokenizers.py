#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_tokenizers: encodes and decodes every line of a text with bench/tokenizer_bench.c and with Hugging Face's
tokenizers, and reports the lines that differ.

usage: compare_tokenizers.py PROGRAM TEXT FOLDER [NAME...]

FOLDER receives a tokenizer.json for each configuration below, trained on a part of TEXT unless it exists
already; further ones may be there. Requires the package tokenizers."""
import os
import subprocess
import sys
import time

import numpy as np
from tokenizers import Tokenizer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/tokenizer"))
import record  # noqa: E402

def ours(program, tokenizer, text, out):
    print(subprocess.run([program, tokenizer, text, out], check=True, capture_output=True, text=True).stdout, end="")
    data, at = np.fromfile(out, np.uint8), 0
    while at < len(data):
        count = int(data[at:at + 4].view(np.int32)[0])
        ids = data[at + 4:at + 4 + 4 * count].copy().view(np.int32)
        at += 4 + 4 * count
        size = int(data[at:at + 4].copy().view(np.int32)[0])
        yield ids.tolist(), data[at + 4:at + 4 + size].tobytes().decode()
        at += 4 + size


def compare(program, text, tokenizer):
    reference = Tokenizer.from_file(tokenizer)
    wrong, lines = 0, open(text, encoding="utf-8", newline="\n")
    for number, (line, (ids, decoded)) in enumerate(zip(lines, ours(program, tokenizer, text, tokenizer + ".out")), 1):
        line = line.removesuffix("\n")
        expected = reference.encode(line).ids
        same = ids == expected
        if same and decoded == reference.decode(expected, skip_special_tokens=False):
            continue
        wrong += 1
        if wrong <= 5:
            print(f"{tokenizer}: line {number}: {line!r}\n  expected {expected}\n  got      {ids} {decoded!r}")
    os.remove(tokenizer + ".out")
    print(f"{tokenizer}: {number} lines, {wrong} differ")
    return wrong


def speed(text, tokenizer):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    reference, whole = Tokenizer.from_file(tokenizer), open(text, encoding="utf-8", newline="\n").read()
    start = time.process_time()
    reference.encode(whole)
    print(f"{tokenizer}: reference {len(whole.encode()) / 1e6 / (time.process_time() - start):.2f} MB/s")


def main():
    program, text, folder, *names = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    wrong = 0
    record.SIZE = 8000
    for name in names or record.CONFIGURATIONS:
        path = f"{folder}/{name}.json"
        if not os.path.exists(path):
            with open(text, encoding="utf-8", newline="\n") as lines:
                record.CONFIGURATIONS[name]([line for _, line in zip(range(60000), lines)]).save(path)
        wrong += compare(program, text, path)
        speed(text, path)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
