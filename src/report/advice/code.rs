//! What each remedy means in the languages and libraries that people write GPU programs in.

use crate::advise::Remedy;

/// Where a remedy is written down.
pub(super) const LANGUAGES: [&str; 3] = ["PyTorch", "CuPy", "CUDA C"];

/// How each remedy is written, a line for each of [`LANGUAGES`].
const CODE: &[(Remedy, [&str; 3])] = &[
    (
        Remedy::Pin,
        [
            "`DataLoader(pin_memory=True)` or `x.pin_memory()` once; `x.to(device, \
             non_blocking=True)`",
            "`cupyx.empty_pinned(shape)` filled in place; `d.set(x, stream=s)`",
            "`cudaHostAlloc`, or `cudaHostRegister` once; `cudaMemcpyAsync` in a stream",
        ],
    ),
    (
        Remedy::DeferWaits,
        [
            "no `torch.cuda.synchronize()`, `.item()` or `print(tensor)` in the loop; \
             `event.synchronize()` right before a result is read",
            "no `cupy.cuda.Device().synchronize()` in the loop; `event.synchronize()`",
            "`cudaEventRecord` after the result, `cudaEventSynchronize` where it is read",
        ],
    ),
    (
        Remedy::KeepMemory,
        [
            "allocate outside the loop; `out.copy_(y, non_blocking=True)` into a pinned `out` \
             instead of `y.cpu()`",
            "reuse arrays with `out=`; `d.get(out=pinned)` instead of `d.get()`",
            "`cudaMalloc` before the loop, or `cudaMallocAsync` with a raised release threshold",
        ],
    ),
    (
        Remedy::DropCopies,
        [
            "keep the tensor on the GPU instead of `.cpu()` and `.to(device)`; do not send \
             unchanged data again",
            "keep the `cupy.ndarray` instead of `.get()` and `cupy.asarray`",
            "remove the `cudaMemcpyAsync`, or copy within the GPU",
        ],
    ),
    (
        Remedy::CopyOnce,
        [
            "`x = x.to(device)` once before the loop, or `register_buffer`",
            "`d = cupy.asarray(x)` once before the loop",
            "`cudaMemcpy` once before the loop",
        ],
    ),
    (
        Remedy::Pack,
        [
            "`torch.cat` the small tensors into one pinned tensor, `.to(device)` that, `split` it \
             there",
            "concatenate in one pinned array, `.set()` it once, use views of it",
            "one `cudaMemcpyAsync` if both sides are contiguous; else `memcpy` into one pinned \
             buffer first",
        ],
    ),
    (
        Remedy::Narrow,
        [
            "`x[a:b].to(device)` instead of `x.to(device)`; contiguous slices need no packing",
            "`d[a:b].set(x[a:b])`",
            "`cudaMemcpyAsync` of the part, or `cudaMemcpy2DAsync` for a part of each row",
        ],
    ),
    (
        Remedy::Gather,
        [
            "collect `loss.detach()` in a list, `torch.stack(losses).cpu()` once; no `.item()` in \
             the loop",
            "write into `results[i]` on the GPU, `results.get()` once",
            "write results into one array on the GPU, one `cudaMemcpyAsync` at the end",
        ],
    ),
    (
        Remedy::Stage,
        [
            "two pinned buffers in turn: `buf.copy_(x[i:j])` (uses all threads), then `d[i:j].copy_\
             (buf, non_blocking=True)`; an event for each buffer",
            "two arrays from `cupyx.empty_pinned` in turn, filled by `numpy.copyto` in \
             several threads",
            "two `cudaHostAlloc` buffers in turn, filled by several threads; an event for each",
        ],
    ),
    (
        Remedy::InPlace,
        [
            "no direct way; a custom kernel on the pointer of a pinned tensor",
            "`cupy.ndarray` over `cupyx.empty_pinned` memory (unified addresses)",
            "pass the pointer from `cudaHostAlloc` to the kernel",
        ],
    ),
    (
        Remedy::PrefetchManaged,
        [
            "no direct way; `cudaMemPrefetchAsync` from an extension",
            "`cupy.cuda.runtime.memPrefetchAsync(ptr, bytes, device, stream)`",
            "`cudaMemPrefetchAsync` to the GPU before the kernel, to the host before it reads",
        ],
    ),
    (
        Remedy::Prefetch,
        [
            "`with torch.cuda.stream(side): nxt = x.to(device, non_blocking=True)`; \
             `main.wait_stream(side)` and `nxt.record_stream(main)` before it is used",
            "`with side: d.set(x)` into a second array; `main.wait_event(side.record())`",
            "`cudaMemcpyAsync` in a second stream into a second buffer, `cudaStreamWaitEvent`",
        ],
    ),
    (
        Remedy::DownloadStream,
        [
            "`side.wait_stream(main)`; `with torch.cuda.stream(side): out.copy_(y, \
             non_blocking=True)`; `y.record_stream(side)`",
            "`side.wait_event(main.record())`; `d.get(stream=side, out=pinned)`",
            "`cudaStreamWaitEvent`, then `cudaMemcpyAsync` in a second stream",
        ],
    ),
    (
        Remedy::Chunks,
        [
            "loop over `x.chunk(n)`, each in a stream of a small pool",
            "loop over slices, each `with streams[i % 3]`",
            "loop over offsets, with `cudaMemcpyAsync` and launches in stream `i % 3`",
        ],
    ),
    (
        Remedy::MoreStreams,
        [
            "`with torch.cuda.stream(streams[i % n])` around independent work; \
             `wait_stream` before and after",
            "`with streams[i % n]:` around independent work; `wait_event` where results meet",
            "pass `streams[i % n]` to independent launches and copies; `cudaStreamWaitEvent` \
             where results meet",
        ],
    ),
    (
        Remedy::Graph,
        [
            "`torch.cuda.graph(g)` once, `g.replay()` in the loop; or `torch.compile(mode=\
             \"reduce-overhead\")`",
            "`stream.begin_capture()`, `g = stream.end_capture()`, `g.launch()`",
            "`cudaStreamBeginCapture`, `cudaGraphInstantiate`, `cudaGraphLaunch`",
        ],
    ),
    (
        Remedy::Cpu,
        [
            "keep the tensors and the computation on the CPU",
            "use NumPy instead of CuPy",
            "call the CPU's code",
        ],
    ),
    (
        Remedy::Share,
        [
            "compute `x[:n]` on the GPU and `x[n:]` on the CPU while the GPU is busy",
            "compute `x[:n]` with CuPy and `x[n:]` with NumPy while the GPU is busy",
            "launch for a part of the data, and compute the rest on the CPU before the wait",
        ],
    ),
    (
        Remedy::SeveralGpus,
        [
            "a part of the batch on each `cuda:i`, without waits in between",
            "`with cupy.cuda.Device(i)` for each part",
            "`cudaSetDevice`, a stream and a part of the data for each GPU",
        ],
    ),
    (
        Remedy::Schedule,
        [
            "a `torch.cuda.Stream` for each branch, `wait_event` where branches meet",
            "a `cupy.cuda.Stream` for each branch, `wait_event` where branches meet",
            "a stream for each branch, `cudaStreamWaitEvent` where branches meet; `hallway explain \
             --plan by-task` lists the calls",
        ],
    ),
];

/// A line of how a remedy is written.
pub(super) fn in_code(remedy: Remedy, language: &str) -> &'static str {
    let lines = CODE.iter().find(|(of, _)| *of == remedy).map(|(_, lines)| lines);
    let at = LANGUAGES.iter().position(|one| *one == language);
    lines.zip(at).map_or("", |(lines, at)| lines[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_remedy_is_written_in_every_language() {
        for remedy in Remedy::ALL {
            assert!(LANGUAGES.iter().all(|one| !in_code(remedy, one).is_empty()), "{remedy}");
        }
    }
}
