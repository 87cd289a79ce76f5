"""Fetches one number after each of 100 steps, or all at the end."""

import torch
from timing import on_gpu, pageable, time_program

STEPS = 100
state, following = on_gpu(1_048_576), on_gpu(1_048_576)
loss, all_losses = on_gpu(1)[0], on_gpu(STEPS)
losses = pageable(STEPS)


def in_every_iteration():
    for i in range(STEPS):
        torch.mul(state, 0.5, out=following)
        torch.sum(following, dim=0, out=loss)
        losses[i].copy_(loss)


def at_the_end():
    for i in range(STEPS):
        torch.mul(state, 0.5, out=following)
        torch.sum(following, dim=0, out=all_losses[i])
    losses.copy_(all_losses)


time_program("in every iteration", in_every_iteration)
time_program("at the end", at_the_end)
