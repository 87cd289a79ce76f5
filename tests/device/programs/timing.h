// Times programs: each is a function that makes the calls of one pass.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

inline void succeed(cudaError_t result) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(result));
        std::exit(1);
    }
}

// Prints a line of JSON for a program of the name that the scenario has for it.
template <typename Pass>
void time_program(const char* name, Pass one_pass) {
    constexpr int warm_up = 3;
    constexpr size_t least = 9, most = 60;
    constexpr long long nanoseconds = 1'500'000'000;
    using clock = std::chrono::steady_clock;
    auto since = [](clock::time_point start) {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start).count();
    };
    for (int i = 0; i < warm_up; ++i) one_pass();
    succeed(cudaDeviceSynchronize());
    std::vector<long long> passes;
    auto began = clock::now();
    while (passes.size() < least || (since(began) < nanoseconds && passes.size() < most)) {
        auto start = clock::now();
        one_pass();
        succeed(cudaDeviceSynchronize());
        passes.push_back(since(start));
    }
    auto sorted = passes;
    std::sort(sorted.begin(), sorted.end());
    std::printf("{\"program\": \"%s\", \"median_ns\": %lld, \"passes_ns\": [", name,
                sorted[sorted.size() / 2]);
    for (size_t i = 0; i < passes.size(); ++i) std::printf("%s%lld", i ? ", " : "", passes[i]);
    std::printf("]}\n");
    std::fflush(stdout);
}
