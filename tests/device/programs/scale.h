// A kernel that doubles 64 MiB of numbers, wherever they are.
#pragma once
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

// Multiplies numbers in host memory, by way of two arrays on the device.
void scaled_by_copies(const float* x, float* out, float* d, float* e) {
    succeed(cudaMemcpy(d, x, bytes, cudaMemcpyHostToDevice));
    scaled(d, e);
    succeed(cudaMemcpy(out, e, bytes, cudaMemcpyDeviceToHost));
}
