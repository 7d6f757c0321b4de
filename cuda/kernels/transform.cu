// Transforms of pictures, pass after pass, by the jobs that core/transform packs. Every number
// equals that of core/transform on the CPU: resizing computes in integers, colours in single
// precision, each operation rounded by itself.
#include "device.cuh"

namespace {

// A job with its passes and tables.
struct Job {
    const unsigned char* memory;
    __device__ const dli_packed_job& head() const {
        return *reinterpret_cast<const dli_packed_job*>(memory);
    }
    __device__ const dli_packed_pass& pass(uint32_t n) const {
        return reinterpret_cast<const dli_packed_pass*>(memory + sizeof(dli_packed_job))[n];
    }
    __device__ const int* table(uint32_t offset) const {
        return reinterpret_cast<const int*>(memory + offset);
    }
    __device__ const float* constants() const {
        return reinterpret_cast<const float*>(memory + head().constants);
    }
};

// The pixels that a pass takes.
struct Input {
    const unsigned char* data;
    uint32_t stride, channels;
    __device__ const unsigned char* at(uint32_t x, uint32_t y) const {
        return data + static_cast<uint64_t>(y) * stride + static_cast<uint64_t>(x) * channels;
    }
};

// Returns torchvision's gray value of a pixel, a whole number.
__device__ int luma(const unsigned char* pixel) {
    float v = __fmul_rn(pixel[0], 0.2989f);
    v = __fadd_rn(v, __fmul_rn(pixel[1], 0.587f));
    v = __fadd_rn(v, __fmul_rn(pixel[2], 0.114f));
    return static_cast<int>(v);
}

__device__ unsigned char cut(float v) {
    return static_cast<unsigned char>(v < 0 ? 0 : v > 255 ? 255 : v);
}

// Returns value * factor + add.
__device__ unsigned char mix(int value, float factor, float add) {
    return cut(__fadd_rn(__fmul_rn(static_cast<float>(value), factor), add));
}

// Returns the part of the other picture that blending by a factor takes.
__device__ float rest(float factor) { return static_cast<float>(1 - static_cast<double>(factor)); }

// Returns the weighted sum of bytes that lie a step apart.
__device__ unsigned char weigh(const unsigned char* in, uint64_t step, const int* weights,
                               uint32_t taps) {
    int sum = 1 << (DLI_PASS_PRECISION - 1);
    for (uint32_t t = 0; t < taps; t++) sum += in[t * step] * weights[t];
    return static_cast<unsigned char>(clamp(sum >> DLI_PASS_PRECISION, 0, 255));
}

// Returns what contrast adds: a part of the mean of the picture.
__device__ float gray_of(const Job& job, const dli_packed_pass& pass) {
    const uint64_t sum = *reinterpret_cast<const uint64_t*>(job.memory + pass.sum);
    const double pixels = static_cast<double>(pass.in_width) * pass.in_height;
    return __fmul_rn(static_cast<float>(static_cast<double>(sum) / pixels), rest(pass.factor));
}

// Returns channel k of pixel (x, y) of a pass. gray is what contrast adds.
__device__ unsigned char value_of(const Job& job, const dli_packed_pass& pass, const Input& in,
                                  float gray, uint32_t x, uint32_t y, uint32_t k) {
    switch (pass.what) {
        case DLI_PASS_GATHER: {
            const int from = job.table(pass.columns)[x], row = job.table(pass.rows)[y];
            return from < 0 || row < 0 ? pass.fill[k % DLI_PASS_FILL] : in.at(from, row)[k];
        }
        case DLI_PASS_ACROSS:
            return weigh(in.at(job.table(pass.columns)[x], y) + k, in.channels,
                         job.table(pass.weights) + x * pass.taps, pass.taps);
        case DLI_PASS_DOWN:
            return weigh(in.at(x, job.table(pass.rows)[y]) + k, in.stride,
                         job.table(pass.weights) + y * pass.taps, pass.taps);
    }
    const unsigned char* const pixel = in.at(x + pass.left, y + pass.top);
    switch (pass.what) {
        case DLI_PASS_BRIGHTEN:
            return mix(pixel[k], pass.factor, 0);
        case DLI_PASS_CONTRAST:
            return mix(pixel[k], pass.factor, gray);
        case DLI_PASS_SATURATE:
            return mix(pixel[k], pass.factor,
                       __fmul_rn(static_cast<float>(luma(pixel)), rest(pass.factor)));
    }
    return pixel[k];
}

// Rounds to bfloat16, to even.
__device__ uint16_t to_bfloat16(float v) {
    const uint32_t bits = __float_as_uint(v);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Rounds to float16, to even; too large values become infinite.
__device__ uint16_t to_float16(float v) {
    const uint32_t bits = __float_as_uint(v), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);
    if (rest < 0x38800000) {  // subnormal: the addition rounds
        const uint32_t sum = __float_as_uint(__fadd_rn(__uint_as_float(rest), 0.5f));
        return static_cast<uint16_t>(sign | (sum - 0x3f000000));
    }
    return static_cast<uint16_t>(sign | (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
}

// Writes value n of the result, of channel k.
__device__ void store(const Job& job, uint64_t out, uint64_t n, uint32_t k, unsigned char value) {
    const dli_packed_job& head = job.head();
    if (head.form == DLI_RESULT_UINT8) {
        reinterpret_cast<unsigned char*>(out)[n] = value;
        return;
    }
    const float* const means = job.constants();
    const uint32_t own = head.means == 1 ? 0 : k;
    const float scaled = __fmul_rn(static_cast<float>(value), head.scale);
    const float v = __fdiv_rn(__fsub_rn(scaled, means[own]), means[head.means + own]);
    if (head.form == DLI_RESULT_FLOAT32) {
        reinterpret_cast<float*>(out)[n] = v;
    } else {
        reinterpret_cast<uint16_t*>(out)[n] =
            head.form == DLI_RESULT_FLOAT16 ? to_float16(v) : to_bfloat16(v);
    }
}

}  // namespace

// Makes the pixels of one pass of each picture.
extern "C" __global__ void dli_transform_pass(const dli_transform_task* tasks, uint32_t count) {
    const dli_transform_task& task =
        task_of<dli_transform_task, &dli_transform_task::first_tile>(tasks, count, blockIdx.x);
    const Job job = {reinterpret_cast<const unsigned char*>(task.job)};
    const dli_packed_job& head = job.head();
    const dli_packed_pass& pass = job.pass(task.pass);
    const Input in = {reinterpret_cast<const unsigned char*>(task.in), task.in_stride,
                      head.channels};
    const float gray = pass.what == DLI_PASS_CONTRAST ? gray_of(job, pass) : 0;
    const bool last = task.pass + 1 == head.passes;
    const uint64_t pixels = static_cast<uint64_t>(pass.width) * pass.height;
    const uint64_t first = static_cast<uint64_t>(blockIdx.x - task.first_tile) * DLI_PASS_TILE;
    for (uint32_t i = threadIdx.x; i < DLI_PASS_TILE; i += DLI_PASS_THREADS) {
        const uint64_t n = first + i;
        if (n >= pixels) return;
        const uint32_t x = static_cast<uint32_t>(n % pass.width);
        const uint32_t y = static_cast<uint32_t>(n / pass.width);
        for (uint32_t k = 0; k < head.channels; k++) {
            const unsigned char value = value_of(job, pass, in, gray, x, y, k);
            if (last)
                store(job, task.out, head.planar ? k * pixels + n : n * head.channels + k, k,
                      value);
            else
                reinterpret_cast<unsigned char*>(task.out)[n * head.channels + k] = value;
        }
    }
}

// Adds up the gray values of pictures before their contrast changes. Sums of integers do not depend
// on their order.
extern "C" __global__ void dli_transform_sum(const dli_transform_task* tasks, uint32_t count) {
    __shared__ unsigned long long sum;
    const dli_transform_task& task =
        task_of<dli_transform_task, &dli_transform_task::first_tile>(tasks, count, blockIdx.x);
    const Job job = {reinterpret_cast<const unsigned char*>(task.job)};
    const uint32_t channels = job.head().channels;
    const dli_packed_pass& pass = job.pass(task.pass);
    const Input in = {reinterpret_cast<const unsigned char*>(task.in), task.in_stride, channels};
    const uint64_t pixels = static_cast<uint64_t>(pass.in_width) * pass.in_height;
    const uint64_t first = static_cast<uint64_t>(blockIdx.x - task.first_tile) * DLI_PASS_TILE;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    unsigned long long own = 0;
    for (uint32_t i = threadIdx.x; i < DLI_PASS_TILE && first + i < pixels; i += DLI_PASS_THREADS) {
        const uint32_t x = static_cast<uint32_t>((first + i) % pass.in_width);
        const uint32_t y = static_cast<uint32_t>((first + i) / pass.in_width);
        const unsigned char* const pixel = in.at(x, y);
        own += static_cast<unsigned>(channels == 3 ? luma(pixel) : pixel[0]);
    }
    atomicAdd(&sum, own);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(reinterpret_cast<unsigned long long*>(task.job + pass.sum), sum);
}
