/* Whole JPEG files decoded by nvJPEG: by the hardware engine of the device where it has one.
 * Results are those of nvJPEG (nvjpegStatus_t): 0 is success. */
#ifndef DLI_CUDA_NVJPEG_H
#define DLI_CUDA_NVJPEG_H

#include <stddef.h>
#include <stdint.h>

#include "../core/slab/slab.h"

/* The image that a file becomes: nvjpegImage_t. */
typedef struct {
    unsigned char* channel[4];
    size_t pitch[4];
} dli_nvjpeg_image;

typedef struct dli_nvjpeg_calls {
    int (*create)(int backend, void* device_allocator, void* pinned_allocator, unsigned flags,
                  void** handle);
    int (*destroy)(void* handle);
    int (*state_create)(void* handle, void** state);
    int (*state_destroy)(void* state);
    int (*batch_initialize)(void* handle, void* state, int count, int cpu_threads, int format);
    int (*batch_decode)(void* handle, void* state, const unsigned char* const* files,
                        const size_t* sizes, dli_nvjpeg_image* images, void* stream);
} dli_nvjpeg_calls;

/* A file in memory of the host, and where its pixels go on the device, rows without gaps. */
typedef struct {
    const unsigned char* data;
    size_t size;
    uint64_t pixels;
    uint32_t width, channels; /* 1 or 3 */
} dli_nvjpeg_file;

/* A decoder. One thread at a time uses it, in the device's context. All zeroes: it is not open. */
typedef struct {
    void* states[2]; /* for 1 and 3 channels */
    int counts[2];   /* of files, for which a state is ready */
    dli_nvjpeg_image* images;
    const unsigned char** data;
    size_t* sizes;
    size_t room; /* files for which there is memory */
} dli_nvjpeg_decoder;

/* Threads that decode at once. A call takes a thread some 35 us for each file on an H200. */
enum { DLI_NVJPEG_DECODERS = 2 };

/* nvJPEG on one device. All zeroes: it is not open. */
typedef struct {
    dli_nvjpeg_calls call;
    void* handle;
    dli_nvjpeg_decoder decoders[DLI_NVJPEG_DECODERS];
} dli_nvjpeg;

DLI_HIDDEN int dli_nvjpeg_open(dli_nvjpeg* n, const dli_nvjpeg_calls* calls);

/* Begins to decode files by a decoder. nvJPEG does not wait for earlier work on the stream: it
 * writes the pixels from streams of its own, at once, and the stream waits for these. The files
 * must stay as they are until the stream has passed. After a failure some files may be being
 * decoded. */
DLI_HIDDEN int dli_nvjpeg_decode(dli_nvjpeg* n, int decoder, const dli_nvjpeg_file* files,
                                 size_t count, void* stream);
DLI_HIDDEN void dli_nvjpeg_close(dli_nvjpeg* n);

#endif
