/* Conversions between colours that libjpeg does not make. */
#ifndef DEEPLAKE_CODEC_JPEG_TURBO_CONVERT_H
#define DEEPLAKE_CODEC_JPEG_TURBO_CONVERT_H

#include <stddef.h>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* Turns n samples p into 255 - p: inks as Adobe stores them into inks of which 0 is none. */
void dli_invert(unsigned char* p, size_t n);

/* Brings a row of pixels of 1, 3 or 4 channels to 1 or 3: 4 are inks as Adobe stores them. The
 * conversion of those happens within row. */
void dli_convert(unsigned char* out, unsigned char* row, size_t pixels, int from, int to);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
