// A kernel goes once through 64 MiB of pinned memory: after a copy, or over the link.
#include "scale.h"

int main() {
    float *x, *y, *d, *e;
    succeed(cudaMallocHost(&x, bytes));
    succeed(cudaMallocHost(&y, bytes));
    std::fill(x, x + elements, 1.0f);
    std::fill(y, y + elements, 0.0f);
    succeed(cudaMalloc(&d, bytes));
    succeed(cudaMalloc(&e, bytes));
    time_program("copied", [=] { scaled_by_copies(x, y, d, e); });
    time_program("in place", [=] {
        scaled(x, y);
        succeed(cudaDeviceSynchronize());
    });
    time_program("read in place, result copied", [=] {
        scaled(x, e);
        succeed(cudaMemcpy(y, e, bytes, cudaMemcpyDeviceToHost));
    });
}
