"""16 batches of 32 MiB, each for four products one after the other."""

import torch
from timing import on_gpu, pageable, time_program

BATCHES, ROWS, INNER = 16, 2048, 4096
batches, result = pageable(BATCHES, ROWS, INNER), pageable(ROWS, INNER)
weights = on_gpu(INNER, INNER)
into = [on_gpu(ROWS, INNER) for _ in range(2)]
one, two = on_gpu(ROWS, INNER), on_gpu(ROWS, INNER)


def layers(batch, has_read=None):
    torch.mm(batch, weights, out=one)
    if has_read is not None:
        has_read.record()
    torch.mm(one, weights, out=two)
    torch.mm(two, weights, out=one)
    torch.mm(one, weights, out=two)


def in_turn():
    for i in range(BATCHES):
        into[0].copy_(batches[i])
        layers(into[0])
    result.copy_(two)


compute, copies = torch.cuda.Stream(), torch.cuda.Stream()
free = [torch.cuda.Event() for _ in range(2)]
there = [torch.cuda.Event() for _ in range(2)]


def prefetched():
    for event in free:
        event.record(compute)
    for i in range(BATCHES):
        with torch.cuda.stream(copies):
            copies.wait_event(free[i % 2])
            into[i % 2].copy_(batches[i], non_blocking=True)
            there[i % 2].record(copies)
        with torch.cuda.stream(compute):
            compute.wait_event(there[i % 2])
            layers(into[i % 2], free[i % 2])
    with torch.cuda.stream(compute):
        result.copy_(two, non_blocking=True)
    compute.synchronize()
    copies.synchronize()


time_program("pageable", in_turn)
batches = batches.pin_memory()
time_program("pinned", in_turn)
time_program("pinned, prefetched", prefetched)
