/* Loops that are compiled twice: for every processor, and for those with vectors. */
#ifndef DEEPLAKE_MEDIA_COLOR_MIX_H
#define DEEPLAKE_MEDIA_COLOR_MIX_H

#include "kernel.h"

/* What includes this file says how functions are declared: MIX. */

MIX void mix_bytes(int16_t* restrict to, const unsigned char* restrict near,
                   const unsigned char* restrict far, int16_t a, int16_t b, size_t n) {
    for (size_t i = 0; i < n; i++)
        to[i] = (int16_t)((int16_t)(a * near[i]) + (int16_t)(b * far[i]) - 4 * 128);
}

MIX void mix_pairs(int16_t* restrict to, const unsigned char* restrict near,
                   const unsigned char* restrict far, int16_t a, int16_t b, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = (int16_t)(a * near[2 * i] + b * far[2 * i] - 4 * 128);
}

MIX uint16_t word(const unsigned char* p, uint16_t most) {
    const uint16_t v = (uint16_t)(p[0] | p[1] << 8);
    return v < most ? v : most;
}

MIX void mix_words(int16_t* restrict to, const unsigned char* restrict near,
                   const unsigned char* restrict far, int16_t a, int16_t b, size_t n, int bits) {
    const uint16_t most = (uint16_t)((1 << bits) - 1);
    const int16_t middle = (int16_t)(4 << (bits - 1));
    for (size_t i = 0; i < n; i++)
        to[i] = (int16_t)(a * word(near + 2 * i, most) + b * word(far + 2 * i, most) - middle);
}

/* n times 4 times the samples between two rows, less the middle. */
MIX void mix_rows(const dli_color_job* j, int16_t* to, const unsigned char* near,
                  const unsigned char* far, int16_t a, int16_t b, size_t n) {
    if (j->bits > 8)
        mix_words(to, near, far, a, b, n, j->bits);
    else if (j->step == 2)
        mix_pairs(to, near, far, a, b, n);
    else
        mix_bytes(to, near, far, a, b, n);
}

#endif
