"""Sends the same 100 MB to the GPU ten times and doubles them there."""

import torch
from timing import on_gpu, pageable, pinned, time_program

COUNT = 25_000_000
d, doubled = on_gpu(COUNT), on_gpu(COUNT)
x, y = pageable(COUNT), pageable(COUNT)
xp, yp = pinned(COUNT), pinned(COUNT)


def ten_times(x, y):
    for _ in range(10):
        d.copy_(x)
        torch.mul(d, 2, out=doubled)
        y.copy_(doubled)


def sent_once():
    d.copy_(x)
    for _ in range(10):
        torch.mul(d, 2, out=doubled)
        y.copy_(doubled)


def sent_and_fetched_once():
    d.copy_(x)
    for _ in range(10):
        torch.mul(d, 2, out=doubled)
    y.copy_(doubled)


stream = torch.cuda.Stream()


def on_a_stream():
    with torch.cuda.stream(stream):
        for _ in range(10):
            d.copy_(xp, non_blocking=True)
            torch.mul(d, 2, out=doubled)
            yp.copy_(doubled, non_blocking=True)
    stream.synchronize()


time_program("sent ten times", lambda: ten_times(x, y))
time_program("sent once", sent_once)
time_program("sent and fetched once", sent_and_fetched_once)
time_program("pinned, ten times", lambda: ten_times(xp, yp))
time_program("pinned, on a stream, ten times", on_a_stream)
