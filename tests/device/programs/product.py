"""A product of two 10,000 x 10,000 matrices that live on the host."""

import torch
from timing import on_gpu, pageable, time_program

SIDE = 10_000
there = [on_gpu(SIDE, SIDE) for _ in range(3)]
a, b, c = (pageable(SIDE, SIDE) for _ in range(3))


def product():
    there[0].copy_(a)
    there[1].copy_(b)
    torch.mm(there[0], there[1], out=there[2])
    c.copy_(there[2])


time_program("on the GPU", product)
a, b, c = a.pin_memory(), b.pin_memory(), c.pin_memory()
time_program("on the GPU, pinned", product)
