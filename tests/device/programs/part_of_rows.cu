// All of a cube of 400 MB goes to the GPU, or a tenth of each row.
#include "timing.h"

constexpr size_t rows = 100'000, row = 400, pitch = 4'000;

int main() {
    auto cube = (char*)std::malloc(rows * pitch);
    std::fill(cube, cube + rows * pitch, 1);
    char *d, *part;
    succeed(cudaMalloc(&d, rows * pitch));
    succeed(cudaMalloc(&part, rows * row));
    auto send = [=] {
        succeed(cudaMemcpy2D(part, row, cube, pitch, row, rows, cudaMemcpyHostToDevice));
    };
    time_program("all of it", [=] {
        succeed(cudaMemcpy(d, cube, rows * pitch, cudaMemcpyHostToDevice));
    });
    time_program("a tenth of each row", send);
    succeed(cudaHostRegister(cube, rows * pitch, cudaHostRegisterDefault));
    time_program("a tenth of each row, pinned", send);
}
