"""400 arrays of 64 KiB, sent one by one or in one copy of all."""

import torch
from timing import on_gpu, pageable, time_program

ARRAYS, COUNT = 400, 16_384
arrays, total = pageable(ARRAYS, COUNT), pageable(1)
there, result = on_gpu(ARRAYS, COUNT), on_gpu(1)


def summed():
    torch.sum(there.view(-1), dim=0, keepdim=True, out=result)


def one_by_one():
    for i in range(ARRAYS):
        there[i].copy_(arrays[i])
    summed()
    total.copy_(result)


def all_at_once():
    there.copy_(arrays)
    summed()
    total.copy_(result)


stream = torch.cuda.Stream()


def on_a_stream():
    with torch.cuda.stream(stream):
        for i in range(ARRAYS):
            there[i].copy_(arrays[i], non_blocking=True)
        summed()
        total.copy_(result, non_blocking=True)
    stream.synchronize()


time_program("one by one", one_by_one)
time_program("all at once", all_at_once)
arrays, total = arrays.pin_memory(), total.pin_memory()
time_program("one by one, pinned, on a stream", on_a_stream)
time_program("all at once, pinned", all_at_once)
