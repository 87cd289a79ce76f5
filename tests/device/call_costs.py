"""What a call costs the host, by kind: alone, or under PyTorch's profiler. Prints microseconds a call.

python3 call_costs.py alone|profiler
"""
import statistics
import sys
import time

import torch

COUNT, ROUNDS = 200, 7
x = torch.zeros(1000, device="cuda")
host, back = torch.zeros(16).pin_memory(), torch.zeros(16).pin_memory()
few = torch.zeros(16, device="cuda")
event, stream = torch.cuda.Event(), torch.cuda.Stream()
main = torch.cuda.current_stream()

KINDS = {
    "kernel launch": lambda: x.add_(1),
    "copy of 64 bytes to the GPU, asynchronous": lambda: few.copy_(host, non_blocking=True),
    "copy of 64 bytes to the host, waited for": lambda: back.copy_(few),
    "event record": lambda: event.record(main),
    "wait of a stream for an event": lambda: stream.wait_event(event),
    "wait for a stream that is done": lambda: stream.synchronize(),
}


def measure():
    times = {kind: [] for kind in KINDS}
    for _ in range(ROUNDS):
        for kind, call in KINDS.items():
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(COUNT):
                call()
            times[kind].append((time.perf_counter() - begin) / COUNT * 1e6)
            torch.cuda.synchronize()
    return {kind: statistics.median(one) for kind, one in times.items()}


measure()
if sys.argv[1] == "profiler":
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
        found = measure()
else:
    found = measure()
for kind, micros in found.items():
    print(f"COST\t{kind}\t{micros:.2f}")
