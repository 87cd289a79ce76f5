"""Times programs: each is a function that makes the calls of one pass."""

import json
import statistics
import time

import torch

WARM_UP = 3
LEAST, MOST = 9, 60
"""Passes that are timed, at least and at most."""
SECONDS = 1.5
"""How long passes of one program are timed, if that takes more than the fewest."""


def time_program(name, one_pass):
    """Times a program of the name that the scenario has for it, and prints a line of JSON."""
    for _ in range(WARM_UP):
        one_pass()
    torch.cuda.synchronize()
    passes = []
    began = time.perf_counter()
    while len(passes) < LEAST or (
        time.perf_counter() - began < SECONDS and len(passes) < MOST
    ):
        start = time.perf_counter_ns()
        one_pass()
        torch.cuda.synchronize()
        passes.append(time.perf_counter_ns() - start)
    line = {"program": name, "median_ns": statistics.median(passes), "passes_ns": passes}
    print(json.dumps(line), flush=True)


def pageable(*shape):
    """Memory of the host that has been used before."""
    return torch.rand(*shape)


def pinned(*shape):
    return pageable(*shape).pin_memory()


def on_gpu(*shape):
    return torch.rand(*shape, device="cuda")
