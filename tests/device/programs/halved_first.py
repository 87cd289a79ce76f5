"""128 MiB of numbers go to the GPU as they are, or as half-precision numbers made by the CPU."""

import torch
from timing import on_gpu, pageable, time_program

COUNT = 33_554_432
x, half = pageable(COUNT), pageable(COUNT).half()
d, e = on_gpu(COUNT), on_gpu(COUNT).half()


def halved():
    half.copy_(x)
    e.copy_(half)


time_program("as they are", lambda: d.copy_(x))
time_program("halved first", halved)
