// A tenth of each row of a cube of 400 MB goes to the GPU.
#include "timing.h"

constexpr size_t rows = 100'000, row = 400, pitch = 4'000;

int main() {
    auto cube = (char*)std::malloc(rows * pitch);
    std::fill(cube, cube + rows * pitch, 1);
    char *d, *pinned;
    succeed(cudaMalloc(&d, rows * row));
    auto send = [=](const char* from) {
        succeed(cudaMemcpy2D(d, row, from, pitch, row, rows, cudaMemcpyHostToDevice));
    };
    time_program("a tenth of each row", [=] { send(cube); });
    succeed(cudaMallocHost(&pinned, rows * pitch));
    std::fill(pinned, pinned + rows * pitch, 1);
    time_program("a tenth of each row, pinned", [=] { send(pinned); });
}
