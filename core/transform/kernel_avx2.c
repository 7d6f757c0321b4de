//go:build cgo

/* The inner loops for processors with AVX2, chosen when the program runs. Products of weights of 23
 * bits and pixels of 8 are computed exactly in two halves: a weight is high * 4096 + low. */
#include "kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <string.h>

#define VECTOR __attribute__((target("avx2")))

int dli_transform_vectors(void) { return __builtin_cpu_supports("avx2"); }

enum { WEIGHED_TAPS = 64 }; /* more are so few samples that the plain code will do */

/* Four samples at a time, each in a lane. */
VECTOR static void weigh(int32_t* first, int32_t* weights, int32_t taps, const int64_t* windows,
                         int32_t n, const dli_reach* r, int64_t all_from, int64_t all_to) {
    const __m256d one = _mm256_set1_pd(1), half = _mm256_set1_pd(0.5), none = _mm256_setzero_pd();
    const __m256d inverse = _mm256_set1_pd(r->inverse), sign = _mm256_set1_pd(-0.0);
    const __m256d whole = _mm256_set1_pd(1 << DLI_PRECISION);
    for (int32_t x = 0; x < n; x += 4) {
        double number[4], from[4], size[4];
        int64_t shift[4]; /* of a window's weights in its row */
        for (int k = 0; k < 4; k++) {
            int32_t at = x + k < n ? x + k : n - 1;
            const int64_t* w = windows + 2 * (size_t)at;
            int64_t begin = w[0] < all_to - taps ? w[0] : all_to - taps;
            number[k] = (double)(r->begin + at * r->step);
            from[k] = (double)w[0];
            size[k] = (double)(w[1] - w[0]);
            shift[k] = w[0] - begin;
            first[at] = (int32_t)(begin - all_from);
        }
        __m256d center =
            _mm256_mul_pd(_mm256_add_pd(_mm256_loadu_pd(number), half), _mm256_set1_pd(r->scale));
        center = _mm256_add_pd(_mm256_set1_pd(r->lo), center);
        __m256d at = _mm256_loadu_pd(from), left = _mm256_loadu_pd(size), sum = none,
                real[WEIGHED_TAPS];
        for (int t = 0; t < taps; t++) {
            __m256d v = _mm256_add_pd(_mm256_sub_pd(at, center), half);
            v = _mm256_sub_pd(one, _mm256_andnot_pd(sign, _mm256_mul_pd(v, inverse)));
            real[t] = _mm256_and_pd(_mm256_max_pd(v, none), _mm256_cmp_pd(left, none, _CMP_GT_OQ));
            sum = _mm256_add_pd(sum, real[t]);
            at = _mm256_add_pd(at, one);
            left = _mm256_sub_pd(left, one);
        }
        sum = _mm256_blendv_pd(sum, one, _mm256_cmp_pd(sum, none, _CMP_EQ_OQ));
        for (int t = 0; t < taps; t++) {
            int32_t w[4];
            __m256d v = _mm256_mul_pd(_mm256_div_pd(real[t], sum), whole);
            _mm_storeu_si128((__m128i*)w, _mm256_cvttpd_epi32(_mm256_add_pd(v, half)));
            for (int k = 0; k < 4 && x + k < n; k++)
                if (t < size[k]) weights[(size_t)(x + k) * taps + shift[k] + t] = w[k];
        }
    }
}

int dli_weigh_vector(int32_t* first, int32_t* weights, int32_t taps, const int64_t* windows,
                     int32_t n, const dli_reach* r, int64_t all_from, int64_t all_to) {
    if (!dli_transform_vectors() || taps > WEIGHED_TAPS) return 0;
    weigh(first, weights, taps, windows, n, r, all_from, all_to);
    return 1;
}

/* The weights of the horizontal half, as the loop below loads them: of four neighbours, a quad,
 * those of the first and third stand in one register, one in each half of it, those of the second
 * and fourth in another. Taps come in pairs.
 */
typedef struct {
    const int32_t* at;      /* four for each quad: bytes from the begin of a row to its first tap */
    const __m256i* weights; /* four for each pair of each quad: first register high and low, second
                               high and low */
    int pairs, quads;
} table;

size_t dli_across3_room(int taps, int n) {
    size_t quads = (size_t)(n + 3) / 4, pairs = (size_t)(taps + 1) / 2;
    return quads * (pairs * 4 * sizeof(__m256i) + 4 * sizeof(int32_t)) + sizeof(__m256i);
}

/* A pair of weights, high or low halves, for all channels of a pixel. */
static int32_t both(int32_t first, int32_t second) {
    return (int32_t)((uint32_t)(uint16_t)second << 16 | (uint16_t)first);
}

static table lay(const dli_axis* a, int n, void* room) {
    table t = {.pairs = (a->taps + 1) / 2, .quads = (n + 3) / 4};
    uintptr_t begin = ((uintptr_t)room + sizeof(__m256i) - 1) / sizeof(__m256i) * sizeof(__m256i);
    int32_t* weights = (int32_t*)begin;
    int32_t* at = weights + (size_t)t.quads * t.pairs * 32;
    t.weights = (const __m256i*)begin;
    t.at = at;
    for (int q = 0; q < t.quads; q++)
        for (int k = 0; k < 4; k++) {
            int x =
                4 * q + k < n ? 4 * q + k : n - 1; /* behind the end stands the last one again */
            const int32_t* w = a->weights + (size_t)x * a->taps;
            at[4 * q + k] = a->first[x] * 3;
            int32_t* to = weights + (size_t)q * t.pairs * 32 + k % 2 * 16 + k / 2 * 4;
            for (int p = 0; p < t.pairs; p++, to += 32) {
                int32_t v = w[2 * p], u = 2 * p + 1 < a->taps ? w[2 * p + 1] : 0;
                int32_t high = both(v >> 12, u >> 12), low = both(v & 4095, u & 4095);
                for (int c = 0; c < 4; c++) to[c] = high, to[8 + c] = low;
            }
        }
    return t;
}

typedef struct {
    __m256i high, low;
} sums;

VECTOR static inline __m256i two(const uint8_t* p, const uint8_t* q) {
    __m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)p));
    return _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i*)q), 1);
}

VECTOR static inline sums add(sums s, __m256i v, const __m256i* w) {
    s.high = _mm256_add_epi32(s.high, _mm256_madd_epi16(v, w[0]));
    s.low = _mm256_add_epi32(s.low, _mm256_madd_epi16(v, w[1]));
    return s;
}

VECTOR static inline sums none(void) {
    return (sums){_mm256_setzero_si256(), _mm256_set1_epi32(1 << (DLI_PRECISION - 1))};
}

VECTOR static inline __m256i total(sums s) {
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_slli_epi32(s.high, 12), s.low), DLI_PRECISION);
}

/* Quad q of one row: four times three channels and nothing, in 16 bits, in the order of the pixels.
 */
VECTOR static inline __attribute__((always_inline)) __m256i quad(const uint8_t* in, const table* t,
                                                                 int q, int pairs) {
    const __m256i left = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,
                                          0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
    const __m256i right =
        _mm256_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1, 6, -1, 9, -1,
                         7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
    const int32_t* at = t->at + 4 * q;
    const __m256i* w = t->weights + (size_t)q * 4 * pairs;
    sums even = none(), odd = none();
    for (int p = 0; p < pairs; p += 2, in += 12, w += 8) {
        __m256i a = two(in + at[0], in + at[2]), b = two(in + at[1], in + at[3]);
        even = add(even, _mm256_shuffle_epi8(a, left), w);
        odd = add(odd, _mm256_shuffle_epi8(b, left), w + 2);
        if (p + 1 < pairs) {
            even = add(even, _mm256_shuffle_epi8(a, right), w + 4);
            odd = add(odd, _mm256_shuffle_epi8(b, right), w + 6);
        }
    }
    return _mm256_packs_epi32(total(even), total(odd));
}

/* Writes a quad of one row, and of another where there is one, with four bytes behind each. */
VECTOR static inline void put(uint8_t* one, uint8_t* other, __m256i a, __m256i b) {
    const __m256i close = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,
                                           0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    __m256i v = _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xd8);
    v = _mm256_shuffle_epi8(v, close);
    _mm_storeu_si128((__m128i*)one, _mm256_castsi256_si128(v));
    if (other != NULL) _mm_storeu_si128((__m128i*)other, _mm256_extracti128_si256(v, 1));
}

/* count rows, 1 to 4, at once, so that weights are found once. */
VECTOR static inline __attribute__((always_inline)) void across_rows(
    uint8_t* out, size_t out_stride, const uint8_t* in, size_t stride, int count, const table* t,
    int quads, int pairs) {
    for (int q = 0; q < quads; q++, out += 12)
        for (int r = 0; r < count; r += 2) {
            __m256i a = quad(in + r * stride, t, q, pairs), b = a;
            uint8_t* other = NULL;
            if (r + 1 < count) {
                b = quad(in + (r + 1) * stride, t, q, pairs);
                other = out + (r + 1) * out_stride;
            }
            put(out + r * out_stride, other, a, b);
        }
}

VECTOR static void across_many(uint8_t* out, size_t out_stride, const uint8_t* in, size_t stride,
                               int rows, const table* t) {
    int y = 0;
    for (; y + 4 <= rows; y += 4, out += 4 * out_stride, in += 4 * stride) {
        if (t->pairs == 1)
            across_rows(out, out_stride, in, stride, 4, t, t->quads, 1);
        else if (t->pairs == 2)
            across_rows(out, out_stride, in, stride, 4, t, t->quads, 2);
        else
            across_rows(out, out_stride, in, stride, 4, t, t->quads, t->pairs);
    }
    for (; y < rows; y++, out += out_stride, in += stride)
        across_rows(out, out_stride, in, stride, 1, t, t->quads, t->pairs);
}

static uint8_t clamp(int32_t v) {
    v >>= DLI_PRECISION;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* A row behind which only rest bytes from its begin on may be read. */
VECTOR static void last_row(uint8_t* out, const uint8_t* in, size_t rest, const dli_axis* a, int n,
                            const table* t) {
    size_t reach = 12 * (size_t)((t->pairs - 1) / 2) + 16;
    int quads = 0;
    for (; quads < n / 4; quads++) {
        size_t end = 0;
        for (int k = 0; k < 4; k++)
            if ((size_t)t->at[4 * quads + k] > end) end = t->at[4 * quads + k];
        if (end + reach > rest) break;
    }
    across_rows(out, 0, in, 0, 1, t, quads, t->pairs);
    out += 12 * (size_t)quads;
    for (int x = 4 * quads; x < n; x++) {
        const int32_t* w = a->weights + (size_t)x * a->taps;
        const uint8_t* p = in + (size_t)a->first[x] * 3;
        for (int k = 0; k < 3; k++) {
            int32_t sum = 1 << (DLI_PRECISION - 1);
            for (int i = 0; i < a->taps; i++) sum += p[i * 3 + k] * w[i];
            *out++ = clamp(sum);
        }
    }
}

VECTOR void dli_across3_vector(uint8_t* out, size_t out_stride, const uint8_t* in, size_t stride,
                               int rows, size_t rest, const dli_axis* a, int n, void* room) {
    table t = lay(a, n, room);
    size_t reach = 0; /* bytes of a row that are read */
    for (int x = 0; x < n; x++) {
        size_t end = (size_t)a->first[x] * 3 + 12 * (size_t)((t.pairs - 1) / 2) + 16;
        if (end > reach) reach = end;
    }
    int safe = 0;
    while (safe < rows && safe * stride + reach <= rest) safe++;
    across_many(out, out_stride, in, stride, safe, &t);
    for (int y = safe; y < rows; y++)
        last_row(out + y * out_stride, in + y * stride, rest - y * stride, a, n, &t);
}

/* 32 columns of the sums of rows by pairs of weights, high halves and low ones in turn. */
VECTOR static inline __attribute__((always_inline)) void down32(uint8_t* out, const uint8_t* in,
                                                                size_t stride, const int32_t* pairs,
                                                                int taps) {
    const __m256i zero = _mm256_setzero_si256();
    sums s[4];
    for (int i = 0; i < 4; i++) s[i] = none();
    for (int t = 0; t < taps; t += 2, in += 2 * stride, pairs += 2) {
        __m256i a = _mm256_loadu_si256((const __m256i*)in);
        __m256i b = t + 1 < taps ? _mm256_loadu_si256((const __m256i*)(in + stride)) : zero;
        __m256i w[2] = {_mm256_set1_epi32(pairs[0]), _mm256_set1_epi32(pairs[1])};
        __m256i near = _mm256_unpacklo_epi8(a, b), far = _mm256_unpackhi_epi8(a, b);
        s[0] = add(s[0], _mm256_unpacklo_epi8(near, zero), w);
        s[1] = add(s[1], _mm256_unpackhi_epi8(near, zero), w);
        s[2] = add(s[2], _mm256_unpacklo_epi8(far, zero), w);
        s[3] = add(s[3], _mm256_unpackhi_epi8(far, zero), w);
    }
    __m256i near = _mm256_packs_epi32(total(s[0]), total(s[1])),
            far = _mm256_packs_epi32(total(s[2]), total(s[3]));
    _mm256_storeu_si256((__m256i*)out, _mm256_packus_epi16(near, far));
}

VECTOR static inline __attribute__((always_inline)) void down_row(uint8_t* out, const uint8_t* in,
                                                                  size_t stride, size_t n,
                                                                  const int32_t* pairs, int taps) {
    size_t x = 0;
    for (; x + 32 <= n; x += 32) down32(out + x, in + x, stride, pairs, taps);
    if (x < n) down32(out + n - 32, in + n - 32, stride, pairs, taps);
}

enum { MOST_TAPS = 512 };

VECTOR void dli_down_vector(uint8_t* out, const uint8_t* in, size_t stride, size_t n,
                            const int32_t* w, int taps) {
    if (n < 32 || taps > MOST_TAPS) {
        for (size_t x = 0; x < n; x++) {
            int32_t sum = 1 << (DLI_PRECISION - 1);
            for (int t = 0; t < taps; t++) sum += in[t * stride + x] * w[t];
            out[x] = clamp(sum);
        }
        return;
    }
    int32_t pairs[MOST_TAPS];
    for (int t = 0; t < taps; t += 2) {
        int32_t u = t + 1 < taps ? w[t + 1] : 0;
        pairs[t] = both(w[t] >> 12, u >> 12);
        pairs[t + 1] = both(w[t] & 4095, u & 4095);
    }
    if (taps == 2)
        down_row(out, in, stride, n, pairs, 2);
    else if (taps == 3)
        down_row(out, in, stride, n, pairs, 3);
    else if (taps == 4)
        down_row(out, in, stride, n, pairs, 4);
    else
        down_row(out, in, stride, n, pairs, taps);
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
VECTOR void dli_floats3_vector(float* out, size_t plane, const uint8_t* in, size_t n, int chw,
                               float scale, const float* mean, const float* std) {
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
            __m128i b =
                _mm_loadu_si128((const __m128i*)(in + 3 * x + 8)); /* ends with the eighth pixel */
            for (int k = 0; k < 3; k++) {
                __m128i v =
                    _mm_or_si128(_mm_shuffle_epi8(a, first[k]), _mm_shuffle_epi8(b, second[k]));
                _mm256_storeu_ps(out + k * plane + x,
                                 eight(v, by, _mm256_set1_ps(mean[k]), _mm256_set1_ps(std[k])));
            }
        }
    } else {
        float m[24], d[24];
        for (int k = 0; k < 24; k++) m[k] = mean[k % 3], d[k] = std[k % 3];
        for (; x + 8 <= n; x += 8)
            for (int k = 0; k < 24; k += 8) {
                __m128i v = _mm_loadl_epi64((const __m128i*)(in + 3 * x + k));
                _mm256_storeu_ps(out + 3 * x + k,
                                 eight(v, by, _mm256_loadu_ps(m + k), _mm256_loadu_ps(d + k)));
            }
    }
    for (; x < n; x++)
        for (int k = 0; k < 3; k++)
            out[chw ? k * plane + x : 3 * x + k] = one(in[3 * x + k], scale, mean[k], std[k]);
}

#else

int dli_transform_vectors(void) { return 0; }

int dli_weigh_vector(int32_t* first, int32_t* weights, int32_t taps, const int64_t* windows,
                     int32_t n, const dli_reach* r, int64_t all_from, int64_t all_to) {
    (void)first, (void)weights, (void)taps, (void)windows, (void)n, (void)r, (void)all_from,
        (void)all_to;
    return 0;
}

size_t dli_across3_room(int taps, int n) {
    (void)taps, (void)n;
    return 0;
}

void dli_across3_vector(uint8_t* out, size_t out_stride, const uint8_t* in, size_t stride, int rows,
                        size_t rest, const dli_axis* a, int n, void* room) {
    (void)out, (void)out_stride, (void)in, (void)stride, (void)rows, (void)rest, (void)a, (void)n,
        (void)room;
}

void dli_down_vector(uint8_t* out, const uint8_t* in, size_t stride, size_t n,
                     const int32_t* weights, int taps) {
    (void)out, (void)in, (void)stride, (void)n, (void)weights, (void)taps;
}

void dli_floats3_vector(float* out, size_t plane, const uint8_t* in, size_t n, int chw, float scale,
                        const float* mean, const float* std) {
    (void)out, (void)plane, (void)in, (void)n, (void)chw, (void)scale, (void)mean, (void)std;
}

#endif
