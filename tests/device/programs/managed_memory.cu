// The CPU fills 64 MiB of managed memory, a kernel goes through it, the CPU reads the result: with
// page faults, or prefetched.
#include "scale.h"

// By all threads of the CPU.
void copy(float* to, const float* from) {
#pragma omp parallel for
    for (size_t i = 0; i < elements; ++i) to[i] = from[i];
}

void prefetch(float* memory, cudaMemLocation location) {
    succeed(cudaMemPrefetchAsync(memory, bytes, location, 0, 0));
}

int main() {
    float *m, *out, *x, *y;
    succeed(cudaMallocManaged(&m, bytes));
    succeed(cudaMallocManaged(&out, bytes));
    x = (float*)std::malloc(bytes);
    y = (float*)std::malloc(bytes);
    std::fill(x, x + elements, 1.0f);
    std::fill(y, y + elements, 0.0f);
    cudaMemLocation gpu{cudaMemLocationTypeDevice, 0}, host{cudaMemLocationTypeHost, 0};
    time_program("with page faults", [=] {
        copy(m, x);
        scaled(m, out);
        succeed(cudaDeviceSynchronize());
        copy(y, out);
    });
    float *d, *e;
    succeed(cudaMalloc(&d, bytes));
    succeed(cudaMalloc(&e, bytes));
    time_program("copied", [=] { scaled_by_copies(x, y, d, e); });
    time_program("prefetched", [=] {
        copy(m, x);
        prefetch(m, gpu);
        prefetch(out, gpu);
        scaled(m, out);
        prefetch(out, host);
        succeed(cudaDeviceSynchronize());
        copy(y, out);
    });
}
