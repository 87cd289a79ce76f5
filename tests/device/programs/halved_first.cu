// 128 MiB go to the GPU, or every other block of 32 KiB of them, which the CPU packs.
#include "timing.h"
#include <cstring>

constexpr size_t bytes = 128 << 20, block = 32 << 10, half = bytes / 2;

int main() {
    auto x = (char*)std::malloc(bytes), packed = (char*)std::malloc(half);
    std::fill(x, x + bytes, 1);
    std::fill(packed, packed + half, 1);
    char* d;
    succeed(cudaMalloc(&d, bytes));
    auto halved_first = [=] {
        for (size_t i = 0; i < half / block; ++i) {
            std::memcpy(packed + i * block, x + 2 * i * block, block);
        }
        succeed(cudaMemcpy(d, packed, half, cudaMemcpyHostToDevice));
    };
    time_program("all of it", [=] { succeed(cudaMemcpy(d, x, bytes, cudaMemcpyHostToDevice)); });
    time_program("halved first", halved_first);
    succeed(cudaHostRegister(packed, half, cudaHostRegisterDefault));
    time_program("halved first, into pinned memory", halved_first);
}
