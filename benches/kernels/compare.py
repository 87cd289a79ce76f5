#!/usr/bin/env python3
"""Sets hallway's figures beside those of PyTorch and CuPy, measured here and now.

    compare.py PROFILE.toml COMMAND...

COMMAND prints what `cargo bench --bench kernels` does. It is run before and behind the others'
libraries, for a host that is shared is not the same from one minute to the next: what counts is
the middle of both. Copies are measured before, between and behind all that, for who else uses the
link comes and goes, too, and what counts of these is the middle. (A calibration leaves out what
others take while large copies go one way. Where they take some all along, the two differ by that.)
Prints tables in Markdown.
"""

import csv
import itertools
import statistics
import subprocess
import sys
import time
import tomllib

import cupy as cp
import cupyx
import torch

# What is asked: CPU twins within this of PyTorch's, kernels of CuPy's, copies
# and latencies of those measured here.
CPU, GPU, BANDWIDTH, LATENCY = 1.25, 1.2, 0.02, 0.10

# Small copies that are queued up: what more of them take longer is what one takes.
QUEUED = 2, 34
# More than any cache holds, and than small copies get through.
LARGE = 256 << 20


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    profile, *command = sys.argv[1:]
    profile = tomllib.load(open(profile, "rb"))
    several = profile.get("multi_gpu")
    if several:
        allow_peers()
    rounds = []

    def round_of_copies():
        found = copies() | (peers(several) if several else {})
        print(found, file=sys.stderr)
        rounds.append(found)

    kernels(command, round_of_copies)
    expected = copies_of(profile) | (peers_of(several) if several else {})
    print("\n| copies | hallway | CuPy | difference | allowed | |")
    print("|---|--:|--:|--:|--:|---|")
    for what, ours in expected.items():
        line(what, ours, statistics.median(found[what] for found in rounds))


def rows_of(command):
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    # Kept, whatever becomes of the rest.
    print(printed, end="", file=sys.stderr)
    return list(csv.DictReader(printed.splitlines()))


def kernels(command, between):
    between()
    before = rows_of(command)
    between()
    others = []
    for row in before:
        is_cpu = row["side"] == "cpu"
        seconds_of_row = torch_seconds if is_cpu else cupy_seconds
        others.append(seconds_of_row(row["kernel"], int(row["elements"]), int(row["extent"])))
        # Those before and after take a second or more.
        if row["kernel"] == "matmul" and is_cpu:
            between()
    between()
    behind = rows_of(command)
    between()
    print("| side | kernel | elements | hallway | other | ratio | allowed | |")
    print("|---|---|--:|--:|--:|--:|--:|---|")
    for row, theirs, again in zip(before, others, behind, strict=True):
        ours = (float(row["seconds"]) + float(again["seconds"])) / 2
        allowed = CPU if row["side"] == "cpu" else GPU
        ratio = ours / theirs
        mark = "" if ratio <= allowed else "slower"
        print(f"| {row['side']} | {row['kernel']} | {int(row['elements']):,} | {pretty(ours)} "
              f"| {pretty(theirs)} | {ratio:.2f} | {allowed} | {mark} |")


def pretty(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def torch_seconds(kernel, size, side):
    x, y, out = (torch.rand(size) for _ in range(3))
    result = torch.zeros(())
    square = [a[: side * side].view(side, side) for a in (x, y, out)] if side else None
    work = {
        "saxpy": lambda: torch.add(y, x, alpha=0.5, out=out),
        "sum": lambda: torch.sum(x, dim=0, out=result),
        "matmul": lambda: torch.matmul(square[0], square[1], out=square[2]),
    }[kernel]
    samples, start = [], time.perf_counter()
    while len(samples) < 5 or time.perf_counter() - start < 0.5:
        clock = time.perf_counter()
        work()
        samples.append(time.perf_counter() - clock)
    return statistics.median(samples)


BLACK_SCHOLES = cp.ElementwiseKernel(
    "float32 s, float32 k, float32 t", "float32 price",
    """float v = 0.2f * sqrtf(t), d = (logf(s / k) + 0.04f * t) / v;
       price = s * normcdff(d) - k * expf(-0.02f * t) * normcdff(d - v);""", "black_scholes")
SAXPY = cp.ElementwiseKernel("float32 a, float32 x, float32 y", "float32 z", "z = a * x + y", "axpy")


def cupy_seconds(kernel, size, extent):
    x, y, z, out = (cp.random.rand(size, dtype=cp.float32) for _ in range(4))
    total = cp.zeros((), dtype=cp.float32)
    options = (x + 1, y + 1, z + 1) if kernel == "black-scholes" else None
    grid = [a.reshape(-1, extent) for a in (x, y, out)] if extent else None
    work = {
        "scale": lambda: cp.multiply(x, cp.float32(0.5), out=out),
        "saxpy": lambda: SAXPY(cp.float32(0.5), x, y, out),
        "sum": lambda: cp.sum(x, out=total),
        "black-scholes": lambda: BLACK_SCHOLES(*options, out),
        "matmul": lambda: cp.matmul(grid[0], grid[1], out=grid[2]),
        "transpose": lambda: cp.ascontiguousarray(grid[0].T),
        "fft": lambda: cp.fft.fft(grid[0].view(cp.complex64), axis=1),
    }[kernel]
    return per_call(work, 20)


def per_call(work, repeats):
    """Device seconds of one of many calls that were queued up beforehand."""
    work()
    best = float("inf")
    start, end = cp.cuda.Event(), cp.cuda.Event()
    for _ in range(5):
        cp.cuda.Device().synchronize()
        start.record()
        for _ in range(repeats):
            work()
        end.record()
        end.synchronize()
        best = min(best, cp.cuda.get_elapsed_time(start, end) * 1e-3 / repeats)
    return best


HOLD = cp.RawKernel(r"""
extern "C" __global__ void hold(long long nanos) {
    long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - start < nanos);
}""", "hold")


NAMES = {"down": "host-to-device", "up": "device-to-host"}


def copies_of(profile):
    """What a profile says of copies, by the name of a row."""
    rates = {model["direction"]: model["time"]["knots"] for model in profile["copy"]}
    link = profile["link"]
    alone = {way: link[f"{way}_bytes_per_second"] for way in NAMES}
    said = {f"{name}, alone, GB/s": alone[way] / 1e9 for way, name in NAMES.items()}
    for way, name in NAMES.items():
        together = 1 / (1 / alone[way] + link[f"{way}_shared"]["per_byte_ns"] * 1e-9)
        said[f"{name}, both at once, GB/s"] = together / 1e9
    return said | {f"{name}, 4 B after 4 B, ns": rates[name][0][1] for name in NAMES.values()}


def copies():
    """The same as measured here."""
    alone = {way: (64 << 20) / seconds_of(way, 64 << 20, 10) for way in NAMES}
    together = both(alone)
    found = {}
    for way, name in NAMES.items():
        # Copies further back in a queue take less time: as many as in a calibration.
        few, many = (seconds_of(way, 4, count) * count for count in QUEUED)
        each = (many - few) / (QUEUED[1] - QUEUED[0])
        found[f"{name}, alone, GB/s"] = alone[way] / 1e9
        found[f"{name}, both at once, GB/s"] = together[way] / 1e9
        found[f"{name}, 4 B after 4 B, ns"] = each * 1e9
    return found


def line(what, ours, theirs):
    allowed = BANDWIDTH if what.endswith("GB/s") else LATENCY
    difference = ours / theirs - 1
    mark = "" if abs(difference) <= allowed else "differs"
    print(f"| {what} | {ours:.4g} | {theirs:.4g} | {difference:+.1%} | {allowed:.0%} | {mark} |")


def buffers(size):
    host = cupyx.empty_pinned(size, dtype=cp.uint8)
    host[:] = 1
    return host, cp.zeros(size, dtype=cp.uint8)


def copy(way, host, device, stream):
    kind = cp.cuda.runtime.memcpyHostToDevice if way == "down" else cp.cuda.runtime.memcpyDeviceToHost
    to, source = (device.data.ptr, host.ctypes.data) if way == "down" else (host.ctypes.data, device.data.ptr)
    cp.cuda.runtime.memcpyAsync(to, source, host.nbytes, kind, stream.ptr)


# Of small copies. Pinned memory that was given back is had again, so no call begins anew.
PLACES = itertools.count()


def seconds_of(way, size, repeats):
    """One copy of many that were queued up behind a kernel that waits; small ones each of bytes that none took before,
    as in a calibration: out of the same ones again and again, they take less time."""
    room = LARGE if size < 64 else size
    host, device = buffers(room)
    stream = cp.cuda.Stream(non_blocking=True)
    start, end = cp.cuda.Event(), cp.cuda.Event()
    samples = []
    # What small copies take scatters by a tenth.
    for _ in range(5 if size >= 64 else 51):
        with stream:
            HOLD((1,), (1,), (2_000_000,))
        copy(way, host[:size], device[:size], stream)
        start.record(stream)
        for place in itertools.islice(PLACES, repeats):
            at = place * max(size, 64) % room
            copy(way, host[at : at + size], device[at : at + size], stream)
        end.record(stream)
        end.synchronize()
        samples.append(cp.cuda.get_elapsed_time(start, end) * 1e-3 / repeats)
    return statistics.median(samples)


def both(alone):
    """Bytes per second of each direction while the other is at work."""
    ways = {way: (*buffers(LARGE), cp.cuda.Stream(non_blocking=True)) for way in ("down", "up")}
    rates = {way: [] for way in ways}
    # For as long at a time as in a calibration: what others do for a moment raises some of many
    # short ones, and all of a few long ones.
    for _ in range(21):
        gate, ends = cp.cuda.Event(), {}
        first = cp.cuda.Stream(non_blocking=True)
        with first:
            HOLD((1,), (1,), (2_000_000,))
        gate.record(first)
        for way, (host, device, stream) in ways.items():
            stream.wait_event(gate)
            copy(way, host, device, stream)
            ends[way] = cp.cuda.Event()
            ends[way].record(stream)
        cp.cuda.Device().synchronize()
        took = {way: cp.cuda.get_elapsed_time(gate, ends[way]) * 1e-3 for way in ways}
        shorter = min(took.values())
        for way in ways:
            # What is left when the other is done goes at the full speed.
            left = (took[way] - shorter) * alone[way]
            rates[way].append((LARGE - left) / shorter)
    return {way: statistics.median(found) for way, found in rates.items()}


TOGETHER = "between GPUs 0 and 1, both ways together, GB/s"


def one_way(way):
    return f"GPU {way[0]} to GPU {way[1]}, alone, GB/s"


def of_root(name):
    return f"two GPUs and the host, {name}, GB/s"


def peers_of(several):
    """Rates between two GPUs, and of copies of both from and to the host, as a profile has them."""
    said = {}
    for model in sorted(several["peer"], key=lambda model: (model["from"], model["to"])):
        (short, fast), (long, slow) = model["time"]["knots"][-2:]
        said[one_way((model["from"], model["to"]))] = (long - short) / (slow - fast)
    (there,) = (model for model in several["peer"] if (model["from"], model["to"]) == (0, 1))
    said[TOGETHER] = there["both_bytes_per_second"] / 1e9
    (root,) = (root for root in several["root"] if root["devices"] == 2)
    for name in ("down", "up", "both"):
        said[of_root(name)] = root[f"{name}_bytes_per_second"] / 1e9
    return said


def peers(several):
    """The same as measured here."""
    ways = [(model["from"], model["to"]) for model in several["peer"]]
    found = {one_way(way): rate([peer_copy(*way)]) / 1e9 for way in ways}
    found[TOGETHER] = rate([peer_copy(0, 1), peer_copy(1, 0)]) / 1e9
    for name, sides in (("down", ["down"]), ("up", ["up"]), ("both", ["down", "up"])):
        copiers = [host_copy(device, side) for device in (0, 1) for side in sides]
        found[of_root(name)] = rate(copiers) / 1e9
    return found


def allow_peers():
    for device, other in ((0, 1), (1, 0)):
        with cp.cuda.Device(device):
            cp.cuda.runtime.deviceEnablePeerAccess(other)


def peer_copy(source, target):
    arrays = {}
    for device in (source, target):
        with cp.cuda.Device(device):
            arrays[device] = cp.zeros(LARGE, dtype=cp.uint8)
    with cp.cuda.Device(source):
        stream = cp.cuda.Stream(non_blocking=True)
    return source, stream, lambda: cp.cuda.runtime.memcpyPeerAsync(
        arrays[target].data.ptr, target, arrays[source].data.ptr, source, LARGE, stream.ptr)


def host_copy(device, way):
    with cp.cuda.Device(device):
        host, array = buffers(LARGE)
        stream = cp.cuda.Stream(non_blocking=True)
    return device, stream, lambda: copy(way, host, array, stream)


def rate(copiers, repeats=20):
    """Bytes per second of all together, while all are at work."""
    rates = []
    for _ in range(3):
        marks = [[] for _ in copiers]
        for _ in range(repeats + 1):
            for (device, stream, work), ends in zip(copiers, marks):
                with cp.cuda.Device(device):
                    ends.append(cp.cuda.Event())
                    ends[-1].record(stream)
                    work()
        for _, stream, _ in copiers:
            stream.synchronize()
        # Seconds since each one's first copy, which all began within microseconds.
        ends = [[cp.cuda.get_elapsed_time(of[0], end) * 1e-3 for end in of] for of in marks]
        shortest = min(of[-1] for of in ends)
        begin, finish = 0.2 * shortest, 0.9 * shortest
        rates.append(sum(LARGE * (done(of, finish) - done(of, begin)) for of in ends)
                     / (finish - begin))
    return statistics.median(rates)


def done(ends, time):
    """Copies done by a time, with the part of the one that is under way."""
    whole = sum(end <= time for end in ends) - 1
    return whole + (time - ends[whole]) / (ends[whole + 1] - ends[whole])


if __name__ == "__main__":
    main()
