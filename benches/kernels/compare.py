#!/usr/bin/env python3
"""Sets hallway's kernels beside those of PyTorch and CuPy, measured here and now.

    compare.py COMMAND...

COMMAND prints what `cargo bench --bench kernels` does. It is run before and behind the others'
libraries, for a host that is shared is not the same from one minute to the next: what counts is
the middle of both. Prints a table in Markdown.
"""

import csv
import statistics
import subprocess
import sys
import time

import cupy as cp
import torch

# What is asked: CPU twins within this of PyTorch's, kernels of CuPy's.
CPU, GPU = 1.25, 1.2


def main():
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    before = rows_of(command)
    others = []
    for row in before:
        seconds_of_row = torch_seconds if row["side"] == "cpu" else cupy_seconds
        others.append(seconds_of_row(row["kernel"], int(row["elements"]), int(row["extent"])))
    behind = rows_of(command)
    print("| side | kernel | elements | hallway | other | ratio | allowed | |")
    print("|---|---|--:|--:|--:|--:|--:|---|")
    for row, theirs, again in zip(before, others, behind, strict=True):
        ours = (float(row["seconds"]) + float(again["seconds"])) / 2
        allowed = CPU if row["side"] == "cpu" else GPU
        ratio = ours / theirs
        mark = "" if ratio <= allowed else "slower"
        print(f"| {row['side']} | {row['kernel']} | {int(row['elements']):,} | {pretty(ours)} "
              f"| {pretty(theirs)} | {ratio:.2f} | {allowed} | {mark} |")


def rows_of(command):
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    # Kept, whatever becomes of the rest.
    print(printed, end="", file=sys.stderr)
    return list(csv.DictReader(printed.splitlines()))


def pretty(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def torch_seconds(kernel, size, side):
    x, y, out = (torch.rand(size) for _ in range(3))
    result = torch.zeros(())
    square = [a[: side * side].view(side, side) for a in (x, y, out)] if side else None
    work = {
        "saxpy": lambda: torch.add(y, x, alpha=0.5, out=out),
        "sum": lambda: torch.sum(x, dim=0, out=result),
        "matmul": lambda: torch.matmul(square[0], square[1], out=square[2]),
    }[kernel]
    samples, start = [], time.perf_counter()
    while len(samples) < 5 or time.perf_counter() - start < 0.5:
        clock = time.perf_counter()
        work()
        samples.append(time.perf_counter() - clock)
    return statistics.median(samples)


BLACK_SCHOLES = cp.ElementwiseKernel(
    "float32 s, float32 k, float32 t", "float32 price",
    """float v = 0.2f * sqrtf(t), d = (logf(s / k) + 0.04f * t) / v;
       price = s * normcdff(d) - k * expf(-0.02f * t) * normcdff(d - v);""", "black_scholes")
SAXPY = cp.ElementwiseKernel("float32 a, float32 x, float32 y", "float32 z", "z = a * x + y", "axpy")


def cupy_seconds(kernel, size, extent):
    x, y, z, out = (cp.random.rand(size, dtype=cp.float32) for _ in range(4))
    total = cp.zeros((), dtype=cp.float32)
    options = (x + 1, y + 1, z + 1) if kernel == "black-scholes" else None
    grid = [a.reshape(-1, extent) for a in (x, y, out)] if extent else None
    work = {
        "scale": lambda: cp.multiply(x, cp.float32(0.5), out=out),
        "saxpy": lambda: SAXPY(cp.float32(0.5), x, y, out),
        "sum": lambda: cp.sum(x, out=total),
        "black-scholes": lambda: BLACK_SCHOLES(*options, out),
        "matmul": lambda: cp.matmul(grid[0], grid[1], out=grid[2]),
        "transpose": lambda: cp.ascontiguousarray(grid[0].T),
        "fft": lambda: cp.fft.fft(grid[0].view(cp.complex64), axis=1),
    }[kernel]
    return per_call(work, 20)


def per_call(work, repeats):
    """Device seconds of one of many calls that were queued up beforehand."""
    work()
    best = float("inf")
    start, end = cp.cuda.Event(), cp.cuda.Event()
    for _ in range(5):
        cp.cuda.Device().synchronize()
        start.record()
        for _ in range(repeats):
            work()
        end.record()
        end.synchronize()
        best = min(best, cp.cuda.get_elapsed_time(start, end) * 1e-3 / repeats)
    return best


if __name__ == "__main__":
    main()
