//go:build cgo && !nolibjpeg

/* Sources: C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical fast 1-D DCT algorithms with 11
 * multiplications", ICASSP 1989, in the form with 12 multiplications; ITU-T T.81; JFIF 1.02. Where
 * values round, wrap and saturate follows from the pixels of libjpeg-turbo, which tests compare. */
#include "turbo_vector.h"

#if DLI_VECTOR_BUILT

#include <immintrin.h>
#include <string.h>

#define VECTOR __attribute__((target("avx2")))
#define INLINE VECTOR static inline __attribute__((always_inline))

int dli_vector_usable(void) { return __builtin_cpu_supports("avx2"); }

/* ---- Inverse DCT ---- */

/* Constants of the transform, with BITS behind the point. */
enum {
    BITS = 13,
    FIRST_SHIFT = BITS - 2,      /* the first pass leaves two bits behind the point */
    SECOND_SHIFT = BITS + 2 + 3, /* the second takes them, and the factor 8 of both */
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

/* A row of two blocks, one in each 128-bit lane, with 32 bits a value: columns 0 to 3 in low. Code
 * that uses low alone makes the compiler leave out what high is computed from. */
typedef struct {
    __m256i low, high;
} wide;

/* a * x + b * y */
INLINE wide products(__m256i a, __m256i b, int x, int y) {
    const __m256i k = _mm256_set1_epi32((int)((uint32_t)y << 16 | (uint16_t)x));
    return (wide){_mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), k),
                  _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), k)};
}

/* a * 2^BITS */
INLINE wide scaled(__m256i a) {
    const __m256i zero = _mm256_setzero_si256();
    return (wide){_mm256_srai_epi32(_mm256_unpacklo_epi16(zero, a), 16 - BITS),
                  _mm256_srai_epi32(_mm256_unpackhi_epi16(zero, a), 16 - BITS)};
}

INLINE wide plus(wide a, wide b) {
    return (wide){_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}

INLINE wide minus(wide a, wide b) {
    return (wide){_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
}

/* Brings a row back to 16 bits; narrow: the values of columns 0 to 3 also take the others' place.
 */
INLINE __m256i narrowed(wide a, int shift, int narrow) {
    const __m256i low = _mm256_srai_epi32(a.low, shift);
    return _mm256_packs_epi32(low, narrow ? low : _mm256_srai_epi32(a.high, shift));
}

/* One dimension of the transform, from row to row. sparse: rows 4 to 7 are 0. */
INLINE void pass(__m256i* v, int shift, int sparse, int narrow) {
    const __m256i half = _mm256_set1_epi32(1 << (shift - 1));
    const __m256i zero = _mm256_setzero_si256();
    wide even0, even1, even2, even3, odd0, odd1, odd2, odd3;
    if (sparse) {
        even0 = even1 = scaled(v[0]);
        even2 = products(v[2], zero, C0_541, 0);
        even3 = products(v[2], zero, C0_541 + C0_765, 0);
        odd0 = products(v[1], v[3], C1_175 - C0_899, C1_175 - C1_961);
        odd1 = products(v[1], v[3], C1_175 - C0_390, C1_175 - C2_562);
        odd2 = products(v[1], v[3], C1_175, C1_175 - C1_961 + C3_072 - C2_562);
        odd3 = products(v[1], v[3], C1_175 - C0_390 + C1_501 - C0_899, C1_175);
    } else {
        even0 = scaled(_mm256_add_epi16(v[0], v[4]));
        even1 = scaled(_mm256_sub_epi16(v[0], v[4]));
        even2 = products(v[2], v[6], C0_541, C0_541 - C1_847);
        even3 = products(v[2], v[6], C0_541 + C0_765, C0_541);
        const __m256i z3 = _mm256_add_epi16(v[7], v[3]), z4 = _mm256_add_epi16(v[5], v[1]);
        const wide w3 = products(z3, z4, C1_175 - C1_961, C1_175);
        const wide w4 = products(z3, z4, C1_175, C1_175 - C0_390);
        odd0 = plus(products(v[7], v[1], C0_298 - C0_899, -C0_899), w3);
        odd1 = plus(products(v[5], v[3], C2_053 - C2_562, -C2_562), w4);
        odd2 = plus(products(v[5], v[3], -C2_562, C3_072 - C2_562), w3);
        odd3 = plus(products(v[7], v[1], -C0_899, C1_501 - C0_899), w4);
    }
    even0 = plus(even0, (wide){half, half});
    even1 = plus(even1, (wide){half, half});
    const wide sum0 = plus(even0, even3), sum1 = plus(even1, even2), sum2 = minus(even1, even2),
               sum3 = minus(even0, even3);
    v[0] = narrowed(plus(sum0, odd3), shift, narrow);
    v[7] = narrowed(minus(sum0, odd3), shift, narrow);
    v[1] = narrowed(plus(sum1, odd2), shift, narrow);
    v[6] = narrowed(minus(sum1, odd2), shift, narrow);
    v[2] = narrowed(plus(sum2, odd1), shift, narrow);
    v[5] = narrowed(minus(sum2, odd1), shift, narrow);
    v[3] = narrowed(plus(sum3, odd0), shift, narrow);
    v[4] = narrowed(minus(sum3, odd0), shift, narrow);
}

INLINE void transpose(__m256i* v) {
    const __m256i a0 = _mm256_unpacklo_epi16(v[0], v[1]), a1 = _mm256_unpackhi_epi16(v[0], v[1]),
                  a2 = _mm256_unpacklo_epi16(v[2], v[3]), a3 = _mm256_unpackhi_epi16(v[2], v[3]),
                  a4 = _mm256_unpacklo_epi16(v[4], v[5]), a5 = _mm256_unpackhi_epi16(v[4], v[5]),
                  a6 = _mm256_unpacklo_epi16(v[6], v[7]), a7 = _mm256_unpackhi_epi16(v[6], v[7]);
    const __m256i b0 = _mm256_unpacklo_epi32(a0, a2), b1 = _mm256_unpackhi_epi32(a0, a2),
                  b2 = _mm256_unpacklo_epi32(a1, a3), b3 = _mm256_unpackhi_epi32(a1, a3),
                  b4 = _mm256_unpacklo_epi32(a4, a6), b5 = _mm256_unpackhi_epi32(a4, a6),
                  b6 = _mm256_unpacklo_epi32(a5, a7), b7 = _mm256_unpackhi_epi32(a5, a7);
    v[0] = _mm256_unpacklo_epi64(b0, b4);
    v[1] = _mm256_unpackhi_epi64(b0, b4);
    v[2] = _mm256_unpacklo_epi64(b1, b5);
    v[3] = _mm256_unpackhi_epi64(b1, b5);
    v[4] = _mm256_unpacklo_epi64(b2, b6);
    v[5] = _mm256_unpackhi_epi64(b2, b6);
    v[6] = _mm256_unpacklo_epi64(b3, b7);
    v[7] = _mm256_unpackhi_epi64(b3, b7);
}

INLINE void store_rows(unsigned char* to, size_t stride, __m128i rows) {
    _mm_storel_epi64((__m128i*)to, rows);
    _mm_storeh_pd((double*)(to + stride), _mm_castsi128_pd(rows));
}

/* Stores two rows of both blocks. */
INLINE void store(const dli_vector_block* a, const dli_vector_block* b, size_t row, __m256i rows) {
    rows = _mm256_xor_si256(rows, _mm256_set1_epi8((char)0x80)); /* signed samples to 0..255 */
    store_rows(a->to + row * a->stride, a->stride, _mm256_castsi256_si128(rows));
    store_rows(b->to + row * b->stride, b->stride, _mm256_extracti128_si256(rows, 1));
}

/* Saturates the columns v to 8 bits and stores them as rows. */
INLINE void store_columns(const dli_vector_block* a, const dli_vector_block* b, const __m256i* v) {
    const __m256i c04 = _mm256_packs_epi16(v[0], v[4]), c15 = _mm256_packs_epi16(v[1], v[5]),
                  c26 = _mm256_packs_epi16(v[2], v[6]), c37 = _mm256_packs_epi16(v[3], v[7]);
    const __m256i c01 = _mm256_unpacklo_epi8(c04, c15), c45 = _mm256_unpackhi_epi8(c04, c15),
                  c23 = _mm256_unpacklo_epi8(c26, c37), c67 = _mm256_unpackhi_epi8(c26, c37);
    const __m256i upper03 = _mm256_unpacklo_epi16(c01, c23),
                  lower03 = _mm256_unpackhi_epi16(c01, c23),
                  upper47 = _mm256_unpacklo_epi16(c45, c67),
                  lower47 = _mm256_unpackhi_epi16(c45, c67);
    store(a, b, 0, _mm256_unpacklo_epi32(upper03, upper47));
    store(a, b, 2, _mm256_unpackhi_epi32(upper03, upper47));
    store(a, b, 4, _mm256_unpacklo_epi32(lower03, lower47));
    store(a, b, 6, _mm256_unpackhi_epi32(lower03, lower47));
}

/* Loads a row of both blocks, or of their factors. */
INLINE __m256i row_of(const int16_t* a, const int16_t* b, size_t row) {
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)(a + 8 * row))),
        _mm_loadu_si128((const __m128i*)(b + 8 * row)), 1);
}

VECTOR dli_vector_kind dli_vector_look(const int16_t* coefficients) {
    __m256i row[4]; /* two rows each */
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        row[i] = _mm256_loadu_si256((const __m256i*)(coefficients + 16 * i));
    const __m256i first = _mm256_setr_epi64x(0xffff, 0, 0, 0);
    const __m256i left = _mm256_setr_epi64x(-1, 0, -1, 0); /* columns 0 to 3 */
    const __m256i upper = _mm256_or_si256(row[0], row[1]), lower = _mm256_or_si256(row[2], row[3]);
    const int sparse = _mm256_testz_si256(lower, lower) & _mm256_testc_si256(left, upper);
    const int flat =
        sparse & _mm256_testc_si256(first, row[0]) & _mm256_testz_si256(row[1], row[1]);
    return (dli_vector_kind)(DLI_FULL - sparse - flat);
}

/* Returns the first row, whose magnitudes the caller checks. */
INLINE __m256i transform_two(const dli_vector_block* a, const dli_vector_block* b, int sparse) {
    const size_t rows = sparse ? 4 : 8;
    __m256i v[8];
#pragma GCC unroll 8
    for (size_t i = 0; i < rows; i++)
        v[i] = _mm256_mullo_epi16(row_of(a->coefficients, b->coefficients, i),
                                  row_of(a->steps, b->steps, i));
    const __m128i zero = _mm_setzero_si128();
#pragma GCC unroll 8
    for (size_t i = 0; i < rows; i++) {
        _mm_storeu_si128((__m128i*)(a->coefficients + 8 * i), zero);
        _mm_storeu_si128((__m128i*)(b->coefficients + 8 * i), zero);
    }
    const __m256i first = v[0];
    pass(v, FIRST_SHIFT, sparse, sparse);
    transpose(v);
    pass(v, SECOND_SHIFT, sparse, 0);
    store_columns(a, b, v);
    return first;
}

INLINE int transform(const dli_vector_block* blocks, size_t n, int sparse) {
    __m256i all = _mm256_setzero_si256();
    for (size_t i = 0; i < n; i += 2)
        all = _mm256_or_si256(all,
                              _mm256_abs_epi16(transform_two(&blocks[i], &blocks[i + 1], sparse)));
    /* Magnitudes of at most DLI_MOST_LEVEL have none of these bits. */
    return _mm256_testz_si256(all, _mm256_set1_epi16((short)~DLI_MOST_LEVEL));
}

VECTOR int dli_vector_transform(const dli_vector_block* blocks, size_t n, int sparse) {
    return sparse ? transform(blocks, n, 1) : transform(blocks, n, 0);
}

int dli_vector_flat(const dli_vector_block* blocks, size_t n) {
    int ok = 1;
    for (const dli_vector_block* b = blocks; b < blocks + n; b++) {
        const int level = (int16_t)(b->coefficients[0] * b->steps[0]);
        b->coefficients[0] = 0;
        int sample = ((level + 4) >> 3) + 128;
        sample = sample < 0 ? 0 : sample > 255 ? 255 : sample;
        for (size_t row = 0; row < 8; row++) memset(b->to + row * b->stride, sample, 8);
        ok &= level <= DLI_MOST_LEVEL && level >= -DLI_MOST_LEVEL;
    }
    return ok;
}

/* ---- Upsampling and colours ---- */

INLINE __m256i load(const void* p) { return _mm256_loadu_si256((const __m256i*)p); }

INLINE __m256i samples16(const unsigned char* p) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i*)p));
}

INLINE __m256i times3(__m256i v) { return _mm256_add_epi16(v, _mm256_add_epi16(v, v)); }

VECTOR void dli_vector_widen(uint16_t* to, const unsigned char* near, const unsigned char* far,
                             size_t n) {
    for (size_t i = 0; i < n; i += 16) {
        __m256i v = samples16(near + i);
        if (far != NULL) v = _mm256_add_epi16(times3(v), samples16(far + i));
        _mm256_storeu_si256((__m256i*)(to + i), v);
    }
    to[-1] = to[0];
    to[n] = to[n - 1];
}

/* 16 samples less 128 for even pixels, and for odd ones. */
typedef struct {
    __m256i even, odd;
} chroma;

/* Interpolates between samples across, with weights 3 and 1. */
INLINE chroma between(const uint16_t* p, int sums) {
    const __m256i near = times3(load(p));
    /* The mean of sums that end in one half rounds up for even pixels, down for odd ones; that of
     * single samples the other way. */
    const __m256i even_half = _mm256_set1_epi16(sums ? 8 : 1),
                  odd_half = _mm256_set1_epi16(sums ? 7 : 2), middle = _mm256_set1_epi16(128);
    const int shift = sums ? 4 : 2;
    const __m256i even = _mm256_add_epi16(_mm256_add_epi16(near, load(p - 1)), even_half);
    const __m256i odd = _mm256_add_epi16(_mm256_add_epi16(near, load(p + 1)), odd_half);
    return (chroma){_mm256_sub_epi16(_mm256_srli_epi16(even, shift), middle),
                    _mm256_sub_epi16(_mm256_srli_epi16(odd, shift), middle)};
}

/* The same of one sample for each pixel. */
INLINE chroma apart(const unsigned char* p) {
    const __m256i v = load(p), middle = _mm256_set1_epi16(128);
    return (chroma){_mm256_sub_epi16(_mm256_and_si256(v, _mm256_set1_epi16(255)), middle),
                    _mm256_sub_epi16(_mm256_srli_epi16(v, 8), middle)};
}

/* 16 pixels that are not saturated. */
typedef struct {
    __m256i r, g, b;
} colors;

/* JFIF's R = Y + 1.402 Cr, G = Y - 0.344136 Cb - 0.714136 Cr, B = Y + 1.772 Cb, with the products
 * (their sum in G) rounded from 16 bits behind the point. A rounding multiplication has 15: 0.402
 * in 15 bits gives the same for all values of 8, -0.228 is exact. */
INLINE colors convert(__m256i y, __m256i cb, __m256i cr) {
    const __m256i r = _mm256_add_epi16(cr, _mm256_mulhrs_epi16(cr, _mm256_set1_epi16(13173)));
    const __m256i b = _mm256_add_epi16(_mm256_add_epi16(cb, cb),
                                       _mm256_mulhrs_epi16(cb, _mm256_set1_epi16(-7471)));
    /* -0.344136 Cb + 0.285864 Cr, less Cr */
    const __m256i weights = _mm256_set1_epi32((int)((uint32_t)18734 << 16 | (uint16_t)-22554));
    const __m256i half = _mm256_set1_epi32(1 << 15);
    const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(cb, cr), weights);
    const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(cb, cr), weights);
    const __m256i g = _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(low, half), 16),
                                         _mm256_srai_epi32(_mm256_add_epi32(high, half), 16));
    return (colors){_mm256_add_epi16(y, r), _mm256_add_epi16(y, _mm256_sub_epi16(g, cr)),
                    _mm256_add_epi16(y, b)};
}

/* For each of the three 16-byte parts of 16 pixels and each colour: which byte of a lane, eight of
 * even and eight of odd pixels, goes where. The table is of one lane; both shuffle alike. */
#define NO -1
static const int8_t places[3][3][16] = {
    {{0, NO, NO, 8, NO, NO, 1, NO, NO, 9, NO, NO, 2, NO, NO, 10},
     {NO, 0, NO, NO, 8, NO, NO, 1, NO, NO, 9, NO, NO, 2, NO, NO},
     {NO, NO, 0, NO, NO, 8, NO, NO, 1, NO, NO, 9, NO, NO, 2, NO}},
    {{NO, NO, 3, NO, NO, 11, NO, NO, 4, NO, NO, 12, NO, NO, 5, NO},
     {10, NO, NO, 3, NO, NO, 11, NO, NO, 4, NO, NO, 12, NO, NO, 5},
     {NO, 10, NO, NO, 3, NO, NO, 11, NO, NO, 4, NO, NO, 12, NO, NO}},
    {{NO, 13, NO, NO, 6, NO, NO, 14, NO, NO, 7, NO, NO, 15, NO, NO},
     {NO, NO, 13, NO, NO, 6, NO, NO, 14, NO, NO, 7, NO, NO, 15, NO},
     {5, NO, NO, 13, NO, NO, 6, NO, NO, 14, NO, NO, 7, NO, NO, 15}},
};
#undef NO

INLINE __m256i part_of(__m256i r, __m256i g, __m256i b, int part) {
    const __m256i to_r =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)places[part][0]));
    const __m256i to_g =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)places[part][1]));
    const __m256i to_b =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)places[part][2]));
    return _mm256_or_si256(
        _mm256_or_si256(_mm256_shuffle_epi8(r, to_r), _mm256_shuffle_epi8(g, to_g)),
        _mm256_shuffle_epi8(b, to_b));
}

/* Makes 32 pixels of their luma and chroma. */
INLINE void pixels(unsigned char* to, const unsigned char* luma, chroma cb, chroma cr) {
    const __m256i y = load(luma);
    const colors even = convert(_mm256_and_si256(y, _mm256_set1_epi16(255)), cb.even, cr.even);
    const colors odd = convert(_mm256_srli_epi16(y, 8), cb.odd, cr.odd);
    const __m256i r = _mm256_packus_epi16(even.r, odd.r), g = _mm256_packus_epi16(even.g, odd.g),
                  b = _mm256_packus_epi16(even.b, odd.b);
    const __m256i p0 = part_of(r, g, b, 0), p1 = part_of(r, g, b, 1), p2 = part_of(r, g, b, 2);
    _mm256_storeu_si256((__m256i*)to, _mm256_permute2x128_si256(p0, p1, 0x20));
    _mm256_storeu_si256((__m256i*)(to + 32), _mm256_permute2x128_si256(p2, p0, 0x30));
    _mm256_storeu_si256((__m256i*)(to + 64), _mm256_permute2x128_si256(p1, p2, 0x31));
}

/* Makes 32 pixels of a row whose chroma is wide. */
INLINE void pixels_half(unsigned char* to, const unsigned char* luma, const uint16_t* cb,
                        const uint16_t* cr, size_t at, int sums) {
    pixels(to + 3 * at, luma + at, between(cb + at / 2, sums), between(cr + at / 2, sums));
}

INLINE void rgb_half(unsigned char* to, const unsigned char* luma, const uint16_t* cb,
                     const uint16_t* cr, size_t n, int sums) {
    size_t i = 0;
    for (; i + DLI_VECTOR_PIXELS <= n; i += DLI_VECTOR_PIXELS)
        pixels_half(to, luma, cb, cr, i, sums);
    if (i == n) return;
    if (n % 2 == 0 && i > 0) { /* some of them again */
        pixels_half(to, luma, cb, cr, n - DLI_VECTOR_PIXELS, sums);
        return;
    }
    unsigned char last[3 * DLI_VECTOR_PIXELS];
    pixels_half(last, luma + i, cb + i / 2, cr + i / 2, 0, sums);
    memcpy(to + 3 * i, last, 3 * (n - i));
}

VECTOR void dli_vector_rgb_half(unsigned char* to, const unsigned char* luma, const uint16_t* cb,
                                const uint16_t* cr, size_t n, int sums) {
    if (sums)
        rgb_half(to, luma, cb, cr, n, 1);
    else
        rgb_half(to, luma, cb, cr, n, 0);
}

VECTOR void dli_vector_rgb(unsigned char* to, const unsigned char* luma, const unsigned char* cb,
                           const unsigned char* cr, size_t n) {
    size_t i = 0;
    for (; i + DLI_VECTOR_PIXELS <= n; i += DLI_VECTOR_PIXELS)
        pixels(to + 3 * i, luma + i, apart(cb + i), apart(cr + i));
    if (i == n) return;
    unsigned char last[3 * DLI_VECTOR_PIXELS];
    pixels(last, luma + i, apart(cb + i), apart(cr + i));
    memcpy(to + 3 * i, last, 3 * (n - i));
}

#else

int dli_vector_usable(void) { return 0; }

#endif
