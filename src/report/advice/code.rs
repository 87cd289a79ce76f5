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
            "`cudaEventRecord` behind the result, `cudaEventSynchronize` where it is read",
        ],
    };
    match language {
        "PyTorch" => pytorch,
        "CuPy" => cupy,
        _ => cuda,
    }
}
