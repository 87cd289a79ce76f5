"""A loop of 100 round trips of 8 MB."""

import torch
from timing import on_gpu, pageable, pinned, time_program

ROWS, COUNT = 100, 2_000_000
into, out = [on_gpu(COUNT) for _ in range(2)], [on_gpu(COUNT) for _ in range(2)]
x, y = pageable(ROWS, COUNT), pageable(ROWS, COUNT)


def blocking(x, y):
    for i in range(ROWS):
        into[0].copy_(x[i])
        torch.mul(into[0], 2, out=out[0])
        y[i].copy_(out[0])


streams = [torch.cuda.Stream() for _ in range(2)]


def two_streams():
    for i in range(ROWS):
        with torch.cuda.stream(streams[i % 2]):
            into[i % 2].copy_(x[i], non_blocking=True)
            torch.mul(into[i % 2], 2, out=out[i % 2])
            y[i].copy_(out[i % 2], non_blocking=True)
    for stream in streams:
        stream.synchronize()


time_program("blocking", lambda: blocking(x, y))
x, y = x.pin_memory(), y.pin_memory()
time_program("blocking, pinned", lambda: blocking(x, y))
time_program("two streams, pinned", two_streams)
