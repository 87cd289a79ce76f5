// Copies that stay in the host's memory or the GPU's, whole or as a block of columns.
#include "timing.h"
#include <cstring>

constexpr size_t bytes = 64 << 20, piece = 1 << 20, rows = 8192, row = 2 << 10, pitch = 8 << 10;

int main() {
    char *x, *y, *d, *e;
    succeed(cudaMallocHost(&x, bytes));
    y = (char*)std::malloc(bytes);
    std::fill(x, x + bytes, 1);
    std::fill(y, y + bytes, 1);
    succeed(cudaMalloc(&d, bytes));
    succeed(cudaMalloc(&e, bytes));
    cudaStream_t s;
    succeed(cudaStreamCreate(&s));
    cudaEvent_t done;
    succeed(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    time_program("on the host, one thread", [=] { std::memcpy(y, x, bytes); });
    time_program("one MiB at a time", [=] {
        for (size_t i = 0; i < bytes; i += piece) std::memcpy(y + i, x + i, piece);
    });
    time_program("on the GPU", [=] {
        succeed(cudaMemcpy(e, d, bytes, cudaMemcpyDeviceToDevice));
        succeed(cudaDeviceSynchronize());
    });
    time_program("a block of columns on the GPU", [=] {
        succeed(cudaMemcpy2DAsync(e, pitch, d, pitch, row, rows, cudaMemcpyDeviceToDevice, s));
        succeed(cudaEventRecord(done, s));
        succeed(cudaEventSynchronize(done));
    });
    time_program("a block of columns, down and up again", [=] {
        succeed(cudaMemcpy2DAsync(d, row, x, pitch, row, rows, cudaMemcpyHostToDevice, s));
        succeed(cudaMemcpy2DAsync(x, pitch, d, row, row, rows, cudaMemcpyDeviceToHost, s));
        succeed(cudaStreamSynchronize(s));
    });
    time_program("a block of columns of pageable memory, down and up again", [=] {
        succeed(cudaMemcpy2D(d, row, y, pitch, row, rows, cudaMemcpyHostToDevice));
        succeed(cudaMemcpy2D(y, pitch, d, row, row, rows, cudaMemcpyDeviceToHost));
    });
}
