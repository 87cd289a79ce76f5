// The CPU fills 64 MiB of managed memory, a kernel goes through it, the CPU reads the result: with
// page faults, or prefetched.
#include "timing.h"

constexpr size_t elements = 16'777'216, bytes = 4 * elements;

__global__ void scale(const float4* x, float4* out, float a, size_t count) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < count) {
        float4 v = x[i];
        out[i] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
    }
}

void scaled(const float* x, float* out) {
    constexpr size_t count = elements / 4;
    scale<<<count / 256, 256>>>((const float4*)x, (float4*)out, 2.0f, count);
    succeed(cudaGetLastError());
}

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
    time_program("copied", [=] {
        succeed(cudaMemcpy(d, x, bytes, cudaMemcpyHostToDevice));
        scaled(d, e);
        succeed(cudaMemcpy(y, e, bytes, cudaMemcpyDeviceToHost));
    });
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
