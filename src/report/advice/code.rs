//! What each remedy means in the languages and libraries that people write GPU programs in.

use crate::advise::Remedy;

/// Where a remedy is written down.
pub(super) const LANGUAGES: [&str; 3] = ["PyTorch", "CuPy", "CUDA C"];

/// A line of how a remedy is written.
pub(super) fn in_code(remedy: Remedy, language: &str) -> &'static str {
    let [pytorch, cupy, cuda] = match remedy {
        Remedy::Pin => [
            "`DataLoader(pin_memory=True)` or `x.pin_memory()` once; `x.to(device, \
             non_blocking=True)`",
            "`cupyx.empty_pinned(shape)` filled in place; `d.set(x, stream=s)`",
            "`cudaHostAlloc`, or `cudaHostRegister` once; `cudaMemcpyAsync` in a stream",
        ],
        Remedy::DeferWaits => [
            "no `torch.cuda.synchronize()`, `.item()` or `print(tensor)` in the loop; \
             `event.synchronize()` right before a result is read",
            "no `cupy.cuda.Device().synchronize()` in the loop; `event.synchronize()`",
            "`cudaEventRecord` after the result, `cudaEventSynchronize` where it is read",
        ],
        Remedy::KeepMemory => [
            "allocate outside the loop; `out.copy_(y, non_blocking=True)` into a pinned `out` \
             instead of `y.cpu()`",
            "reuse arrays with `out=`; `d.get(out=pinned)` instead of `d.get()`",
            "`cudaMalloc` before the loop, or `cudaMallocAsync` with a raised release threshold",
        ],
        Remedy::DropCopies => [
            "keep the tensor on the GPU instead of `.cpu()` and `.to(device)`; do not send \
             unchanged data again",
            "keep the `cupy.ndarray` instead of `.get()` and `cupy.asarray`",
            "remove the `cudaMemcpyAsync`, or copy within the GPU",
        ],
        Remedy::CopyOnce => [
            "`x = x.to(device)` once before the loop, or `register_buffer`",
            "`d = cupy.asarray(x)` once before the loop",
            "`cudaMemcpy` once before the loop",
        ],
        Remedy::Pack => [
            "`torch.cat` the small tensors into one pinned tensor, `.to(device)` that, `split` it \
             there",
            "concatenate in one pinned array, `.set()` it once, use views of it",
            "`memcpy` into one pinned buffer, one `cudaMemcpyAsync`",
        ],
        Remedy::Prefetch => [
            "`with torch.cuda.stream(side): nxt = x.to(device, non_blocking=True)`; \
             `main.wait_stream(side)` and `nxt.record_stream(main)` before it is used",
            "`with side: d.set(x)` into a second array; `main.wait_event(side.record())`",
            "`cudaMemcpyAsync` in a second stream into a second buffer, `cudaStreamWaitEvent`",
        ],
        Remedy::DownloadStream => [
            "`side.wait_stream(main)`; `with torch.cuda.stream(side): out.copy_(y, \
             non_blocking=True)`; `y.record_stream(side)`",
            "`side.wait_event(main.record())`; `d.get(stream=side, out=pinned)`",
            "`cudaStreamWaitEvent`, then `cudaMemcpyAsync` in a second stream",
        ],
        Remedy::Chunks => [
            "loop over `x.chunk(n)`, each in a stream of a small pool",
            "loop over slices, each `with streams[i % 3]`",
            "loop over offsets, with `cudaMemcpyAsync` and launches in stream `i % 3`",
        ],
        Remedy::Graph => [
            "`torch.cuda.graph(g)` once, `g.replay()` in the loop; or `torch.compile(mode=\
             \"reduce-overhead\")`",
            "`stream.begin_capture()`, `g = stream.end_capture()`, `g.launch()`",
            "`cudaStreamBeginCapture`, `cudaGraphInstantiate`, `cudaGraphLaunch`",
        ],
    };
    match language {
        "PyTorch" => pytorch,
        "CuPy" => cupy,
        _ => cuda,
    }
}
