// A function takes 64 MiB of the GPU at each call and gives them back, or keeps them.
#include "timing.h"
#include <cstring>

constexpr size_t bytes = 64 << 20, part = 16 << 20;

int main() {
    char *x, *kept;
    succeed(cudaMallocHost(&x, bytes));
    std::fill(x, x + bytes, 1);
    succeed(cudaMalloc(&kept, bytes));
    cudaStream_t s;
    succeed(cudaStreamCreate(&s));
    auto send = [=](char* d) {
        succeed(cudaMemcpyAsync(d, x, bytes, cudaMemcpyHostToDevice, s));
    };
    time_program("cudaMalloc and cudaFree", [=] {
        char* d;
        succeed(cudaMalloc(&d, bytes));
        send(d);
        succeed(cudaStreamSynchronize(s));
        succeed(cudaFree(d));
    });
    // Without a threshold, the pool gives its memory back at each synchronisation.
    cudaMemPool_t pool;
    succeed(cudaDeviceGetDefaultMemPool(&pool, 0));
    unsigned long long threshold = ~0ull;
    succeed(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    time_program("from a pool", [=] {
        char* d;
        succeed(cudaMallocAsync((void**)&d, bytes, s));
        send(d);
        succeed(cudaFreeAsync(d, s));
        succeed(cudaStreamSynchronize(s));
    });
    time_program("kept", [=] {
        send(kept);
        succeed(cudaStreamSynchronize(s));
    });
    time_program("a pinned buffer each time", [=] {
        char* h;
        succeed(cudaMallocHost(&h, part));
        std::memcpy(h, x, part);
        succeed(cudaMemcpyAsync(kept, h, part, cudaMemcpyHostToDevice, s));
        succeed(cudaStreamSynchronize(s));
        succeed(cudaFreeHost(h));
    });
}
