"""Loads traces in Holistic Trace Analysis and prints what it makes of each of them."""

import json
import logging
import sys

logging.disable(logging.WARNING)

import pandas  # noqa: E402
from hta.trace_analysis import TraceAnalysis  # noqa: E402


def analyse(path):
    analysis = TraceAnalysis(trace_files={0: path})
    spent = analysis.get_temporal_breakdown(visualize=False)
    kinds, _ = analysis.get_gpu_kernel_breakdown(
        visualize=False, include_memory_kernels=True, num_kernels=1000, duration_ratio=1.0
    )
    analysis.get_idle_time_breakdown(visualize=False)
    analysis.get_comm_comp_overlap(visualize=False)
    queues = analysis.get_queue_length_summary()
    analysis.get_memory_bw_summary()
    # In version 0.5.0, this analysis fails on every trace with pandas 3, and on a trace whose
    # operations were all launched as one graph.
    if pandas.__version__ < "3" and queues is not None:
        _, was_found = analysis.critical_path_analysis(
            rank=0, annotation="ProfilerStep", instance_id=0
        )
        assert was_found, f"{path} has no critical path"
    trace = analysis.t.traces[0]
    symbols = analysis.t.symbol_table.get_sym_table()
    is_kernel = trace["cat"].map(lambda number: symbols[number] == "kernel")
    return {
        "kernels": int(is_kernel.sum()),
        "busy_us": float(spent["kernel_time(us)"].iloc[0] - spent["idle_time(us)"].iloc[0]),
        "kinds": dict(zip(kinds["kernel_type"], map(float, kinds["sum"]))),
    }


print(json.dumps([analyse(path) for path in sys.argv[1:]]))
