"""One upload of 256 MiB: plainly, registered for the occasion, or registered once and for all."""

import torch
from timing import on_gpu, pageable, time_program

COUNT = 67_108_864
x, d = pageable(COUNT), on_gpu(COUNT)
runtime = torch.cuda.cudart()


def succeed(result):
    assert int(result) == 0, result


def pinned_for_it():
    succeed(runtime.cudaHostRegister(x.data_ptr(), 4 * COUNT, 0))
    d.copy_(x)
    succeed(runtime.cudaHostUnregister(x.data_ptr()))


time_program("plainly", lambda: d.copy_(x))
time_program("pinned for it", pinned_for_it)
succeed(runtime.cudaHostRegister(x.data_ptr(), 4 * COUNT, 0))
time_program("pinned before", lambda: d.copy_(x))
succeed(runtime.cudaHostUnregister(x.data_ptr()))
