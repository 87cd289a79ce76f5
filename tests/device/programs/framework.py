"""Measures what PyTorch adds to a call of the driver, on sizes that no program has.

Prints a line of JSON with `overhead_ns`: the median, over kinds of calls, of the host's time for a
call by PyTorch, without that of the driver's call in the profile.
"""

import json
import statistics
import sys
import time
import tomllib

import torch

CALLS = 300
"""Calls in a row: fewer than the driver keeps before it makes the host wait."""
ROUNDS = 15


def host_time(call):
    """Nanoseconds of the host for each of many calls in a row."""
    rounds = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            call()
        rounds.append((time.perf_counter_ns() - start) / CALLS)
    return statistics.median(rounds)


def main(profile):
    with open(profile, "rb") as file:
        calls = tomllib.load(file)["calls"]
    d, e, one = (torch.rand(count, device="cuda") for count in (5_000, 5_000, 1))
    m, n = (torch.rand(64, 64, device="cuda") for _ in range(2))
    x, y = (torch.rand(5_000).pin_memory() for _ in range(2))
    kinds = {
        "mul": (lambda: torch.mul(d, 2, out=e), "launch"),
        "sum": (lambda: torch.sum(d, dim=0, keepdim=True, out=one), "launch"),
        "mm": (lambda: torch.mm(m, m, out=n), "launch_by_cublas"),
        "copy in": (lambda: d.copy_(x, non_blocking=True), "copy_in"),
        "copy out": (lambda: y.copy_(d, non_blocking=True), "copy_out"),
    }
    found = {}
    for name, (call, in_profile) in kinds.items():
        host_time(call)
        driver = calls.get(in_profile, calls["launch"])["ns"]
        found[name] = max(0.0, host_time(call) - driver)
    print(json.dumps({"overhead_ns": statistics.median(found.values()), "by_call_ns": found}))


if __name__ == "__main__":
    main(sys.argv[1])
