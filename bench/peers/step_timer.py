"""What *_step.py share: they time a training step on data in memory, and print one JSON object."""
import importlib.metadata
import json
import os
import resource
import statistics
import time

THREADS = len(os.sched_getaffinity(0))


def since_start():
    """Seconds since this process was started."""
    with open("/proc/self/stat", encoding="utf-8") as file:
        ticks = int(file.read().rsplit(")", 1)[1].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def measure(step, steps):
    """Calls step(i), which ends when its result is in memory, 1 + steps times. Returns the times but the first, and
    the time from the start of the process to the end of the first."""
    times, first = [], None
    for i in range(steps + 1):
        begin = time.perf_counter()
        step(i)
        times.append(time.perf_counter() - begin)
        first = first or since_start()
    return times[1:], first


def report(times, start_s, parameters, *packages):
    """Prints the times in the units of bench/fit_step.py."""
    ordered = sorted(times)
    at = lambda fraction: ordered[round(fraction * (len(ordered) - 1))] * 1e3
    print(json.dumps({
        "step_ms": statistics.median(times) * 1e3, "p5_ms": at(0.05), "p95_ms": at(0.95), "start_s": start_s,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "parameters": parameters,
        "versions": {name: importlib.metadata.version(name) for name in packages}}))
