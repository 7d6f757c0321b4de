/* The conversion of the package comment in C. */
#ifndef DEEPLAKE_MEDIA_COLOR_KERNEL_H
#define DEEPLAKE_MEDIA_COLOR_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* Where samples of color lie, in one direction. */
enum { DLI_COLOR_EVERY, DLI_COLOR_FIRST, DLI_COLOR_BETWEEN, DLI_COLOR_SECOND };

typedef struct {
    int width, height, bits;
    int columns, rows; /* of the planes of color */
    int across, down;
    int step; /* from sample to sample of color */
    int gray; /* there is no color */
    int vectors;
    int black;
    int16_t ky, krv, kgu, kgv, kbu;
    size_t strides[3]; /* bytes */
} dli_color_job;

/* Converts a picture of planes y, u and v, the last two NULL where there is no color. */
void dli_color_convert(const dli_color_job* j, unsigned char* to, size_t stride,
                       const unsigned char* y, const unsigned char* u, const unsigned char* v);

/* The columns of a picture that are converted at a time, and what can be read around a line. */
enum { DLI_COLOR_BLOCK = 512, DLI_COLOR_BEFORE = 16, DLI_COLOR_BEHIND = 32 };

/* Reports whether this processor can run the two below. */
int dli_color_vector_usable(void);

/* Mixes n samples of two rows by weights, as mix_rows does. */
void dli_color_vector_mix(const dli_color_job* j, int16_t* to, const unsigned char* near,
                          const unsigned char* far, int16_t a, int16_t b, size_t n);

/* Makes n RGB pixels of a row of brightness, and of lines of color: 4 times the samples between two
 * rows. One before the line and one behind it are set, DLI_COLOR_BEHIND more can be read. */
void dli_color_vector(const dli_color_job* j, unsigned char* to, const unsigned char* y,
                      const int16_t* u, const int16_t* v, size_t n);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
