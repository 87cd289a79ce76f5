// A box blur of an image, by tiles in shared memory. Beyond its edges, the image goes on as its
// first or last row or column. A block needs (blockDim.x + 2 * radius) * (blockDim.y + 2 * radius)
// elements of dynamic shared memory.
template <typename T>
__global__ void blur(const T* in, T* out, int rows, int columns, int radius) {
    extern __shared__ unsigned char memory[];
    T* tile = reinterpret_cast<T*>(memory);
    const int width = blockDim.x + 2 * radius;
    const int height = blockDim.y + 2 * radius;
    const int left = blockIdx.x * blockDim.x - radius;
    const int top = blockIdx.y * blockDim.y - radius;
    for (int y = threadIdx.y; y < height; y += blockDim.y) {
        const int row = min(max(top + y, 0), rows - 1);
        for (int x = threadIdx.x; x < width; x += blockDim.x) {
            const int column = min(max(left + x, 0), columns - 1);
            tile[y * width + x] = in[static_cast<long long>(row) * columns + column];
        }
    }
    __syncthreads();
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || column >= columns) {
        return;
    }
    const int side = 2 * radius + 1;
    T sum = 0;
    for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) {
            sum += tile[(threadIdx.y + y) * width + threadIdx.x + x];
        }
    }
    out[static_cast<long long>(row) * columns + column] = sum / static_cast<T>(side * side);
}
