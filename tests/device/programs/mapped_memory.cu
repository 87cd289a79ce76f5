// A kernel goes once through 64 MiB of pinned memory: after a copy, or over the link.
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

int main() {
    float *x, *y, *d, *e;
    succeed(cudaMallocHost(&x, bytes));
    succeed(cudaMallocHost(&y, bytes));
    std::fill(x, x + elements, 1.0f);
    std::fill(y, y + elements, 0.0f);
    succeed(cudaMalloc(&d, bytes));
    succeed(cudaMalloc(&e, bytes));
    time_program("copied", [=] {
        succeed(cudaMemcpy(d, x, bytes, cudaMemcpyHostToDevice));
        scaled(d, e);
        succeed(cudaMemcpy(y, e, bytes, cudaMemcpyDeviceToHost));
    });
    time_program("in place", [=] {
        scaled(x, y);
        succeed(cudaDeviceSynchronize());
    });
    time_program("read in place, result copied", [=] {
        scaled(x, e);
        succeed(cudaMemcpy(y, e, bytes, cudaMemcpyDeviceToHost));
    });
}
