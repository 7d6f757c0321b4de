//go:build cgo && !nolibjpeg

#include "turbo_convert.h"

void dli_invert(unsigned char* p, size_t n) {
    for (size_t i = 0; i < n; i++) p[i] = 255 - p[i];
}

/* a * b / 255, rounded. */
static unsigned scale255(unsigned a, unsigned b) {
    unsigned t = a * b + 128;
    return ((t >> 8) + t) >> 8;
}

/* Inks as Adobe stores them (255 is none) to RGB. With c = 255 - ink and k likewise this is (255 -
 * k) - c (255 - k) / 255, where the quotient is rounded. */
static void inks_to_rgb(unsigned char* out, const unsigned char* in, size_t pixels) {
    for (; pixels > 0; pixels--, in += 4, out += 3)
        for (int i = 0; i < 3; i++) out[i] = (unsigned char)(in[3] - scale255(255 - in[i], in[3]));
}

static void rgb_to_gray(unsigned char* out, const unsigned char* in, size_t pixels) {
    for (; pixels > 0; pixels--, in += 3)
        *out++ = (unsigned char)((19595u * in[0] + 38470u * in[1] + 7471u * in[2] + 0x8000u) >> 16);
}

void dli_convert(unsigned char* out, unsigned char* row, size_t pixels, int from, int to) {
    if (from == 4) {
        inks_to_rgb(to == 3 ? out : row, row, pixels);
        if (to == 3) return;
    }
    rgb_to_gray(out, row, pixels);
}
