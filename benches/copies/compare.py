#!/usr/bin/env python3
"""Sets the copies of a calibration beside those of CuPy, measured in the same minutes.

    compare.py FOLDER HALLWAY...

Calibrates into FOLDER by the command HALLWAY, and measures copies with CuPy before, in between
and behind: the calibration is interrupted for it and goes on. Who else uses the link and the
host's memory comes and goes, within milliseconds and from one minute to the next: what counts is
the middle of all rounds, and of copies both ways the best tenth of all moments, too. (A calibration
leaves out what others take while large copies go one way. Where they take some all along, the two
differ by that.) Prints a table in Markdown.
"""

import itertools
import signal
import statistics
import subprocess
import sys
import time
import tomllib

import cupy as cp
import cupyx
import numpy

# What is asked: copies and latencies within this of those measured here.
BANDWIDTH, LATENCY = 0.02, 0.10

# Interrupted so often, each time after so many seconds, of which getting ready takes some.
TIMES, STRETCH = 8, 12
INTERRUPTED = 130

# Small copies that are queued up: what more of them take longer is what one takes.
QUEUED = 2, 34
# More than any cache holds, and than small copies get through.
LARGE = 256 << 20
# For as long at a time as in a calibration: what others do for a moment raises some of many short
# ones, and all of a few long ones.
COPY = 64 << 20
# More than the largest caches hold, which have the host's memory that was filled last.
ELSEWHERE = numpy.zeros(4 * LARGE, dtype=numpy.uint8)
# Copies in a row, both ways at once, and rows behind each other measurement, so many seconds apart:
# rates differ less within a row than from row to row, most of all where several GPUs copy.
IN_A_ROW, AGAIN, APART = 8, 12, 0.02
# How many larger copies are in a row where several GPUs copy.
FEW = 5


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, *hallway = sys.argv[1:]
    several = cp.cuda.runtime.getDeviceCount() > 1
    if several:
        allow_peers()
    rounds = []

    def round_of_copies():
        rounds.append(copies() | (peers() if several else {}))
        middle = {what: statistics.median(found) for what, found in rounds[-1].items()}
        print(middle, file=sys.stderr)

    round_of_copies()
    calibrate([*hallway, "calibrate", "--output", folder], round_of_copies)
    profile = tomllib.load(open(f"{folder}/profile.toml", "rb"))
    expected = copies_of(profile) | (peers_of(profile["multi_gpu"]) if several else {})
    print("| copies | hallway | CuPy | difference | allowed | |")
    print("|---|--:|--:|--:|--:|---|")
    for what, ours in expected.items():
        theirs = [one for found in rounds for one in found[what.removesuffix(AT_BEST)]]
        is_best = what.endswith(AT_BEST)
        line(what, ours, best(theirs) if is_best else statistics.median(theirs))


def calibrate(command, between):
    """Calibrates a stretch at a time."""
    for times in itertools.count():
        resume = ["--resume"] if times else []
        process = subprocess.Popen([*command, *resume], stdout=subprocess.DEVNULL)
        try:
            code = process.wait(STRETCH if times < TIMES else None)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            code = process.wait()
        if code not in (0, INTERRUPTED):
            sys.exit(f"the calibration ended with exit code {code}")
        between()
        if code == 0:
            return


HOLD = cp.RawKernel(r"""
extern "C" __global__ void hold(long long nanos) {
    long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - start < nanos);
}""", "hold")


AT_BEST = ", at best"
NAMES = {"down": "host-to-device", "up": "device-to-host"}


def copies_of(profile):
    """What a profile says of copies, by the name of a row."""
    rates = {model["direction"]: model["time"]["knots"] for model in profile["copy"]}
    link = profile["link"]
    alone = {way: link[f"{way}_bytes_per_second"] for way in NAMES}
    said = {f"{name}, alone, GB/s": alone[way] / 1e9 for way, name in NAMES.items()}
    for way, name in NAMES.items():
        shared = link[f"{way}_shared"]
        for longer, moments in (("per_byte_ns", ""), ("at_best_per_byte_ns", AT_BEST)):
            together = 1 / (1 / alone[way] + shared[longer] * 1e-9)
            said[f"{name}, both at once, GB/s{moments}"] = together / 1e9
    return said | {f"{name}, 4 B after 4 B, ns": rates[name][0][1] for name in NAMES.values()}


def copies():
    """The same as measured here, all samples of it."""
    # Where memory lies is drawn anew, as when a calibration goes on.
    cp.get_default_pinned_memory_pool().free_all_blocks()
    alone = {way: [COPY / time for time in seconds_of(way, COPY, 2)] for way in NAMES}
    found = {f"{name}, alone, GB/s": [r / 1e9 for r in alone[way]] for way, name in NAMES.items()}
    # As much as a calibration goes round: what is written again soon may stay in the host's caches.
    # So may what was filled last, and then writing it costs no memory as long as nobody evicts it.
    ends = {way: buffers(LARGE) for way in NAMES}
    ELSEWHERE[:] += 1
    together = rows(ends)
    for way, name in NAMES.items():
        # Copies further back in a queue take less time: as many as in a calibration.
        few, many = (statistics.median(seconds_of(way, 4, count)) * count for count in QUEUED)
        each = (many - few) / (QUEUED[1] - QUEUED[0])
        found[f"{name}, 4 B after 4 B, ns"] = [each * 1e9]
        together += rows(ends)
    for way, name in NAMES.items():
        at_once = [rate / 1e9 for rates in together for rate in rates[way]]
        found[f"{name}, both at once, GB/s"] = at_once
    return found


def best(rates):
    """What the best tenth of all moments reach."""
    return statistics.quantiles(rates, n=10, method="inclusive")[-1]


def line(what, ours, theirs):
    allowed = BANDWIDTH if "GB/s" in what else LATENCY
    difference = ours / theirs - 1
    mark = "" if abs(difference) <= allowed else "differs"
    print(f"| {what} | {ours:.4g} | {theirs:.4g} | {difference:+.1%} | {allowed:.0%} | {mark} |")


def buffers(size):
    host = cupyx.empty_pinned(size, dtype=cp.uint8)
    host[:] = 1
    return host, cp.zeros(size, dtype=cp.uint8)


def copy(way, host, device, stream):
    ends = device.data.ptr, host.ctypes.data
    kind = cp.cuda.runtime.memcpyHostToDevice
    if way == "up":
        ends, kind = ends[::-1], cp.cuda.runtime.memcpyDeviceToHost
    cp.cuda.runtime.memcpyAsync(*ends, host.nbytes, kind, stream.ptr)


# Numbers the places that small copies use, from call to call: pinned memory that was given back is
# had again, so a call that began anew would copy the bytes of the call before.
PLACES = itertools.count()


def seconds_of(way, size, repeats):
    """What one copy takes of some that were queued up behind a kernel that waits, again and again.
    Small ones are each of bytes that none took before, as in a calibration: out of the same ones
    again and again, they take less time."""
    room = LARGE if size < 64 else size
    host, device = buffers(room)
    stream = cp.cuda.Stream(non_blocking=True)
    start, end = cp.cuda.Event(), cp.cuda.Event()
    samples = []
    # What small copies take scatters by a tenth.
    for _ in range(30 if size >= 64 else 51):
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
    return samples


def rows(ends):
    """Several of both ways: who else uses the link is another a moment later."""
    found = []
    for _ in range(AGAIN):
        time.sleep(APART)
        found.append(both(ends))
    return found


def both(ends):
    """Bytes per second of each direction while the other is at work, copy by copy of a row each
    way. Behind a pause, copies are some percent faster where others use the link as well, who
    catch up in the meantime: the first of a row does not count, as in a calibration.
    """
    streams = {way: cp.cuda.Stream(non_blocking=True) for way in ends}
    gate, first = cp.cuda.Event(), cp.cuda.Stream(non_blocking=True)
    marks = {way: [cp.cuda.Event() for _ in range(IN_A_ROW + 1)] for way in ends}
    with first:
        HOLD((1,), (1,), (5_000_000,))
    gate.record(first)
    for way, (host, device) in ends.items():
        streams[way].wait_event(gate)
        marks[way][0].record(streams[way])
        for turn in range(IN_A_ROW):
            at = turn * COPY % LARGE
            copy(way, host[at : at + COPY], device[at : at + COPY], streams[way])
            marks[way][turn + 1].record(streams[way])
    cp.cuda.Device().synchronize()
    since = lambda mark: cp.cuda.get_elapsed_time(gate, mark) * 1e-3
    times = {way: [since(mark) for mark in of_way] for way, of_way in marks.items()}
    # What goes on when the other way is through has the link for itself.
    over = min(of_way[-1] for of_way in times.values())
    return {
        way: [COPY / (end - start) for start, end in itertools.pairwise(of_way[1:]) if end <= over]
        for way, of_way in times.items()
    }


TOGETHER = "between GPUs 0 and 1, both ways together, GB/s"


def one_way(way):
    return f"GPU {way[0]} to GPU {way[1]}, alone, GB/s"


def of_root(name):
    return f"two GPUs and the host, {name}, GB/s"


def peers_of(several):
    """Rates between two GPUs, and of copies of both from and to the host, as a profile has them."""
    said, models = {}, {(model["from"], model["to"]): model for model in several["peer"]}
    for way in ((0, 1), (1, 0)):
        (short, fast), (long, slow) = models[way]["time"]["knots"][-2:]
        said[one_way(way)] = (long - short) / (slow - fast)
    said[TOGETHER] = models[0, 1]["both_bytes_per_second"] / 1e9
    (root,) = (root for root in several["root"] if root["devices"] == 2)
    for name in ("down", "up", "both"):
        said[of_root(name)] = root[f"{name}_bytes_per_second"] / 1e9
    return said


def peers():
    """The same as measured here."""
    ways = [(0, 1), (1, 0)]
    found = {one_way(way): rates([peer_copy(*way)]) for way in ways}
    found[TOGETHER] = rates([peer_copy(0, 1), peer_copy(1, 0)])
    for name, sides in (("down", ["down"]), ("up", ["up"]), ("both", ["down", "up"])):
        copiers = [host_copy(device, side) for device in (0, 1) for side in sides]
        found[of_root(name)] = rates(copiers)
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


def rates(copiers):
    """Gigabytes per second of all together, while all are at work, row by row."""
    found = []
    for _ in range(AGAIN):
        time.sleep(APART)
        marks = [[] for _ in copiers]
        for _ in range(FEW + 1):
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
        # A row begins alone, and ends so.
        begin, finish = 0.2 * shortest, 0.9 * shortest
        copied = sum(LARGE * (done(of, finish) - done(of, begin)) for of in ends)
        found.append(copied / (finish - begin) / 1e9)
    return found


def done(ends, time):
    """Copies done by a time, with the part of the one that is under way."""
    whole = sum(end <= time for end in ends) - 1
    return whole + (time - ends[whole]) / (ends[whole + 1] - ends[whole])


if __name__ == "__main__":
    main()
