// The kernel library. Each kernel has a CPU twin in src/host that computes the same
// result; src/kernels documents what each one computes.

typedef unsigned long long u64;

// The layout is that of `Work` in kernels.rs.
struct Work {
    const float *x;
    const float *y;
    const float *z;
    float *out;
    float *workspace;
    u64 count;
    u64 input_count;
    u64 lead;
    float a;
    unsigned extent;
};

#define THREADS 256
#define PER_THREAD 4
#define REDUCTION_BLOCKS 1024

// Each thread works on PER_THREAD elements that are THREADS apart, so neighbouring
// threads touch neighbouring elements.
#define FOR_EACH_ELEMENT(i, count)                                             \
    _Pragma("unroll") for (u64 part = 0,                                       \
                           i = (u64)blockIdx.x * (THREADS * PER_THREAD) +      \
                               threadIdx.x;                                    \
                           part < PER_THREAD; part++, i += THREADS)            \
        if (i < (count))

// Each thread works on PER_THREAD elements at once, a grid's width apart, and then
// advances by as many. The loop body checks each element against `count`. Reading a
// remainder one element at a time would wait for each: a sum of 7,360 elements would take
// 0.4 us longer than one of 8,192.
#define FOR_EACH_ROUND(i, stride, count)                                       \
    for (u64 stride = (u64)gridDim.x * THREADS,                                \
             i = (u64)blockIdx.x * THREADS + threadIdx.x;                      \
         i < (count); i += PER_THREAD * stride)

extern "C" __global__ void __launch_bounds__(THREADS) scale(Work w) {
    FOR_EACH_ELEMENT(i, w.count) w.out[i] = w.a * w.x[i];
}

extern "C" __global__ void __launch_bounds__(THREADS) saxpy(Work w) {
    FOR_EACH_ELEMENT(i, w.count) w.out[i] = fmaf(w.a, w.x[i], w.y[i]);
}

extern "C" __global__ void __launch_bounds__(THREADS) polynomial(Work w) {
    u64 first = (u64)blockIdx.x * (THREADS * PER_THREAD) + threadIdx.x;
    float x[PER_THREAD], value[PER_THREAD];
#pragma unroll
    for (int part = 0; part < PER_THREAD; part++) {
        u64 i = first + part * THREADS;
        x[part] = i < w.count ? w.x[i] : 0.0f;
        value[part] = 1.0f;
    }
    // Each multiply-add depends on the one before. Independent chains hide that latency.
#pragma unroll 8
    for (unsigned k = 0; k < w.extent; k++) {
#pragma unroll
        for (int part = 0; part < PER_THREAD; part++)
            value[part] = fmaf(value[part], x[part], 0.25f);
    }
#pragma unroll
    for (int part = 0; part < PER_THREAD; part++) {
        u64 i = first + part * THREADS;
        if (i < w.count) w.out[i] = value[part];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) stencil(Work w) {
    FOR_EACH_ELEMENT(i, w.count) {
        u64 at = i + w.lead;
        u64 left = at == 0 ? 0 : at - 1;
        u64 right = at + 1 < w.input_count ? at + 1 : w.input_count - 1;
        w.out[i] = (w.x[left] + w.x[at] + w.x[right]) * (1.0f / 3.0f);
    }
}

// The normal distribution function to 1e-7, as in the CPU twin: Abramowitz and Stegun,
// 26.2.17.
__device__ float normal(float d) {
    float k = 1.0f / fmaf(0.2316419f, fabsf(d), 1.0f);
    float series = fmaf(1.3302744f, k, -1.8212559f);
    series = fmaf(fmaf(fmaf(series, k, 1.7814779f), k, -0.35656378f), k, 0.31938154f) * k;
    float tail = 0.3989423f * expf(-0.5f * d * d) * series;
    return 0.5f + copysignf(0.5f - tail, d);
}

// The constants are those of `BlackScholes` in src/kernels.
extern "C" __global__ void __launch_bounds__(THREADS) black_scholes(Work w) {
    const float rate = 0.02f, volatility = 0.3f, least = 1e-6f;
    FOR_EACH_ELEMENT(i, w.count) {
        float s = fmaxf(w.x[i], least), k = fmaxf(w.y[i], least), t = fmaxf(w.z[i], least);
        float spread = volatility * sqrtf(t);
        float d1 = (logf(s / k) + (rate + 0.5f * volatility * volatility) * t) / spread;
        w.out[i] = s * normal(d1) - k * expf(-rate * t) * normal(d1 - spread);
    }
}

// Dynamic shared memory; the launch says how many bytes.
extern __shared__ float4 dynamic_shared[];

// Each thread computes four neighbouring outputs and slides a window of eight inputs
// along. For every four weights it reads one vector of weights and one of inputs. Weights
// beyond the last and inputs beyond the tile count as zero.
extern "C" __global__ void __launch_bounds__(THREADS) convolution(Work w) {
    unsigned groups = (w.extent + 3) / 4, tile_length = THREADS + groups;
    float4 *tile = dynamic_shared, *weights = dynamic_shared + tile_length;
    u64 first = (u64)blockIdx.x * (THREADS * PER_THREAD);
    long long start = (long long)(first + w.lead) - (long long)(w.extent / 2);
    long long last = (long long)w.input_count - 1;
    unsigned width = THREADS * PER_THREAD + w.extent - 1;
    for (unsigned i = threadIdx.x; i < 4 * tile_length; i += THREADS) {
        long long at = start + i;
        at = at < 0 ? 0 : at > last ? last : at;
        ((float *)tile)[i] = i < width ? w.x[at] : 0.0f;
    }
    for (unsigned t = threadIdx.x; t < 4 * groups; t += THREADS)
        ((float *)weights)[t] = t < w.extent ? w.y[t] : 0.0f;
    __syncthreads();
    float4 low = tile[threadIdx.x];
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (unsigned group = 0; group < groups; group++) {
        float4 high = tile[threadIdx.x + group + 1], weight = weights[group];
        float window[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        float four[4] = {weight.x, weight.y, weight.z, weight.w};
#pragma unroll
        for (int t = 0; t < 4; t++) {
#pragma unroll
            for (int out = 0; out < 4; out++)
                sum[out] = fmaf(four[t], window[out + t], sum[out]);
        }
        low = high;
    }
    // The outputs pass through the tile, so that neighbouring threads store neighbouring
    // elements.
    __syncthreads();
    tile[threadIdx.x] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    __syncthreads();
#pragma unroll
    for (unsigned i = threadIdx.x; i < THREADS * PER_THREAD; i += THREADS)
        if (first + i < w.count) w.out[first + i] = ((float *)tile)[i];
}

#define TILE 32

// A tile is read along its rows and written along its columns, through shared memory. Its
// rows there are one element longer than the tile, so that a column touches every bank
// once.
extern "C" __global__ void __launch_bounds__(THREADS) transpose(Work w) {
    float *tile = (float *)dynamic_shared;
    u64 columns = w.extent, rows = w.count / columns, across = (columns + TILE - 1) / TILE;
    u64 first_row = blockIdx.x / across * TILE, first_column = blockIdx.x % across * TILE;
    unsigned x = threadIdx.x % TILE, y = threadIdx.x / TILE;
#pragma unroll
    for (unsigned j = y; j < TILE; j += THREADS / TILE) {
        u64 row = first_row + j, column = first_column + x;
        if (row < rows && column < columns)
            tile[j * (TILE + 1) + x] = w.x[row * columns + column];
    }
    __syncthreads();
#pragma unroll
    for (unsigned j = y; j < TILE; j += THREADS / TILE) {
        u64 row = first_row + x, column = first_column + j;
        if (row < rows && column < columns)
            w.out[column * rows + row] = tile[x * (TILE + 1) + j];
    }
}

__device__ float block_sum(float value) {
    __shared__ float warps[THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < THREADS / 32 ? warps[threadIdx.x] : 0.0f;
        for (int offset = THREADS / 64; offset > 0; offset /= 2)
            value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    return value;
}

// One launch does it all: every block leaves its partial sum in the workspace, and the
// last block to finish adds them up. `atomicInc` wraps the counter behind the partial
// sums back to zero, so the workspace is cleared only once, when it is allocated.
extern "C" __global__ void __launch_bounds__(THREADS) sum(Work w) {
    __shared__ bool last;
    float parts[PER_THREAD] = {};
    FOR_EACH_ROUND(i, stride, w.count) {
#pragma unroll
        for (int k = 0; k < PER_THREAD; k++) {
            u64 at = i + k * stride;
            if (at < w.count) parts[k] += w.x[at];
        }
    }
    float value = block_sum((parts[0] + parts[1]) + (parts[2] + parts[3]));
    if (threadIdx.x == 0) {
        w.workspace[blockIdx.x] = value;
        __threadfence();
        unsigned *finished = (unsigned *)(w.workspace + REDUCTION_BLOCKS);
        last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    value = 0.0f;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS)
        value += ((volatile float *)w.workspace)[b];
    __syncthreads();
    value = block_sum(value);
    if (threadIdx.x == 0) w.out[0] = value;
}

// One launch does it all: blocks count in shared memory and then add their counts to the
// totals in the workspace. The last block to finish writes the totals out and zeroes them
// for the next launch.
extern "C" __global__ void __launch_bounds__(THREADS) histogram(Work w) {
    __shared__ bool last;
    unsigned *counts = (unsigned *)dynamic_shared, *totals = (unsigned *)w.workspace;
    for (unsigned bin = threadIdx.x; bin < w.extent; bin += THREADS) counts[bin] = 0;
    __syncthreads();
    float bins = (float)w.extent;
    FOR_EACH_ROUND(i, stride, w.count) {
        float x[PER_THREAD];
#pragma unroll
        for (int k = 0; k < PER_THREAD; k++) {
            u64 at = i + k * stride;
            x[k] = at < w.count ? w.x[at] : 0.0f;
        }
        // The conversion saturates: negative numbers and NaN become 0, large ones the
        // last bin.
#pragma unroll
        for (int k = 0; k < PER_THREAD; k++)
            if (i + k * stride < w.count)
                atomicAdd(&counts[min(__float2uint_rz(x[k] * bins), w.extent - 1)], 1u);
    }
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < w.extent; bin += THREADS)
        if (counts[bin]) atomicAdd(&totals[bin], counts[bin]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(&totals[w.extent], gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (unsigned bin = threadIdx.x; bin < w.extent; bin += THREADS) {
        w.out[bin] = (float)((volatile unsigned *)totals)[bin];
        totals[bin] = 0;
    }
}

// Spins until the host writes `epoch` or the timeout has passed.
extern "C" __global__ void hold_until_released(volatile unsigned *flag, unsigned epoch,
                                               u64 timeout_ns) {
    u64 start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (*flag < epoch && now - start < timeout_ns);
}
