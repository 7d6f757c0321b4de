//go:build cgo

/* The inner loops for processors with AVX2, chosen when the program runs. Products of weights of 23 bits and pixels of
 * 8 are computed exactly in two halves: a weight is high * 4096 + low. */
#include "kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <string.h>

#define VECTOR __attribute__((target("avx2")))

int dl_transform_vectors(void) { return __builtin_cpu_supports("avx2"); }

/* Four weights as two pairs of high and two pairs of low halves, for each group of four taps. */
static void split(int16_t* out, const int32_t* w, int taps) {
    for (int t = 0; t < taps; t += 4, out += 8)
        for (int k = 0; k < 4; k++) {
            int32_t v = t + k < taps ? w[t + k] : 0;
            out[k] = (int16_t)(v >> 12);
            out[4 + k] = (int16_t)(v & 4095);
        }
}

typedef struct {
    __m256i high, low;
} sums;

/* Adds four taps of three channels: one pixel pair in each half of the register. */
VECTOR static inline sums add4(sums s, const uint8_t* p, __m256i high, __m256i low, __m256i shuffle) {
    __m256i v = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)p));
    v = _mm256_shuffle_epi8(v, shuffle);
    s.high = _mm256_add_epi32(s.high, _mm256_madd_epi16(v, high));
    s.low = _mm256_add_epi32(s.low, _mm256_madd_epi16(v, low));
    return s;
}

VECTOR static inline __m128i total(sums s) {
    __m256i v = _mm256_add_epi32(_mm256_slli_epi32(s.high, 12), s.low);
    __m128i t = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    return _mm_srai_epi32(_mm_add_epi32(t, _mm_set1_epi32(1 << (DL_PRECISION - 1))), DL_PRECISION);
}

VECTOR static inline void store4(uint8_t* out, int v) { memcpy(out, &v, 4); }

/* count rows, 1 to 4, at once, so that weights are loaded once. */
VECTOR static inline __attribute__((always_inline)) void across_rows(uint8_t* out, size_t out_stride, const uint8_t* in,
                                                                     size_t stride, int count, const dl_axis* a, int n,
                                                                     const int16_t* pairs) {
    const __m256i shuffle = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, 6, -1, 9, -1, 7,
                                             -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
    const __m256i take_high = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1),
                  take_low = _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3);
    int groups = (a->taps + 3) / 4;
    for (int x = 0; x < n; x++) {
        const uint8_t* p = in + (size_t)a->first[x] * 3;
        sums s[4];
        for (int r = 0; r < count; r++) s[r].high = s[r].low = _mm256_setzero_si256();
        for (int g = 0; g < groups; g++, p += 12, pairs += 8) {
            __m256i w = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)pairs));
            __m256i high = _mm256_permutevar8x32_epi32(w, take_high), low = _mm256_permutevar8x32_epi32(w, take_low);
            for (int r = 0; r < count; r++) s[r] = add4(s[r], p + r * stride, high, low, shuffle);
        }
        for (int r = 0; r < count; r++) {
            __m128i t = total(s[r]);
            t = _mm_packus_epi16(_mm_packs_epi32(t, t), t);
            store4(out + r * out_stride + x * 3, _mm_cvtsi128_si32(t));
        }
    }
}

static uint8_t clamp(int32_t v) {
    v >>= DL_PRECISION;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* A row of which nothing may be read behind its end. */
static void last_row(uint8_t* out, const uint8_t* in, const dl_axis* a, int n) {
    for (int x = 0; x < n; x++) {
        const int32_t* w = a->weights + (size_t)x * a->taps;
        const uint8_t* p = in + (size_t)a->first[x] * 3;
        for (int k = 0; k < 3; k++) {
            int32_t sum = 1 << (DL_PRECISION - 1);
            for (int t = 0; t < a->taps; t++) sum += p[t * 3 + k] * w[t];
            *out++ = clamp(sum);
        }
    }
}

VECTOR void dl_across3_vector(uint8_t* out, size_t out_stride, const uint8_t* in, size_t stride, int rows, size_t rest,
                              const dl_axis* a, int n, int16_t* pairs) {
    int groups = (a->taps + 3) / 4;
    size_t reach = 0; /* bytes of a row that are read */
    for (int x = 0; x < n; x++) {
        split(pairs + (size_t)x * groups * 8, a->weights + (size_t)x * a->taps, a->taps);
        size_t end = (size_t)a->first[x] * 3 + 12 * (groups - 1) + 16;
        if (end > reach) reach = end;
    }
    int safe = 0;
    while (safe < rows && safe * stride + reach <= rest) safe++;
    int y = 0;
    for (; y + 4 <= safe; y += 4)
        across_rows(out + y * out_stride, out_stride, in + y * stride, stride, 4, a, n, pairs);
    for (; y < safe; y++) across_rows(out + y * out_stride, out_stride, in + y * stride, stride, 1, a, n, pairs);
    for (; y < rows; y++) last_row(out + y * out_stride, in + y * stride, a, n);
}

/* 16 columns from x on. */
VECTOR static inline void down16(uint8_t* out, const uint8_t* in, size_t stride, const int32_t* w, int taps) {
    __m256i h0 = _mm256_setzero_si256(), h1 = h0, l0 = h0, l1 = h0;
    for (int t = 0; t < taps; t += 2) {
        int more = t + 1 < taps;
        int32_t v = w[t], u = more ? w[t + 1] : 0;
        __m256i a = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i*)(in + t * stride)));
        __m256i b = more ? _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i*)(in + (t + 1) * stride))) : a;
        __m256i high = _mm256_set1_epi32((int32_t)((uint32_t)(u >> 12) << 16 | ((uint32_t)(v >> 12) & 0xffff)));
        __m256i low = _mm256_set1_epi32((u & 4095) << 16 | (v & 4095));
        __m256i x = _mm256_unpacklo_epi16(a, b), y = _mm256_unpackhi_epi16(a, b);
        h0 = _mm256_add_epi32(h0, _mm256_madd_epi16(x, high));
        h1 = _mm256_add_epi32(h1, _mm256_madd_epi16(y, high));
        l0 = _mm256_add_epi32(l0, _mm256_madd_epi16(x, low));
        l1 = _mm256_add_epi32(l1, _mm256_madd_epi16(y, low));
    }
    const __m256i half = _mm256_set1_epi32(1 << (DL_PRECISION - 1));
    h0 = _mm256_srai_epi32(_mm256_add_epi32(_mm256_add_epi32(_mm256_slli_epi32(h0, 12), l0), half), DL_PRECISION);
    h1 = _mm256_srai_epi32(_mm256_add_epi32(_mm256_add_epi32(_mm256_slli_epi32(h1, 12), l1), half), DL_PRECISION);
    __m256i v = _mm256_packs_epi32(h0, h1);
    v = _mm256_permute4x64_epi64(_mm256_packus_epi16(v, v), 0x08);
    _mm_storeu_si128((__m128i*)out, _mm256_castsi256_si128(v));
}

VECTOR void dl_down_vector(uint8_t* out, const uint8_t* in, size_t stride, size_t n, const int32_t* w, int taps) {
    size_t x = 0;
    for (; x + 16 <= n; x += 16) down16(out + x, in + x, stride, w, taps);
    if (x < n && n >= 16) {
        down16(out + n - 16, in + n - 16, stride, w, taps);
        return;
    }
    for (; x < n; x++) {
        int32_t sum = 1 << (DL_PRECISION - 1);
        for (int t = 0; t < taps; t++) sum += in[t * stride + x] * w[t];
        out[x] = clamp(sum);
    }
}

static float one(uint8_t v, float scale, float mean, float std) {
    float x = (float)v * scale;
    x = x - mean;
    return x / std;
}

VECTOR static inline __m256 eight(__m128i bytes, __m256 scale, __m256 mean, __m256 std) {
    __m256 v = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
    return _mm256_div_ps(_mm256_sub_ps(_mm256_mul_ps(v, scale), mean), std);
}

/* Pixels to planes that lie plane floats apart, or, with chw 0, to pixels. */
VECTOR void dl_floats3_vector(float* out, size_t plane, const uint8_t* in, size_t n, int chw, float scale,
                              const float* mean, const float* std) {
    const __m256 by = _mm256_set1_ps(scale);
    size_t x = 0;
    if (chw) {
        __m128i first[3], second[3];
        first[0] = _mm_setr_epi8(0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
        first[1] = _mm_setr_epi8(1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
        first[2] = _mm_setr_epi8(2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
        second[0] = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1);
        second[1] = _mm_setr_epi8(-1, -1, -1, -1, -1, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1);
        second[2] = _mm_setr_epi8(-1, -1, -1, -1, -1, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1);
        for (; x + 8 <= n; x += 8) {
            __m128i a = _mm_loadu_si128((const __m128i*)(in + 3 * x));
            __m128i b = _mm_loadu_si128((const __m128i*)(in + 3 * x + 8)); /* ends with the eighth pixel */
            for (int k = 0; k < 3; k++) {
                __m128i v = _mm_or_si128(_mm_shuffle_epi8(a, first[k]), _mm_shuffle_epi8(b, second[k]));
                _mm256_storeu_ps(out + k * plane + x, eight(v, by, _mm256_set1_ps(mean[k]), _mm256_set1_ps(std[k])));
            }
        }
    } else {
        float m[24], d[24];
        for (int k = 0; k < 24; k++) m[k] = mean[k % 3], d[k] = std[k % 3];
        for (; x + 8 <= n; x += 8)
            for (int k = 0; k < 24; k += 8) {
                __m128i v = _mm_loadl_epi64((const __m128i*)(in + 3 * x + k));
                _mm256_storeu_ps(out + 3 * x + k, eight(v, by, _mm256_loadu_ps(m + k), _mm256_loadu_ps(d + k)));
            }
    }
    for (; x < n; x++)
        for (int k = 0; k < 3; k++) out[chw ? k * plane + x : 3 * x + k] = one(in[3 * x + k], scale, mean[k], std[k]);
}

#else

int dl_transform_vectors(void) { return 0; }

void dl_across3_vector(uint8_t* out, size_t out_stride, const uint8_t* in, size_t stride, int rows, size_t rest,
                       const dl_axis* a, int n, int16_t* pairs) {
    (void)out, (void)out_stride, (void)in, (void)stride, (void)rows, (void)rest, (void)a, (void)n, (void)pairs;
}

void dl_down_vector(uint8_t* out, const uint8_t* in, size_t stride, size_t n, const int32_t* weights, int taps) {
    (void)out, (void)in, (void)stride, (void)n, (void)weights, (void)taps;
}

void dl_floats3_vector(float* out, size_t plane, const uint8_t* in, size_t n, int chw, float scale, const float* mean,
                       const float* std) {
    (void)out, (void)plane, (void)in, (void)n, (void)chw, (void)scale, (void)mean, (void)std;
}

#endif
