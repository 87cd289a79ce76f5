"""The pipeline in SimPy: each service is a Timeout, its end a callback.

Arguments: chunks, then the three service times in nanoseconds. Prints the
makespan in nanoseconds and the seconds of the fastest run.
"""

import gc
import sys
import time
from collections import deque

import simpy

RUNS = 5


class Server:
    """Serves one chunk at a time, in order of arrival."""

    __slots__ = ("env", "service", "next", "chunks")

    def __init__(self, env, service, next_server):
        self.env = env
        self.service = service
        self.next = next_server
        # Chunks here, in order of arrival; the first is being served.
        self.chunks = deque()

    def arrive(self, chunk):
        self.chunks.append(chunk)
        if len(self.chunks) == 1:
            self.serve()

    def serve(self):
        # A callback rather than a process: no generator to resume, and no
        # second event to wake it up.
        simpy.Timeout(self.env, self.service).callbacks.append(self.finish)

    def finish(self, _event):
        chunk = self.chunks.popleft()
        if self.chunks:
            self.serve()
        if self.next is not None:
            self.next.arrive(chunk)


def pipeline(chunks, services):
    env = simpy.Environment()
    server = None
    for service in reversed(services):
        server = Server(env, service, server)
    server.chunks.extend(range(chunks))
    server.serve()
    return env


def main():
    chunks, *services = map(int, sys.argv[1:])
    best = float("inf")
    for _ in range(RUNS):
        env = pipeline(chunks, services)
        # As `timeit` does: no pause for a collection while the clock runs.
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        env.run()
        best = min(best, time.perf_counter() - start)
        gc.enable()
    print(env.now, best)


main()
