"""A result of 400 MB goes into new memory, into memory used before, or into pinned memory."""

from timing import on_gpu, pageable, pinned, time_program

COUNT = 100_000_000
d = on_gpu(COUNT)
y = pageable(COUNT)
time_program("into new memory", lambda: d.cpu())
time_program("into memory used before", lambda: y.copy_(d))
del y
y = pinned(COUNT)
time_program("into pinned memory", lambda: y.copy_(d))
