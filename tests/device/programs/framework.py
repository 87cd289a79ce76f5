"""Measures what PyTorch adds to each kind of call of the driver, on sizes that no program has.

Prints a line of JSON: nanoseconds of the host by kind of call. Copies are compared with the same
calls of the driver, made in the same minute; launches with the profile's, since PyTorch alone has
its kernels.
"""

import ctypes
import json
import statistics
import sys
import time
import tomllib

import torch

CALLS = 300
"""Calls in a row: fewer than the driver keeps before it makes the host wait."""
ROUNDS = 15
COUNT = 5_000
LONG = 300_000
"""Elements of a sum: PyTorch sums up so many by blocks that take memory to meet in."""

driver = ctypes.CDLL("libcuda.so.1")
COPY_IN, COPY_OUT = driver.cuMemcpyHtoDAsync_v2, driver.cuMemcpyDtoHAsync_v2
COPY_IN.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
COPY_OUT.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p]
WAIT = driver.cuStreamSynchronize
WAIT.argtypes = [ctypes.c_void_p]
VERSION = driver.cuDriverGetVersion


def host_time(call):
    """Nanoseconds of the host for each of many calls in a row."""
    rounds = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            call()
        rounds.append((time.perf_counter_ns() - start) / CALLS)
    return statistics.median(rounds[1:])


def copies(d):
    """What PyTorch adds to copies, by direction, memory and whether they are waited for."""
    version = ctypes.c_int()
    # A call that does nothing takes what Python takes to make one.
    nothing = host_time(lambda: VERSION(ctypes.byref(version)))
    found = {}
    for memory in ("pageable", "pinned"):
        x = torch.rand(COUNT)
        x = x.pin_memory() if memory == "pinned" else x
        there, here, size = d.data_ptr(), x.data_ptr(), 4 * COUNT
        ways = {
            "in": (lambda **how: d.copy_(x, **how), lambda: COPY_IN(there, here, size, None)),
            "out": (lambda **how: x.copy_(d, **how), lambda: COPY_OUT(here, there, size, None)),
        }
        for way, (by_torch, plainly) in ways.items():

            def waited():
                plainly()
                WAIT(None)

            added = host_time(by_torch) - (host_time(waited) - 2 * nothing)
            found[f"copy {way}, {memory}, waited for"] = added
            if memory == "pinned":
                added = host_time(lambda: by_torch(non_blocking=True))
                added -= host_time(plainly) - nothing
                found[f"copy {way}, {memory}"] = added
    return found


def main(profile):
    with open(profile, "rb") as file:
        calls = tomllib.load(file)["calls"]
    d, e, long = (torch.rand(count, device="cuda") for count in (COUNT, COUNT, LONG))
    one = torch.rand(1, device="cuda")
    m, n = (torch.rand(64, 64, device="cuda") for _ in range(2))
    launches = {
        "scale": (lambda: torch.mul(d, 2, out=e), "launch"),
        "sum": (lambda: torch.sum(long, dim=0, keepdim=True, out=one), "launch"),
        "matmul": (lambda: torch.mm(m, m, out=n), "launch_by_cublas"),
    }
    found = {"range": host_time(lambda: m[5])}
    for name, (call, in_profile) in launches.items():
        own = calls.get(in_profile, calls["launch"])["ns"]
        found[f"launch {name}"] = host_time(call) - own
    found.update(copies(d))
    found = {kind: round(max(0.0, added)) for kind, added in found.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
