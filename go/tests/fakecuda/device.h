// The words of CUDA C++ on the host: a kernel that is compiled with this runs as fibers, one for
// each thread of a block, and block after block.
#pragma once

#include <stdint.h>
#include <string.h>

struct fake_index {
    unsigned x, y, z;
};

extern fake_index threadIdx, blockIdx, blockDim, gridDim;

#define __global__
#define __device__ inline
#define __shared__ static
#define __constant__ static const

// Waits for all threads of the block that have not ended.
void __syncthreads();

template <typename Number>
static inline Number atomicAdd(Number* at, Number value) {  // fibers do not interrupt each other
    const Number before = *at;
    *at += value;
    return before;
}

// Single operations, rounded to the nearest.
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }

static inline uint32_t __float_as_uint(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float __uint_as_float(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
