#include <cstring>
#include <cstdio>
#include <cuda_runtime.h>
__global__ void twice(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
int main(int c, char **v) {
  const int n = 4 << 20; size_t b = n * sizeof(float); bool good = !strcmp(v[2], "good"); const char *k = v[1];
  float *h, *g, *d, *e; cudaMallocHost(&h, b); cudaMallocHost(&g, b); cudaMalloc(&d, b); cudaMalloc(&e, b); memset(h, 0, b); memset(g, 0, b);
  cudaStream_t s, t; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
  cudaEvent_t x, y; cudaEventCreate(&x); cudaEventCreate(&y);
  for (int r = 0; r < 4; r++) {
    if (!strcmp(k, "no_event")) {
      if (good) { cudaEventRecord(y, t); cudaStreamWaitEvent(s, y, 0); }
      cudaMemcpyAsync(d, h, b, cudaMemcpyHostToDevice, s);
      if (good) { cudaEventRecord(x, s); cudaStreamWaitEvent(t, x, 0); }
      twice<<<n / 256, 256, 0, t>>>(d, n);
    } else if (!strcmp(k, "early_event")) {
      cudaEventRecord(y, t); cudaStreamWaitEvent(s, y, 0);
      if (!good) cudaEventRecord(x, s);
      cudaMemcpyAsync(d, h, b, cudaMemcpyHostToDevice, s);
      if (good) cudaEventRecord(x, s);
      cudaStreamWaitEvent(t, x, 0); twice<<<n / 256, 256, 0, t>>>(d, n);
    } else if (!strcmp(k, "pinned_reuse")) {
      cudaMemcpyAsync(d, h, b, cudaMemcpyHostToDevice, s);
      if (good) { cudaEventRecord(x, s); cudaStreamWaitEvent(t, x, 0); }
      cudaMemcpyAsync(h, e, b, cudaMemcpyDeviceToHost, t);
      if (good) { cudaEventRecord(y, t); cudaStreamWaitEvent(s, y, 0); }
    } else if (!strcmp(k, "default_stream")) {
      // A non-blocking stream does not wait for the default one.
      cudaMemcpyAsync(d, h, b, cudaMemcpyHostToDevice, s);
      if (good) cudaStreamSynchronize(s);
      twice<<<n / 256, 256>>>(d, n);
      if (good) cudaStreamSynchronize(0);
    } else if (!strcmp(k, "results")) {
      twice<<<n / 256, 256, 0, s>>>(d, n);
      if (good) { cudaEventRecord(x, s); cudaStreamWaitEvent(t, x, 0); }
      cudaMemcpyAsync(g, d, b, cudaMemcpyDeviceToHost, t);
      if (good) { cudaEventRecord(y, t); cudaStreamWaitEvent(s, y, 0); }
    } else if (!strcmp(k, "refill")) {
      // The host fills the buffer again while a copy may still read it.
      memset(h, r, b);
      cudaMemcpyAsync(d, h, b, cudaMemcpyHostToDevice, s); cudaEventRecord(x, s);
      twice<<<n / 256, 256, 0, s>>>(d, n);
      if (good) cudaEventSynchronize(x);
    } else if (!strcmp(k, "blocking_streams")) {
      // Blocking streams wait for the default one: both ways are right, one says so by chance.
      cudaStream_t q; if (r == 0) { cudaStreamCreate(&q); }
      static cudaStream_t kept; if (r == 0) kept = q;
      cudaMemcpyAsync(d, h, b, cudaMemcpyHostToDevice, kept);
      twice<<<n / 256, 256>>>(d, n);
    }
  }
  cudaDeviceSynchronize(); return 0;
}
