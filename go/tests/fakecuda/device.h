// The words of CUDA C++ on the host: a kernel that is compiled with this runs as fibers, one for
// each thread of a block, and block after block.
#pragma once

#include <stdint.h>

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

static inline int atomicAdd(int* at, int value) {  // fibers do not interrupt each other
    const int before = *at;
    *at += value;
    return before;
}
