//go:build cgo

#include "kernel.h"

/* The compiler's flag DLI_PORTABLE leaves the loops out, for tests. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(DLI_PORTABLE)

#include <immintrin.h>
#include <string.h>

#define VECTOR __attribute__((target("avx2")))
#define INLINE VECTOR static inline __attribute__((always_inline))
#define MIX INLINE
#include "mix.h"

int dli_color_vector_usable(void) { return __builtin_cpu_supports("avx2"); }

VECTOR void dli_color_vector_mix(const dli_color_job* j, int16_t* to, const unsigned char* near,
                                 const unsigned char* far, int16_t a, int16_t b, size_t n) {
    mix_rows(j, to, near, far, a, b, n);
}

enum { PIXELS = 32 };

INLINE __m256i load(const void* p) { return _mm256_loadu_si256((const __m256i*)p); }

/* Values of 32 pixels: 16 of even and 16 of odd ones. */
typedef struct {
    __m256i even, odd;
} halves;

/* Takes 32 values of 16 bits apart. */
INLINE halves apart(__m256i a, __m256i b) {
    const __m256i even = _mm256_packs_epi32(_mm256_srai_epi32(_mm256_slli_epi32(a, 16), 16),
                                            _mm256_srai_epi32(_mm256_slli_epi32(b, 16), 16));
    const __m256i odd = _mm256_packs_epi32(_mm256_srai_epi32(a, 16), _mm256_srai_epi32(b, 16));
    return (halves){_mm256_permute4x64_epi64(even, 0xd8), _mm256_permute4x64_epi64(odd, 0xd8)};
}

/* The brightness of 32 pixels. */
INLINE halves light(const unsigned char* p, int words, __m256i black, __m256i most, int bits) {
    halves y;
    if (words) {
        y = apart(_mm256_min_epu16(load(p), most), _mm256_min_epu16(load(p + PIXELS), most));
    } else {
        const __m256i both = load(p);
        y = (halves){_mm256_and_si256(both, _mm256_set1_epi16(255)), _mm256_srli_epi16(both, 8)};
    }
    y.even = _mm256_slli_epi16(_mm256_sub_epi16(y.even, black), 15 - bits);
    y.odd = _mm256_slli_epi16(_mm256_sub_epi16(y.odd, black), 15 - bits);
    return y;
}

/* The color of 32 pixels, of samples from p on. */
INLINE halves color(const int16_t* p, int across, int bits) {
    halves c;
    if (across == DLI_COLOR_EVERY) {
        c = apart(load(p), load(p + PIXELS / 2));
        return (halves){_mm256_slli_epi16(c.even, 14 - bits), _mm256_slli_epi16(c.odd, 14 - bits)};
    }
    const __m256i at = load(p), after = load(p + 1);
    if (across == DLI_COLOR_FIRST)
        return (halves){_mm256_slli_epi16(at, 14 - bits),
                        _mm256_slli_epi16(_mm256_add_epi16(at, after), 13 - bits)};
    const __m256i three = _mm256_add_epi16(at, _mm256_add_epi16(at, at));
    return (halves){_mm256_slli_epi16(_mm256_add_epi16(three, load(p - 1)), 12 - bits),
                    _mm256_slli_epi16(_mm256_add_epi16(three, after), 12 - bits)};
}

typedef struct {
    __m256i ky, krv, kgu, kgv, kbu, black, most;
} weights;

/* 16 pixels, which may be beyond 0 to 255. */
typedef struct {
    __m256i r, g, b;
} colors;

INLINE colors convert(__m256i y, __m256i u, __m256i v, const weights* w) {
    const __m256i base = _mm256_add_epi16(_mm256_mulhrs_epi16(y, w->ky), _mm256_set1_epi16(32));
    const __m256i g =
        _mm256_add_epi16(_mm256_mulhrs_epi16(u, w->kgu), _mm256_mulhrs_epi16(v, w->kgv));
    /* A sum that saturates is beyond 255 all the same. */
    return (colors){_mm256_srai_epi16(_mm256_adds_epi16(base, _mm256_mulhrs_epi16(v, w->krv)), 6),
                    _mm256_srai_epi16(_mm256_adds_epi16(base, g), 6),
                    _mm256_srai_epi16(_mm256_adds_epi16(base, _mm256_mulhrs_epi16(u, w->kbu)), 6)};
}

/* For each of the three 16-byte parts of 16 pixels and each color: which byte of a lane, eight of
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

INLINE __m256i place(int part, int which) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)places[part][which]));
}

INLINE __m256i part_of(__m256i r, __m256i g, __m256i b, int part) {
    return _mm256_or_si256(_mm256_or_si256(_mm256_shuffle_epi8(r, place(part, 0)),
                                           _mm256_shuffle_epi8(g, place(part, 1))),
                           _mm256_shuffle_epi8(b, place(part, 2)));
}

INLINE void pixels(unsigned char* to, halves y, halves u, halves v, const weights* w) {
    const colors even = convert(y.even, u.even, v.even, w), odd = convert(y.odd, u.odd, v.odd, w);
    const __m256i r = _mm256_packus_epi16(even.r, odd.r), g = _mm256_packus_epi16(even.g, odd.g),
                  b = _mm256_packus_epi16(even.b, odd.b);
    const __m256i p0 = part_of(r, g, b, 0), p1 = part_of(r, g, b, 1), p2 = part_of(r, g, b, 2);
    _mm256_storeu_si256((__m256i*)to, _mm256_permute2x128_si256(p0, p1, 0x20));
    _mm256_storeu_si256((__m256i*)(to + 32), _mm256_permute2x128_si256(p2, p0, 0x30));
    _mm256_storeu_si256((__m256i*)(to + 64), _mm256_permute2x128_si256(p1, p2, 0x31));
}

/* words, across and bits are constants where this is called. */
INLINE void line(const dli_color_job* j, unsigned char* to, const unsigned char* y,
                 const int16_t* u, const int16_t* v, size_t n, int words, int across, int bits) {
    const weights w = {
        _mm256_set1_epi16(j->ky),
        _mm256_set1_epi16(j->krv),
        _mm256_set1_epi16(j->kgu),
        _mm256_set1_epi16(j->kgv),
        _mm256_set1_epi16(j->kbu),
        _mm256_set1_epi16((int16_t)j->black),
        _mm256_set1_epi16((int16_t)((1 << bits) - 1)),
    };
    const int half = across != DLI_COLOR_EVERY, size = words ? 2 : 1;
    size_t i = 0;
    for (; i + PIXELS <= n; i += PIXELS)
        pixels(to + 3 * i, light(y + size * i, words, w.black, w.most, bits),
               color(u + (i >> half), across, bits), color(v + (i >> half), across, bits), &w);
    if (i == n) return;
    unsigned char last[2 * PIXELS] = {0}, out[3 * PIXELS];
    memcpy(last, y + size * i, size * (n - i));
    pixels(out, light(last, words, w.black, w.most, bits), color(u + (i >> half), across, bits),
           color(v + (i >> half), across, bits), &w);
    memcpy(to + 3 * i, out, 3 * (n - i));
}

/* Calls line with the constants. */
INLINE void of_bits(const dli_color_job* j, unsigned char* to, const unsigned char* y,
                    const int16_t* u, const int16_t* v, size_t n, int words, int bits) {
    if (j->across == DLI_COLOR_EVERY)
        line(j, to, y, u, v, n, words, DLI_COLOR_EVERY, bits);
    else if (j->across == DLI_COLOR_FIRST)
        line(j, to, y, u, v, n, words, DLI_COLOR_FIRST, bits);
    else
        line(j, to, y, u, v, n, words, DLI_COLOR_BETWEEN, bits);
}

VECTOR void dli_color_vector(const dli_color_job* j, unsigned char* to, const unsigned char* y,
                             const int16_t* u, const int16_t* v, size_t n) {
    if (j->bits == 8)
        of_bits(j, to, y, u, v, n, 0, 8);
    else if (j->bits == 10)
        of_bits(j, to, y, u, v, n, 1, 10);
    else
        of_bits(j, to, y, u, v, n, 1, 12);
}

#else

int dli_color_vector_usable(void) { return 0; }

void dli_color_vector_mix(const dli_color_job* j, int16_t* to, const unsigned char* near,
                          const unsigned char* far, int16_t a, int16_t b, size_t n) {
    (void)j, (void)to, (void)near, (void)far, (void)a, (void)b, (void)n;
}

void dli_color_vector(const dli_color_job* j, unsigned char* to, const unsigned char* y,
                      const int16_t* u, const int16_t* v, size_t n) {
    (void)j, (void)to, (void)y, (void)u, (void)v, (void)n;
}

#endif
