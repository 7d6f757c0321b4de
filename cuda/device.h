/* The part of the package that runs where Go cannot: in the deleters of tensors, on any thread.
 * It calls the driver through a table of functions that Go has looked up, and links against
 * nothing. Results are those of the driver (CUresult): 0 is success. */
#ifndef DLI_CUDA_DEVICE_H
#define DLI_CUDA_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "../core/slab/slab.h"
#include "nvjpeg.h"

/* Handles of the driver are pointers, device memory is a 64-bit address. */
typedef struct dli_cuda_driver {
    int (*ctx_push)(void* context);
    int (*ctx_pop)(void** context);
    int (*ctx_synchronize)(void);
    int (*primary_release)(int device);
    int (*host_register)(void* p, size_t size, unsigned flags);
    int (*host_unregister)(void* p);
    int (*alloc)(uint64_t* p, size_t size);
    int (*free)(uint64_t p);
    int (*alloc_async)(uint64_t* p, size_t size, void* stream);
    int (*free_async)(uint64_t p, void* stream);
    int (*copy_in)(uint64_t to, const void* from, size_t size, void* stream);
    int (*copy_out)(void* to, uint64_t from, size_t size, void* stream);
    int (*copy_within)(uint64_t to, uint64_t from, size_t size, void* stream);
    int (*stream_create)(void** stream, unsigned flags, int priority);
    int (*stream_destroy)(void* stream);
    int (*stream_synchronize)(void* stream);
    int (*stream_wait)(void* stream, void* event, unsigned flags);
    int (*event_create)(void** event, unsigned flags);
    int (*event_destroy)(void* event);
    int (*event_record)(void* event, void* stream);
    int (*event_query)(void* event);
    int (*event_synchronize)(void* event);
    int (*module_load)(void** module, const void* image);
    int (*module_unload)(void* module);
    int (*module_function)(void** function, void* module, const char* name);
    int (*launch)(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                  unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,
                  void* stream, void** arguments, void** extra);
} dli_cuda_driver;

/* A device that is open, with counted references: the opener's and one for each allocator. */
typedef struct dli_cuda_device dli_cuda_device;

/* dli_cuda_open makes a device out of a retained primary context, which it takes over, also where
 * it fails, and begins its copy stream. number is the device's in the process. pools: the device
 * has memory pools. */
DLI_HIDDEN int dli_cuda_open(const dli_cuda_driver* driver, int handle, int number, void* context,
                             int pools, dli_cuda_device** out);

/* dli_cuda_close waits for the copies that run and drops the opener's reference. */
DLI_HIDDEN int dli_cuda_close(dli_cuda_device* d);

/* These make the allocator of a ring: page-locked memory of the host, memory of the device for the
 * copy stream, and memory of the device that any stream may write once it is allocated. NULL:
 * no memory. The ring's end frees it. */
DLI_HIDDEN dli_allocator* dli_cuda_host(dli_cuda_device* d);
DLI_HIDDEN dli_allocator* dli_cuda_memory(dli_cuda_device* d);
DLI_HIDDEN dli_allocator* dli_cuda_unordered(dli_cuda_device* d);

/* The kernels of cuda/kernels. */
enum {
    DLI_CUDA_JPEG_SAMPLES,
    DLI_CUDA_JPEG_PIXELS,
    DLI_CUDA_TRANSFORM_SUM,
    DLI_CUDA_TRANSFORM_PASS,
    DLI_CUDA_KERNELS,
};

/* dli_cuda_load loads the kernels out of a fat binary, which is not kept. A second call does
 * nothing. One thread may call it at a time, and none meanwhile another function of the device. */
DLI_HIDDEN int dli_cuda_load(dli_cuda_device* d, const void* binary);

/* A part of a host slab, and where it goes. */
typedef struct {
    uint64_t from, to, size; /* offsets in the slabs, bytes */
    int scratch;             /* it goes to the scratch slab */
} dli_cuda_range;

/* A launch of a kernel of one dimension, over a list of tasks. */
typedef struct {
    int kernel;
    unsigned blocks, threads;
    uint64_t tasks; /* their address on the device */
    uint32_t count;
} dli_cuda_launch;

/* dli_cuda_open_files opens nvJPEG for the device. The result is nvJPEG's, or DLI_CUDA_DRIVER less
 * that of the driver. A second call does nothing; as for dli_cuda_load. */
DLI_HIDDEN int dli_cuda_open_files(dli_cuda_device* d, const dli_nvjpeg_calls* calls);

enum {
    DLI_CUDA_REFUSED = -1, /* nvJPEG does not decode a file */
    DLI_CUDA_DRIVER = -1000,
};

/* A file in a host slab that nvJPEG decodes, and where its pixels go. */
typedef struct {
    uint64_t from, size, to; /* offsets in the slabs, bytes */
    uint32_t width, channels;
} dli_cuda_file;

/* dli_cuda_decode begins to decode files of a slab of dli_cuda_host to a slab of
 * dli_cuda_unordered, by a decoder (0 to DLI_NVJPEG_DECODERS - 1), which one thread may use at a
 * time. nvJPEG writes at once: no stream may use the slab any more. After a failure nothing runs.
 * DLI_CUDA_REFUSED: nvJPEG does not decode a file. */
DLI_HIDDEN int dli_cuda_decode(dli_cuda_device* d, int decoder, dli_slab* to, dli_slab* from,
                               const dli_cuda_file* files, size_t n);

/* Pixels that dli_cuda_decode makes, and where they go. */
typedef struct {
    uint64_t from, to, size; /* offsets in the slabs, bytes */
} dli_cuda_move;

/* dli_cuda_stage begins to copy parts of a slab of dli_cuda_host, and decoded pixels, to slabs of
 * dli_cuda_memory, and then to run kernels. The copy stream first waits for the streams that used
 * the memory before, and then for the pixels of dli_cuda_decode. Nothing on the host waits. scratch
 * and decoded may be NULL. After a failure nothing of it runs; what dli_cuda_decode began does. */
DLI_HIDDEN int dli_cuda_stage(dli_cuda_device* d, dli_slab* to, dli_slab* scratch,
                              dli_slab* decoded, dli_slab* from, const dli_cuda_range* ranges,
                              size_t ranges_n, const dli_cuda_move* moves, size_t moves_n,
                              const dli_cuda_launch* launches, size_t launches_n);

/* dli_cuda_settle waits for all work on the device, also that of others. */
DLI_HIDDEN void dli_cuda_settle(dli_cuda_device* d);

/* How far the work of a dli_cuda_stage is, if all work before it has ended. */
enum {
    DLI_CUDA_WAITS, /* for the streams that used the memory before */
    DLI_CUDA_RUNS,
    DLI_CUDA_ENDED,
};

/* dli_cuda_progress tells how far the last dli_cuda_stage out of a host slab is. Work that waits
 * for earlier work counts as DLI_CUDA_WAITS. */
DLI_HIDDEN int dli_cuda_progress(dli_cuda_device* d, dli_slab* from, int* progress);

/* dli_cuda_await waits for the last dli_cuda_stage out of a host slab. */
DLI_HIDDEN int dli_cuda_await(dli_cuda_device* d, dli_slab* from);

/* dli_cuda_read copies memory of the device to the host and waits: for tests and tools. */
DLI_HIDDEN int dli_cuda_read(dli_cuda_device* d, dli_slab* from, uint64_t offset, void* to,
                             uint64_t size);

/* dli_cuda_failure gives the first failure of a call in a deleter, which no caller could be told,
 * and forgets it. */
DLI_HIDDEN int dli_cuda_failure(dli_cuda_device* d);

#endif
