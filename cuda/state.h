/* What the C files of the package share: an open device, and the state of slabs. */
#ifndef DLI_CUDA_STATE_H
#define DLI_CUDA_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "device.h"

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    DEINITIALIZED = 4, /* the process is ending */
    NOT_READY = 600,
    HOST_PORTABLE = 1,        /* CU_MEMHOSTREGISTER_PORTABLE */
    STREAM_NON_BLOCKING = 1,  /* no order with the legacy default stream */
    EVENT_BLOCKING_SYNC = 1,  /* a thread that waits for the event sleeps */
    EVENT_DISABLE_TIMING = 2, /* events without time stamps are cheaper */
    DEVICE_CUDA = 2,          /* of DLPack */
};

struct dli_cuda_device {
    dli_cuda_driver call;
    atomic_int refs;
    atomic_int failure;
    pid_t owner;
    int handle, number, pools;
    void* context;
    void* copies; /* the stream of all copies and kernels */
    void* module; /* NULL: the kernels are not loaded */
    void* kernels[DLI_CUDA_KERNELS];
    dli_nvjpeg nvjpeg;
    void* decoders[DLI_NVJPEG_DECODERS]; /* streams; NULL: nvJPEG is not open */
};

/* A stream that used a block, and the event at the end of that use. */
typedef struct {
    void *stream, *event;
} use;

/* The state of a slab of the device. */
typedef struct {
    void* written; /* event: the memory has its content */
    use* uses;     /* count of them are of the present content; the others keep their events */
    size_t count, made;
    bool unknown; /* the end of a use could not be recorded */
} block;

/* The state of a slab of the host: events of the last work that reads it. */
typedef struct {
    void* begun; /* the memory that it writes was free */
    void* ended;
} reading;

static inline int enter(dli_cuda_device* d) { return d->call.ctx_push(d->context); }

static inline void leave(dli_cuda_device* d) {
    void* context;
    d->call.ctx_pop(&context);
}

/* note keeps the first failure that no caller can be told. At the end of the process the driver
 * refuses everything, and it takes all memory back by itself. */
static inline int note(dli_cuda_device* d, int code) {
    int none = SUCCESS;
    if (code != SUCCESS && code != DEINITIALIZED) {
        atomic_compare_exchange_strong(&d->failure, &none, code);
    }
    return code;
}

/* new_event makes an event in the current context. */
static inline int new_event(dli_cuda_device* d, void** event) {
    return d->call.event_create(event, EVENT_BLOCKING_SYNC | EVENT_DISABLE_TIMING);
}

/* settle waits for the copy stream, in the current context. Where that fails, memory may still be
 * in use: then it waits for the device. */
static inline int settle(dli_cuda_device* d) {
    int code = d->call.stream_synchronize(d->copies);
    if (code != SUCCESS) d->call.ctx_synchronize();
    return code;
}

/* Count references to the device. The last one that is dropped closes it. */
DLI_HIDDEN void dli_cuda_retain(dli_cuda_device* d);
DLI_HIDDEN void dli_cuda_release(dli_cuda_device* d);

/* Makes the copy stream wait until the streams are past the memory of a block, in the current
 * context. */
DLI_HIDDEN int dli_cuda_await_uses(dli_cuda_device* d, block* b);

#endif
