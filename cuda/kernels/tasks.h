/* The arguments of kernels, as the host lays them out in memory of the device. Kernels take a list
 * of tasks and their number. */
#ifndef DEEPLAKE_CUDA_KERNELS_TASKS_H
#define DEEPLAKE_CUDA_KERNELS_TASKS_H

#include "../../core/codec/jpeg/packed.h"
#include "../../core/transform/packed.h"

enum {
    DLI_JPEG_GROUP = 16,  /* blocks that a thread block of dli_jpeg_samples transforms */
    DLI_JPEG_TILE = 1024, /* pixels that a thread block of dli_jpeg_pixels makes */
    DLI_JPEG_THREADS_SAMPLES = 8 * DLI_JPEG_GROUP,
    DLI_JPEG_THREADS_PIXELS = 256,
    DLI_PASS_TILE = 1024, /* pixels that a thread block of dli_transform_pass makes */
    DLI_PASS_THREADS = 256,
};

/* One image. Addresses are of the device. */
typedef struct {
    uint64_t packed; /* a dli_jpeg_packed with its blocks and entries */
    uint64_t planes; /* scratch: samples of the components, one plane after the other, 64 bytes for
                      * each block */
    uint64_t pixels; /* of the region: (height, width, channels) uint8 */
    uint32_t channels;
    uint32_t x, y, width, height;     /* the region of the image that is made */
    uint32_t first_group, first_tile; /* how many of them the tasks before have */
    uint32_t reserved;
} dli_jpeg_task;

/* One pass of a transform, of one picture. Addresses are of the device. */
typedef struct {
    uint64_t job;        /* a dli_packed_job */
    uint64_t in, out;    /* pixels: (height, width, channels) uint8; out of the last: the result */
    uint32_t in_stride;  /* bytes between rows of in */
    uint32_t pass;       /* its number */
    uint32_t first_tile; /* how many of them the tasks before have */
    uint32_t reserved;
} dli_transform_task;

#endif
