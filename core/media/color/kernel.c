//go:build cgo

#include "kernel.h"

#include <string.h>

#define MIX static inline
#include "mix.h"

static int clamp(int v, int least, int most) { return v < least ? least : v > most ? most : v; }

/* The rows of color for a row of the picture, and their weights, whose sum is 4. */
typedef struct {
    int near, far, near_weight, far_weight;
} blend;

static blend rows_of(const dli_color_job* j, int y) {
    const int odd = y & 1, k = y >> 1;
    switch (j->down) {
        case DLI_COLOR_FIRST:
            return odd ? (blend){k, clamp(k + 1, 0, j->rows - 1), 2, 2} : (blend){k, k, 4, 0};
        case DLI_COLOR_BETWEEN:
            return (blend){k, clamp(odd ? k + 1 : k - 1, 0, j->rows - 1), 3, 1};
        case DLI_COLOR_SECOND:
            return odd ? (blend){k, k, 4, 0} : (blend){k, clamp(k - 1, 0, j->rows - 1), 2, 2};
        default:
            return (blend){y, y, 4, 0};
    }
}

/* ---- From two rows of samples to a line ---- */

/* Makes the line of samples k to k + n - 1, with one more on either side. */
static void mix(const dli_color_job* j, int16_t* line, const unsigned char* plane, size_t stride,
                blend b, int k, int n, int vectors) {
    const int from = clamp(k - 1, 0, j->columns - 1), end = clamp(k + n + 1, 0, j->columns);
    const size_t size = (size_t)j->step * (j->bits > 8 ? 2 : 1);
    const unsigned char* near = plane + (size_t)b.near * stride + (size_t)from * size;
    const unsigned char* far = plane + (size_t)b.far * stride + (size_t)from * size;
    int16_t* to = line + (from - k);
    const size_t count = (size_t)(end - from);
    (vectors ? dli_color_vector_mix : mix_rows)(j, to, near, far, (int16_t)b.near_weight,
                                                (int16_t)b.far_weight, count);
    if (k == 0) line[-1] = line[0];
    if (k + n == j->columns) line[n] = line[n - 1];
}

/* ---- From lines to pixels ---- */

/* 16 times the colors of a line as 16 bits, for n pixels. */
static void across(const dli_color_job* j, int16_t* restrict to, const int16_t* restrict line,
                   size_t n) {
    const int16_t unit = (int16_t)(1 << (12 - j->bits));
    switch (j->across) {
        case DLI_COLOR_FIRST:
            for (size_t i = 0; i < (n + 1) / 2; i++) {
                to[2 * i] = (int16_t)(4 * unit * line[i]);
                to[2 * i + 1] = (int16_t)(2 * unit * (line[i] + line[i + 1]));
            }
            break;
        case DLI_COLOR_BETWEEN:
            for (size_t i = 0; i < (n + 1) / 2; i++) {
                to[2 * i] = (int16_t)(unit * (3 * line[i] + line[(ptrdiff_t)i - 1]));
                to[2 * i + 1] = (int16_t)(unit * (3 * line[i] + line[i + 1]));
            }
            break;
        default:
            for (size_t i = 0; i < n; i++) to[i] = (int16_t)(4 * unit * line[i]);
    }
}

/* Brightness less black, as 15 bits. */
static void light(const dli_color_job* j, int16_t* restrict to, const unsigned char* restrict y,
                  size_t n) {
    const uint16_t most = (uint16_t)((1 << j->bits) - 1);
    const int16_t unit = (int16_t)(1 << (15 - j->bits)), black = (int16_t)j->black;
    if (j->bits > 8)
        for (size_t i = 0; i < n; i++)
            to[i] = (int16_t)((int16_t)(word(y + 2 * i, most) - black) * unit);
    else
        for (size_t i = 0; i < n; i++) to[i] = (int16_t)((int16_t)(y[i] - black) * unit);
}

static int product(int16_t a, int16_t k) { return ((int32_t)a * k + (1 << 14)) >> 15; }

static unsigned char finish(int v) {
    v = (v + 32) >> 6;
    return (unsigned char)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void pixels(const dli_color_job* j, unsigned char* restrict to, const unsigned char* y,
                   const int16_t* u, const int16_t* v, size_t n) {
    int16_t base[DLI_COLOR_BLOCK], cb[DLI_COLOR_BLOCK], cr[DLI_COLOR_BLOCK];
    unsigned char r[DLI_COLOR_BLOCK], g[DLI_COLOR_BLOCK], b[DLI_COLOR_BLOCK];
    light(j, base, y, n);
    across(j, cb, u, n);
    across(j, cr, v, n);
    for (size_t i = 0; i < n; i++) {
        const int value = product(base[i], j->ky);
        r[i] = finish(value + product(cr[i], j->krv));
        g[i] = finish(value + product(cb[i], j->kgu) + product(cr[i], j->kgv));
        b[i] = finish(value + product(cb[i], j->kbu));
    }
    for (size_t i = 0; i < n; i++) {
        to[3 * i] = r[i];
        to[3 * i + 1] = g[i];
        to[3 * i + 2] = b[i];
    }
}

void dli_color_convert(const dli_color_job* j, unsigned char* to, size_t stride,
                       const unsigned char* y, const unsigned char* u, const unsigned char* v) {
    int16_t space[2][DLI_COLOR_BEFORE + DLI_COLOR_BLOCK + DLI_COLOR_BEHIND];
    memset(space, 0, sizeof space);
    int16_t *cb = space[0] + DLI_COLOR_BEFORE, *cr = space[1] + DLI_COLOR_BEFORE;
    const int vectors = j->vectors && dli_color_vector_usable();
    const int halves = j->across != DLI_COLOR_EVERY;
    const size_t size = j->bits > 8 ? 2 : 1;
    for (int row = 0; row < j->height; row++) {
        const blend b = rows_of(j, row);
        for (int x = 0; x < j->width; x += DLI_COLOR_BLOCK) {
            const int n = j->width - x < DLI_COLOR_BLOCK ? j->width - x : DLI_COLOR_BLOCK;
            if (!j->gray) {
                const int k = x >> halves, samples = (n + halves) >> halves;
                mix(j, cb, u, j->strides[1], b, k, samples, vectors);
                mix(j, cr, v, j->strides[2], b, k, samples, vectors);
            }
            (vectors ? dli_color_vector : pixels)(
                j, to + (size_t)row * stride + 3 * (size_t)x,
                y + (size_t)row * j->strides[0] + (size_t)x * size, cb, cr, (size_t)n);
        }
    }
}
