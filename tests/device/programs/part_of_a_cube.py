"""Sums ten of the hundred planes of a cube of 400 MB: all is sent, or only these."""

import torch
from timing import on_gpu, pageable, time_program

PLANES, PLANE = 100, 1_000_000
cube, total = pageable(PLANES, PLANE), pageable(1)
there, planes, result = on_gpu(PLANES, PLANE), on_gpu(10, PLANE), on_gpu(1)


def all_of_it():
    there.copy_(cube)
    torch.sum(there[10:20].view(-1), dim=0, keepdim=True, out=result)
    total.copy_(result)


def ten_planes():
    planes.copy_(cube[10:20])
    torch.sum(planes.view(-1), dim=0, keepdim=True, out=result)
    total.copy_(result)


time_program("all of it", all_of_it)
time_program("ten planes", ten_planes)
