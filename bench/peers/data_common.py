"""What the scripts data_*.py share: they print one JSON object for each case, with images per second of wall time and of
CPU time (of the process and its children), and the cores that other processes used meanwhile.

usage of each script: data_X.py FOLDER SECONDS [CASE...]
FOLDER has small/ and large/ with JPEG files in folders by class, and raw256.tar. Two threads or processes work.
"""
import json
import os
import pathlib
import sys
import time

MEAN, STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]  # of ImageNet, for pixels from 0 to 255
TICKS = os.sysconf("SC_CLK_TCK")
FOLDER, SECONDS, WANTED = pathlib.Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]


def files(kind):
    return sorted(str(path) for path in (FOLDER / kind).glob("*/*.jpg"))


def tree_cpu_s(pid="self"):
    """CPU time of a process and its descendants, the ended ones that were waited for included."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        total = sum(int(ticks) for ticks in stat[11:15]) / TICKS
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            total += sum(tree_cpu_s(child) for child in (task / "children").read_text(encoding="utf-8").split())
        return total
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def busy_cpu_s():
    """CPU time of all processes of this machine."""
    with open("/proc/stat", encoding="utf-8") as file:
        ticks = [int(word) for word in file.readline().split()[1:]]
    return (sum(ticks[:8]) - ticks[3] - ticks[4]) / TICKS


def measure(case, info, start, count):
    """start() returns an endless iterator of batches, count(batch) the number of images. Warms up for a third of the
    time, at least three batches."""
    if WANTED and case not in WANTED:
        return
    begin = time.monotonic()
    try:
        batches = start()
        next(batches)
        first_s = time.monotonic() - begin
        begin, taken = time.monotonic(), 1
        while taken < 3 or time.monotonic() - begin < SECONDS / 3:
            next(batches)
            taken += 1
        begin, cpu, busy, images = time.monotonic(), tree_cpu_s(), busy_cpu_s(), 0
        while time.monotonic() - begin < SECONDS:
            images += count(next(batches))
        wall, cpu, busy = time.monotonic() - begin, tree_cpu_s() - cpu, busy_cpu_s() - busy
    except Exception as error:  # one case that a version does not support must not end the others
        print(json.dumps({"case": case, "info": info, "error": repr(error)[:300]}), flush=True)
        return
    print(json.dumps({"case": case, "info": info, "rate": images / wall, "cpu_rate": images / max(cpu, 1e-3),
                      "others": max(0, busy - cpu) / wall, "first_s": first_s}), flush=True)


def versions(**names):
    print(json.dumps({"versions": names}), flush=True)
