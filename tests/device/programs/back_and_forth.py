"""Two operations on 64 MiB, with the data back on the host between them or not."""

import torch
from timing import on_gpu, pageable, time_program

COUNT = 16_777_216
x, y, between = (pageable(COUNT) for _ in range(3))
a, b = on_gpu(COUNT), on_gpu(COUNT)


def back_and_forth():
    a.copy_(x)
    torch.mul(a, 2, out=b)
    between.copy_(b)
    a.copy_(between)
    torch.mul(a, 2, out=b)
    y.copy_(b)


def staying():
    a.copy_(x)
    torch.mul(a, 2, out=b)
    torch.mul(b, 2, out=a)
    y.copy_(a)


time_program("back and forth", back_and_forth)
time_program("staying", staying)
