/* Functions for the Go side. Nothing here is exported from the library that is built of it. */
#ifndef DEEPLAKE_TRANSFORM_KERNEL_H
#define DEEPLAKE_TRANSFORM_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* See axis in filter.go. */
typedef struct {
    const int32_t* first;
    const int32_t* weights;
    int32_t taps;
    int32_t same;
} dli_axis;

enum { DLI_GATHER = 0, DLI_RESAMPLE = 1, DLI_PAINT = 2 };
enum { DLI_BRIGHTEN = 5, DLI_CONTRAST = 6, DLI_SATURATE = 7 };
enum { DLI_MAX_FILL = 8, DLI_PRECISION = 22 };

/* See stage in job.go. */
typedef struct {
    int32_t what, paint;
    int32_t in_h, in_w, h, w, oy, ox;
    float factor;
    uint8_t fill[DLI_MAX_FILL];
    dli_axis x, y;
    int32_t upright;
} dli_stage;

/* Memory between stages, which grows. One thread at a time. */
typedef struct {
    void* data[4];
    size_t size[4];
} dli_space;

enum { DLI_BYTES = 0, DLI_FLOATS = 1, DLI_HALVES = 2 };

/* One picture: in_h x in_w pixels become h x w in dst_size bytes. table has 256 entries for each
 * channel, or, with per_channel 0, for all. */
typedef struct {
    const dli_stage* stages;
    int32_t count, channels, in_h, in_w, h, w;
    uint8_t* dst;
    size_t dst_size;
    int32_t form, chw, per_channel, portable;
    const void* table;
    float scale;
    const float* mean;
    const float* std;
    dli_space* space;
} dli_job;

enum { DLI_DONE = 0, DLI_NO_MEMORY = 1, DLI_UNFIT = 2 };

/* Does the work of a dli_job, given the pixels of its region: size bytes in rows of stride.
 * DLI_UNFIT: these are not the pixels of its region, or its stages do not fit each other; then
 * nothing was read. */
int dli_transform_run(void* job, const unsigned char* pix, size_t size, size_t stride,
                      int32_t width, int32_t height, int32_t channels);
void* dli_transform_address(void);
void dli_transform_free(dli_space* space);

/* Of the machine: whether the vector code below can run. */
int dli_transform_vectors(void);

/* See reach in filter.go, of the bilinear filter. Samples are those of positions begin, begin +
 * step, ... */
typedef struct {
    double lo, scale, inverse;
    int32_t begin, step;
} dli_reach;

/* See lay in job.go: windows are n pairs of from and to. 0: it was not done, there is no vector
 * code for it. */
int dli_weigh_vector(int32_t* first, int32_t* weights, int32_t taps, const int64_t* windows,
                     int32_t n, const dli_reach* r, int64_t all_from, int64_t all_to);

/* The vector code: as the plain code, bit by bit. rest: bytes that may be read from in on; room:
 * dli_across3_room bytes. Up to 13 bytes behind the pixels of a row of out are written. */
size_t dli_across3_room(int taps, int n);
void dli_across3_vector(uint8_t* out, size_t out_stride, const uint8_t* in, size_t stride, int rows,
                        size_t rest, const dli_axis* a, int n, void* room);
void dli_down_vector(uint8_t* out, const uint8_t* in, size_t stride, size_t n,
                     const int32_t* weights, int taps);
void dli_floats3_vector(float* out, size_t plane, const uint8_t* in, size_t n, int chw, float scale,
                        const float* mean, const float* std);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
