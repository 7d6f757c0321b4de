/* A packed job: what becomes of one picture, for a device that has its pixels. The layout is shared
 * by Go and the kernels of cuda/kernels. It stays within one process: numbers are in the order of
 * the machine.
 *
 *     dli_packed_job    the picture and the result
 *     dli_packed_pass   one after the other: each makes a picture of uint8 out of the one before
 *     ...               tables of passes, at offsets from the start of the job
 *
 * The last pass also brings its pixels to the dtype and layout of the result. */
#ifndef DEEPLAKE_TRANSFORM_PACKED_H
#define DEEPLAKE_TRANSFORM_PACKED_H

#include <stdint.h>

enum {
    DLI_PASS_COPY = 0,     /* pixel (x + left, y + top) */
    DLI_PASS_GATHER = 1,   /* pixel (columns[x], rows[y]), or fill where one is negative */
    DLI_PASS_ACROSS = 2,   /* sum of taps pixels of a row, from columns[x] on */
    DLI_PASS_DOWN = 3,     /* sum of taps pixels of a column, from rows[y] on */
    DLI_PASS_BRIGHTEN = 4, /* of pixel (x + left, y + top), as the next two */
    DLI_PASS_CONTRAST = 5,
    DLI_PASS_SATURATE = 6,
};

enum { DLI_PASS_FILL = 8, DLI_PASS_PRECISION = 22 };

/* Tables are int32, one entry for each column or row of the result, taps for weights. Weights have
 * DLI_PASS_PRECISION bits behind the point. */
typedef struct {
    uint32_t what;
    uint32_t in_width, in_height, width, height;
    uint32_t left, top;
    uint32_t taps;
    uint32_t columns, rows, weights; /* offsets of tables */
    uint32_t sum;                    /* contrast: offset of a uint64, 0 before the pass */
    float factor;
    uint8_t fill[DLI_PASS_FILL];
    uint32_t reserved;
} dli_packed_pass;

enum {
    DLI_RESULT_UINT8 = 0,
    DLI_RESULT_FLOAT32 = 1,
    DLI_RESULT_FLOAT16 = 2,
    DLI_RESULT_BFLOAT16 = 3
};

typedef struct {
    uint32_t size; /* bytes of the job, a multiple of 8 */
    uint32_t passes;
    uint32_t x, y, in_width, in_height; /* region of the picture that the first pass takes */
    uint32_t channels;
    uint32_t width, height; /* of the result */
    uint32_t form;          /* dtype of the result */
    uint32_t planar;        /* (channels, height, width), else (height, width, channels) */
    uint32_t means;         /* how many: 1 or channels */
    uint32_t constants;     /* offset of the means, float32, with as many deviations behind them */
    float scale;            /* v * scale, minus mean, divided by deviation */
} dli_packed_job;

#endif
