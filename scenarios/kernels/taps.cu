// A filter of any number of taps: out[i] is the sum of weights[t] * in[i - t], where in is 0 in
// front of its first element.
__global__ void filter(
    const float* in, const float* weights, float* out, long long elements, int taps
) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i < elements; i += stride) {
        float sum = 0.0f;
        for (int t = 0; t < taps && t <= i; ++t) {
            sum = fmaf(weights[t], in[i - t], sum);
        }
        out[i] = sum;
    }
}
