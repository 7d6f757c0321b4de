//go:build cgo

/* Source: W3C, "Portable Network Graphics Specification (Third Edition)", section 9. */
#include "filter.h"

#include <stdint.h>
#include <stdlib.h>

enum { NONE, SUB, UP, AVERAGE, PAETH };

/* Returns the neighbour that is closest to left + up - corner; ties go to left, then up. */
static inline int paeth(int left, int up, int corner) {
    int to_left = abs(up - corner), to_up = abs(left - corner);
    int to_corner = abs(left + up - 2 * corner);
    int nearest = to_up <= to_corner ? up : corner;
    return to_left <= to_up && to_left <= to_corner ? left : nearest;
}

/* Undoes the filter of one row, whose filter exists. */
static void unfilter_plain(unsigned char filter, unsigned char* row, const unsigned char* above,
                           size_t size, size_t pixel) {
    switch (filter) {
        case SUB:
            for (size_t i = pixel; i < size; i++) row[i] = (unsigned char)(row[i] + row[i - pixel]);
            break;
        case UP:
            for (size_t i = 0; i < size; i++) row[i] = (unsigned char)(row[i] + above[i]);
            break;
        case AVERAGE:
            for (size_t i = 0; i < size && i < pixel; i++)
                row[i] = (unsigned char)(row[i] + above[i] / 2);
            for (size_t i = pixel; i < size; i++)
                row[i] = (unsigned char)(row[i] + (row[i - pixel] + above[i]) / 2);
            break;
        case PAETH: /* channel by channel: the neighbours stay in registers */
            for (size_t channel = 0; channel < pixel; channel++) {
                int left = 0, corner = 0;
                for (size_t i = channel; i < size; i += pixel) {
                    left = (row[i] + paeth(left, above[i], corner)) & 255;
                    row[i] = (unsigned char)left;
                    corner = above[i];
                }
            }
            break;
    }
}

size_t dli_png_unfilter_plain(unsigned char* rows, size_t count, size_t size,
                              const unsigned char* above, size_t pixel) {
    for (size_t n = 0; n < count; n++) {
        unsigned char *row = rows + n * (size + 1), filter = *row++;
        if (filter > PAETH) return n;
        unfilter_plain(filter, row, above, size, pixel);
        above = row;
    }
    return count;
}

/* The compiler's flag DLI_PORTABLE leaves vector code out, for tests. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(DLI_PORTABLE)

#include <immintrin.h>
#include <string.h>

#define VECTOR __attribute__((target("avx2")))
#define INLINE VECTOR static inline __attribute__((always_inline))

/* Loads a pixel, and a byte or two behind one of 3 or 6. */
INLINE __m128i load(const unsigned char* p, size_t pixel) {
    uint32_t four;
    uint64_t eight;
    if (pixel > 4) {
        memcpy(&eight, p, sizeof eight);
        return _mm_cvtsi64_si128((long long)eight);
    }
    memcpy(&four, p, sizeof four);
    return _mm_cvtsi32_si128((int)four);
}

INLINE void store(unsigned char* p, __m128i v, size_t pixel) {
    const uint64_t bytes = (uint64_t)_mm_cvtsi128_si64(v);
    memcpy(p, &bytes, pixel); /* pixel is a constant: one or two moves */
}

INLINE void unfilter_sub(unsigned char* row, size_t size, size_t pixel) {
    __m128i left = _mm_setzero_si128();
    for (size_t i = 0; i + pixel <= size; i += pixel) {
        left = _mm_add_epi8(left, load(row + i, pixel));
        store(row + i, left, pixel);
    }
}

INLINE void unfilter_average(unsigned char* row, const unsigned char* above, size_t size,
                             size_t pixel) {
    __m128i left = _mm_setzero_si128();
    const __m128i one = _mm_set1_epi8(1);
    for (size_t i = 0; i + pixel <= size; i += pixel) {
        const __m128i up = load(above + i, pixel);
        /* The instruction rounds up, the filter down. */
        const __m128i odd = _mm_and_si128(_mm_xor_si128(left, up), one);
        const __m128i mean = _mm_sub_epi8(_mm_avg_epu8(left, up), odd);
        left = _mm_add_epi8(load(row + i, pixel), mean);
        store(row + i, left, pixel);
    }
}

INLINE void unfilter_paeth(unsigned char* row, const unsigned char* above, size_t size,
                           size_t pixel) {
    __m128i left = _mm_setzero_si128(), corner = left; /* 16 bits a byte */
    for (size_t i = 0; i + pixel <= size; i += pixel) {
        const __m128i up = _mm_cvtepu8_epi16(load(above + i, pixel));
        const __m128i across = _mm_sub_epi16(up, corner), down = _mm_sub_epi16(left, corner);
        const __m128i to_left = _mm_abs_epi16(across), to_up = _mm_abs_epi16(down);
        const __m128i to_corner = _mm_abs_epi16(_mm_add_epi16(across, down));
        const __m128i least = _mm_min_epi16(to_corner, _mm_min_epi16(to_left, to_up));
        __m128i nearest = _mm_blendv_epi8(corner, up, _mm_cmpeq_epi16(least, to_up));
        nearest = _mm_blendv_epi8(nearest, left, _mm_cmpeq_epi16(least, to_left));
        left = _mm_add_epi8(_mm_cvtepu8_epi16(load(row + i, pixel)), nearest);
        store(row + i, _mm_packus_epi16(left, left), pixel);
        corner = up;
    }
}

VECTOR static void unfilter_up(unsigned char* row, const unsigned char* above, size_t size) {
    size_t i = 0;
    for (; i + 32 <= size; i += 32) {
        const __m256i up = _mm256_loadu_si256((const __m256i*)(above + i));
        __m256i* to = (__m256i*)(row + i);
        _mm256_storeu_si256(to, _mm256_add_epi8(_mm256_loadu_si256(to), up));
    }
    for (; i < size; i++) row[i] = (unsigned char)(row[i] + above[i]);
}

/* Rows of pixels of one size, which is a constant for the compiler. */
INLINE size_t unfilter_rows(unsigned char* rows, size_t count, size_t size,
                            const unsigned char* above, size_t pixel) {
    for (size_t n = 0; n < count; n++) {
        unsigned char *row = rows + n * (size + 1), filter = *row++;
        switch (filter) {
            case NONE:
                break;
            case SUB:
                unfilter_sub(row, size, pixel);
                break;
            case UP:
                unfilter_up(row, above, size);
                break;
            case AVERAGE:
                unfilter_average(row, above, size, pixel);
                break;
            case PAETH:
                unfilter_paeth(row, above, size, pixel);
                break;
            default:
                return n;
        }
        above = row;
    }
    return count;
}

VECTOR static size_t unfilter_vector(unsigned char* rows, size_t count, size_t size,
                                     const unsigned char* above, size_t pixel) {
    switch (pixel) {
        case 1:
            return unfilter_rows(rows, count, size, above, 1);
        case 2:
            return unfilter_rows(rows, count, size, above, 2);
        case 3:
            return unfilter_rows(rows, count, size, above, 3);
        case 4:
            return unfilter_rows(rows, count, size, above, 4);
        case 6:
            return unfilter_rows(rows, count, size, above, 6);
        default:
            return unfilter_rows(rows, count, size, above, 8);
    }
}

size_t dli_png_unfilter(unsigned char* rows, size_t count, size_t size, const unsigned char* above,
                        size_t pixel) {
    if (__builtin_cpu_supports("avx2")) return unfilter_vector(rows, count, size, above, pixel);
    return dli_png_unfilter_plain(rows, count, size, above, pixel);
}

#else

size_t dli_png_unfilter(unsigned char* rows, size_t count, size_t size, const unsigned char* above,
                        size_t pixel) {
    return dli_png_unfilter_plain(rows, count, size, above, pixel);
}

#endif
