// Packed coefficients to pixels: inverse DCT, upsampling and colours. Every pixel equals that of
// libjpeg-turbo's accurate integer transform with smooth ("fancy") upsampling on x86-64, where sums
// of 16 bits wrap and results of a pass saturate.
//
// Sources: C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical fast 1-D DCT algorithms with 11
// multiplications", ICASSP 1989, in the form with 12 multiplications; ITU-T T.81; JFIF 1.02.
#include "device.cuh"

namespace {

// The position of coefficient k of the file within a block, row after row.
__constant__ unsigned char positions[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

__device__ int natural(int k) { return positions[k]; }

// Constants of the transform, with 13 bits behind the point.
enum : int {
    BITS = 13,
    EXTRA = 2,  // bits behind the point that the first pass leaves
    C0_298 = 2446,
    C0_390 = 3196,
    C0_541 = 4433,
    C0_765 = 6270,
    C0_899 = 7373,
    C1_175 = 9633,
    C1_501 = 12299,
    C1_847 = 15137,
    C1_961 = 16069,
    C2_053 = 16819,
    C2_562 = 20995,
    C3_072 = 25172,
};

__device__ int wrap16(int v) { return static_cast<int16_t>(static_cast<uint16_t>(v)); }

// Sums that may leave 32 bits wrap, as in vector registers.
__device__ int add(int a, int b) {
    return static_cast<int>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

__device__ int sub(int a, int b) {
    return static_cast<int>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}

__device__ int mad(int a, int x, int b, int y) { return add(a * x, b * y); }

// One dimension of the inverse transform, in place; results lose shift bits and are rounded.
__device__ void transform(int (&v)[8], int shift) {
    const int even2 = mad(v[2], C0_541, v[6], C0_541 - C1_847);
    const int even3 = mad(v[2], C0_541 + C0_765, v[6], C0_541);
    const int even0 = wrap16(v[0] + v[4]) * (1 << BITS);
    const int even1 = wrap16(v[0] - v[4]) * (1 << BITS);
    const int sums[4] = {add(even0, even3), add(even1, even2), sub(even1, even2),
                         sub(even0, even3)};

    const int z3 = wrap16(v[7] + v[3]), z4 = wrap16(v[5] + v[1]);
    const int w3 = mad(z3, C1_175 - C1_961, z4, C1_175);
    const int w4 = mad(z3, C1_175, z4, C1_175 - C0_390);
    const int odd[4] = {
        add(mad(v[7], -C0_899, v[1], C1_501 - C0_899), w4),
        add(mad(v[5], -C2_562, v[3], C3_072 - C2_562), w3),
        add(mad(v[5], C2_053 - C2_562, v[3], -C2_562), w4),
        add(mad(v[7], C0_298 - C0_899, v[1], -C0_899), w3),
    };
    const int half = 1 << (shift - 1);
    for (int i = 0; i < 4; i++) {
        v[i] = clamp(add(add(sums[i], odd[i]), half) >> shift, -32768, 32767);
        v[7 - i] = clamp(add(sub(sums[i], odd[i]), half) >> shift, -32768, 32767);
    }
}

// The geometry of a component, in samples.
struct Plane {
    uint32_t stride, height;  // with the samples that fill up blocks
    uint64_t start;           // in the planes of its image
    uint32_t width, rows;     // that count
};

__device__ Plane plane_of(const dli_jpeg_packed& p, int component) {
    const uint32_t h = component == 0 ? p.h : 1, v = component == 0 ? p.v : 1;
    Plane plane;
    plane.stride = p.across * h * 8;
    plane.height = p.down * v * 8;
    const uint64_t first = static_cast<uint64_t>(p.across) * p.h * p.down * p.v * 64;
    const uint64_t other = static_cast<uint64_t>(p.across) * p.down * 64;
    plane.start = component == 0 ? 0 : first + (component - 1) * other;
    plane.width = (p.width * h + p.h - 1) / p.h;
    plane.rows = (p.height * v + p.v - 1) / p.v;
    return plane;
}

// Where block number n of an image lies: its component, and its first sample within the planes.
__device__ uint64_t place_of(const dli_jpeg_packed& p, uint32_t n, int* component) {
    const uint32_t first = p.h * p.v, in_mcu = first + (p.components == 3 ? 2 : 0);
    const uint32_t mcu = n / in_mcu, k = n % in_mcu;
    uint32_t x = mcu % p.across, y = mcu / p.across;
    *component = 0;
    if (k >= first) {
        *component = static_cast<int>(k - first) + 1;
    } else {
        x = x * p.h + k % p.h;
        y = y * p.v + k / p.h;
    }
    const Plane plane = plane_of(p, *component);
    return plane.start + static_cast<uint64_t>(y) * 8 * plane.stride + x * 8;
}

// Reports whether pixels of a region are made of the block at a place: upsampling reads one sample
// beyond both ends.
__device__ bool is_needed(const dli_jpeg_task& task, const dli_jpeg_packed& p, int component,
                          uint64_t place) {
    const Plane plane = plane_of(p, component);
    const uint64_t n = place - plane.start;
    const uint32_t x = static_cast<uint32_t>(n % plane.stride);
    const uint32_t y = static_cast<uint32_t>(n / plane.stride);
    const uint32_t h = component == 0 ? 1 : p.h, v = component == 0 ? 1 : p.v;
    return x <= (task.x + task.width - 1) / h + 1 && x + 8 >= task.x / h &&
           y <= (task.y + task.height - 1) / v + 1 && y + 8 >= task.y / v;
}

// The samples of an image that a pixel is made of.
struct Samples {
    const unsigned char* data;
    Plane plane;
    __device__ int at(uint32_t x, uint32_t y) const {
        return data[static_cast<uint64_t>(y) * plane.stride + x];
    }
};

// Returns a chroma sample at pixel x of a row, between samples with weights 3 and 1. Narrow images
// repeat samples.
__device__ int smooth_across(const Samples& s, uint32_t x, uint32_t y) {
    const uint32_t at = x / 2, last = s.plane.width - 1;
    if (s.plane.width <= 2) return s.at(at, y);
    if (x % 2 == 0) return at == 0 ? s.at(0, y) : (3 * s.at(at, y) + s.at(at - 1, y) + 1) >> 2;
    return at == last ? s.at(last, y) : (3 * s.at(at, y) + s.at(at + 1, y) + 2) >> 2;
}

// The same between rows, too.
__device__ int smooth_both(const Samples& s, uint32_t x, uint32_t y) {
    const uint32_t at = x / 2, row = y / 2, last = s.plane.width - 1;
    if (s.plane.width <= 2) return s.at(at, row);
    uint32_t other = row;
    if (y % 2 == 0 && row > 0) other = row - 1;
    if (y % 2 == 1 && row + 1 < s.plane.rows) other = row + 1;
    const int here = 3 * s.at(at, row) + s.at(at, other);
    if (x % 2 == 0) {
        if (at == 0) return (4 * here + 8) >> 4;
        return (3 * here + 3 * s.at(at - 1, row) + s.at(at - 1, other) + 8) >> 4;
    }
    if (at == last) return (4 * here + 7) >> 4;
    return (3 * here + 3 * s.at(at + 1, row) + s.at(at + 1, other) + 7) >> 4;
}

__device__ int chroma(const dli_jpeg_packed& p, const Samples& s, uint32_t x, uint32_t y) {
    if (p.h == 1) return s.at(x, y);
    return p.v == 1 ? smooth_across(s, x, y) : smooth_both(s, x, y);
}

}  // namespace

// Makes the samples of all components. Eight threads work on a block: each on a column, then on a
// row.
extern "C" __global__ void dli_jpeg_samples(const dli_jpeg_task* tasks, uint32_t count) {
    __shared__ int coefficients[DLI_JPEG_GROUP][64];
    const dli_jpeg_task& task =
        task_of<dli_jpeg_task, &dli_jpeg_task::first_group>(tasks, count, blockIdx.x);
    const auto& image = *reinterpret_cast<const dli_jpeg_packed*>(task.packed);
    const auto* blocks = reinterpret_cast<const dli_jpeg_block*>(&image + 1);
    const auto* entries = reinterpret_cast<const uint16_t*>(blocks + image.blocks);

    const uint32_t lane = threadIdx.x % 8, own = threadIdx.x / 8;
    const uint32_t n = (blockIdx.x - task.first_group) * DLI_JPEG_GROUP + own;
    int component = 0;
    const uint64_t place = n < image.blocks ? place_of(image, n, &component) : 0;
    const bool live = n < image.blocks && is_needed(task, image, component, place);
    int* const block = coefficients[own];
    for (uint32_t i = lane; i < 64; i += 8) block[i] = 0;
    __syncthreads();
    if (live) {
        const dli_jpeg_block& b = blocks[n];
        if (lane == 0) block[0] = b.dc;
        for (uint32_t i = lane; i < b.count; i += 8) {
            const uint16_t e = entries[b.start + i];
            atomicAdd(&block[natural(e >> 10)], static_cast<int16_t>(e << 6) >> 6);
        }
    }
    __syncthreads();
    if (live) {
        for (uint32_t i = lane; i < 64; i += 8) {  // coefficient i of the file
            int& value = block[natural(static_cast<int>(i))];
            value = wrap16(wrap16(value) * static_cast<int16_t>(image.steps[component][i]));
        }
    }
    __syncthreads();
    int v[8];
    for (int i = 0; i < 8; i++) v[i] = block[8 * i + lane];
    transform(v, BITS - EXTRA);
    for (int i = 0; i < 8; i++) block[8 * i + lane] = v[i];
    __syncthreads();
    if (!live) return;
    for (int i = 0; i < 8; i++) v[i] = block[8 * lane + i];
    transform(v, BITS + EXTRA + 3);
    auto* const to = reinterpret_cast<unsigned char*>(task.planes) + place +
                     static_cast<uint64_t>(lane) * plane_of(image, component).stride;
    for (int i = 0; i < 8; i++) to[i] = static_cast<unsigned char>(clamp(v[i], -128, 127) + 128);
}

// Makes the pixels of regions.
extern "C" __global__ void dli_jpeg_pixels(const dli_jpeg_task* tasks, uint32_t count) {
    const dli_jpeg_task& task =
        task_of<dli_jpeg_task, &dli_jpeg_task::first_tile>(tasks, count, blockIdx.x);
    const auto& image = *reinterpret_cast<const dli_jpeg_packed*>(task.packed);
    const auto* planes = reinterpret_cast<const unsigned char*>(task.planes);
    auto* const pixels = reinterpret_cast<unsigned char*>(task.pixels);
    Samples s[3];
    for (int c = 0; c < image.components; c++) {
        s[c].plane = plane_of(image, c);
        s[c].data = planes + s[c].plane.start;
    }
    const uint64_t all = static_cast<uint64_t>(task.width) * task.height;
    const uint64_t first = static_cast<uint64_t>(blockIdx.x - task.first_tile) * DLI_JPEG_TILE;
    for (uint32_t k = threadIdx.x; k < DLI_JPEG_TILE; k += DLI_JPEG_THREADS_PIXELS) {
        const uint64_t n = first + k;
        if (n >= all) return;
        const uint32_t x = task.x + static_cast<uint32_t>(n % task.width);
        const uint32_t y = task.y + static_cast<uint32_t>(n / task.width);
        const int luma = s[0].at(x, y);
        int red = luma, green = luma, blue = luma;
        if (image.components == 3) {
            const int cb = chroma(image, s[1], x, y) - 128, cr = chroma(image, s[2], x, y) - 128;
            // 1.402, 0.34414, 0.71414 and 1.772, with 16 bits behind the point
            red = clamp(luma + ((91881 * cr + 32768) >> 16), 0, 255);
            green = clamp(luma + ((-22554 * cb - 46802 * cr + 32768) >> 16), 0, 255);
            blue = clamp(luma + ((116130 * cb + 32768) >> 16), 0, 255);
        }
        if (task.channels == 3) {
            unsigned char* const to = pixels + 3 * n;
            to[0] = static_cast<unsigned char>(red);
            to[1] = static_cast<unsigned char>(green);
            to[2] = static_cast<unsigned char>(blue);
        } else if (image.components == 1) {
            pixels[n] = static_cast<unsigned char>(luma);
        } else {  // Pillow's gray
            pixels[n] = static_cast<unsigned char>(
                (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
        }
    }
}
