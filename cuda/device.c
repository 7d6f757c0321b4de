#define _GNU_SOURCE
#include "device.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; unknown to older C libraries */
#endif

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

typedef struct {
    dli_allocator base; /* first: the ring knows the rest by it */
    dli_cuda_device* device;
    bool pools; /* its memory is allocated and freed in the order of the copy stream */
} allocator;

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

static int enter(dli_cuda_device* d) { return d->call.ctx_push(d->context); }

static void leave(dli_cuda_device* d) {
    void* context;
    d->call.ctx_pop(&context);
}

/* note keeps the first failure that no caller can be told. At the end of the process the driver
 * refuses everything, and it takes all memory back by itself. */
static int note(dli_cuda_device* d, int code) {
    int none = SUCCESS;
    if (code != SUCCESS && code != DEINITIALIZED) {
        atomic_compare_exchange_strong(&d->failure, &none, code);
    }
    return code;
}

int dli_cuda_failure(dli_cuda_device* d) { return atomic_exchange(&d->failure, SUCCESS); }

int dli_cuda_open(const dli_cuda_driver* driver, int handle, int number, void* context, int pools,
                  dli_cuda_device** out) {
    dli_cuda_device* d = calloc(1, sizeof *d);
    if (d == NULL) {
        driver->primary_release(handle);
        return OUT_OF_MEMORY;
    }
    d->call = *driver;
    d->handle = handle;
    d->number = number;
    d->context = context;
    d->pools = pools;
    d->owner = getpid();
    atomic_store(&d->refs, 1);
    int code = enter(d);
    if (code == SUCCESS) {
        code = d->call.stream_create(&d->copies, STREAM_NON_BLOCKING, 0);
        leave(d);
    }
    if (code != SUCCESS) {
        driver->primary_release(handle);
        free(d);
        return code;
    }
    *out = d;
    return SUCCESS;
}

static void retain(dli_cuda_device* d) {
    atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
}

/* close_files closes nvJPEG, in the current context. */
static void close_files(dli_cuda_device* d) {
    if (d->nvjpeg.handle != NULL) dli_nvjpeg_close(&d->nvjpeg);
    for (int i = 0; i < DLI_NVJPEG_DECODERS; i++) {
        if (d->decoders[i] != NULL) d->call.stream_destroy(d->decoders[i]);
        d->decoders[i] = NULL;
    }
}

static void release(dli_cuda_device* d) {
    if (atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1) return;
    if (enter(d) == SUCCESS) {
        close_files(d);
        d->call.stream_destroy(d->copies);
        if (d->module != NULL) d->call.module_unload(d->module);
        leave(d);
    }
    d->call.primary_release(d->handle);
    free(d);
}

/* settle waits for the copy stream, in the current context. Where that fails, memory may still be
 * in use: then it waits for the device. */
static int settle(dli_cuda_device* d) {
    int code = d->call.stream_synchronize(d->copies);
    if (code != SUCCESS) d->call.ctx_synchronize();
    return code;
}

int dli_cuda_close(dli_cuda_device* d) {
    if (d->owner != getpid()) return SUCCESS;
    int code = enter(d);
    /* Calls may report earlier failures of others. Copies may run, so that this one must work. */
    if (code != SUCCESS) code = enter(d);
    if (code == SUCCESS) {
        code = settle(d);
        leave(d);
    }
    release(d);
    return code;
}

static void closed(dli_allocator* a) {
    release(((allocator*)a)->device);
    free(a);
}

/* new_event makes an event in the current context. */
static int new_event(dli_cuda_device* d, void** event) {
    return d->call.event_create(event, EVENT_BLOCKING_SYNC | EVENT_DISABLE_TIMING);
}

/* ---- Memory of the host ---- */

static reading* new_reading(dli_cuda_device* d, int* code) {
    reading* r = calloc(1, sizeof *r);
    if (r == NULL) {
        *code = OUT_OF_MEMORY;
        return NULL;
    }
    *code = new_event(d, &r->begun);
    if (*code == SUCCESS) {
        *code = new_event(d, &r->ended);
        if (*code == SUCCESS) return r;
        d->call.event_destroy(r->begun);
    }
    free(r);
    return NULL;
}

static void free_reading(dli_cuda_device* d, reading* r) {
    note(d, d->call.event_destroy(r->begun));
    note(d, d->call.event_destroy(r->ended));
    free(r);
}

typedef struct {
    char* from;
    size_t size;
} pages;

static void* populate_pages(void* arg) {
    pages* p = arg;
    madvise(p->from, p->size, MADV_POPULATE_WRITE); /* if it fails, page-locking maps the pages */
    return NULL;
}

/* populate maps the pages of a mapping by several threads. Page-locking would do it on one, which
 * takes 40 ms for 80 MB. The threads take no signals: they are none of Go's. */
static void populate(char* p, uint64_t size) {
    enum { PART = 16 << 20, MOST = 8 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = size / PART < MOST ? size / PART : MOST;
    if (cores > 0 && (size_t)cores < n) n = (size_t)cores;
    if (n < 2) return;
    size_t each = (size / n + 0xffff) & ~(size_t)0xffff;
    pthread_t threads[MOST];
    pages parts[MOST];
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    size_t begun = 0;
    for (; begun < n; begun++) {
        size_t from = begun * each;
        parts[begun] = (pages){p + from, from + each < size ? each : size - from};
        if (pthread_create(&threads[begun], NULL, populate_pages, &parts[begun]) != 0) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (size_t i = 0; i < begun; i++) pthread_join(threads[i], NULL);
}

/* pin page-locks a mapping and makes its state. */
static int pin(dli_cuda_device* d, void* p, uint64_t size, void** state) {
    int code = enter(d);
    if (code != SUCCESS) return code;
    reading* r = new_reading(d, &code);
    if (r != NULL) {
        code = d->call.host_register(p, size, HOST_PORTABLE);
        if (code != SUCCESS) free_reading(d, r);
    }
    leave(d);
    *state = r;
    return code;
}

/* The memory is a shared mapping: a private one would be copied when the process forks and writes,
 * while the device goes on reading the old pages. */
static void* host_map(dli_allocator* a, uint64_t size, void** state, int* code) {
    dli_allocator* shared = dli_shared_memory();
    void* p = shared->map(shared, size, NULL, code);
    if (p == NULL) {
        *code = OUT_OF_MEMORY;
        return NULL;
    }
    populate(p, size);
    *code = pin(((allocator*)a)->device, p, size, state);
    if (*code == SUCCESS) return p;
    munmap(p, size);
    return NULL;
}

static void host_unmap(dli_allocator* a, void* data, uint64_t size, void* state) {
    dli_cuda_device* d = ((allocator*)a)->device;
    if (note(d, enter(d)) != SUCCESS) return; /* page-locked memory must stay where it is */
    free_reading(d, state);
    note(d, d->call.host_unregister(data));
    leave(d);
    munmap(data, size);
}

/* ---- Memory of the device ---- */

static void* device_map(dli_allocator* a, uint64_t size, void** state, int* code) {
    dli_cuda_device* d = ((allocator*)a)->device;
    bool pools = ((allocator*)a)->pools;
    block* b = calloc(1, sizeof *b);
    if (b == NULL) {
        *code = OUT_OF_MEMORY;
        return NULL;
    }
    uint64_t p = 0;
    *code = enter(d);
    if (*code == SUCCESS) {
        *code = new_event(d, &b->written);
        if (*code == SUCCESS) {
            *code = pools ? d->call.alloc_async(&p, size, d->copies) : d->call.alloc(&p, size);
            if (*code != SUCCESS) d->call.event_destroy(b->written);
        }
        leave(d);
    }
    if (*code != SUCCESS) {
        free(b);
        return NULL;
    }
    *state = b;
    return (void*)(uintptr_t)p;
}

/* await_uses makes the copy stream wait until the streams are past the memory of a block. */
static int await_uses(dli_cuda_device* d, block* b) {
    int code = SUCCESS;
    if (b->unknown) code = d->call.ctx_synchronize();
    b->unknown = false;
    for (size_t i = 0; i < b->count && code == SUCCESS; i++) {
        code = d->call.stream_wait(d->copies, b->uses[i].event, 0);
    }
    b->count = 0;
    b->unknown = code != SUCCESS;
    return code;
}

static void device_unmap(dli_allocator* a, void* data, uint64_t size, void* state) {
    dli_cuda_device* d = ((allocator*)a)->device;
    block* b = state;
    uint64_t p = (uint64_t)(uintptr_t)data;
    (void)size;
    if (note(d, enter(d)) == SUCCESS) {
        /* Freeing without a pool waits for the whole device by itself. */
        int code = note(d, await_uses(d, b));
        if (code != SUCCESS) code = await_uses(d, b); /* of the whole device */
        if (code == SUCCESS)
            note(d, ((allocator*)a)->pools ? d->call.free_async(p, d->copies) : d->call.free(p));
        note(d, d->call.event_destroy(b->written));
        for (size_t i = 0; i < b->made; i++) note(d, d->call.event_destroy(b->uses[i].event));
        leave(d);
    }
    free(b->uses);
    free(b);
}

/* add_use appends a stream to the uses of a block, with an event that an earlier content may have
 * left. */
static int add_use(dli_cuda_device* d, block* b, void* stream) {
    if (b->count == b->made) {
        use* more = realloc(b->uses, (b->made + 1) * sizeof *more);
        if (more == NULL) return OUT_OF_MEMORY;
        b->uses = more;
        int code = new_event(d, &b->uses[b->made].event);
        if (code != SUCCESS) return code;
        b->made++;
    }
    b->uses[b->count++].stream = stream;
    return SUCCESS;
}

static int device_acquire(dli_allocator* a, void* state, void* stream) {
    dli_cuda_device* d = ((allocator*)a)->device;
    block* b = state;
    for (size_t i = 0; i < b->count; i++)
        if (b->uses[i].stream == stream) return SUCCESS;
    int code = enter(d);
    if (code != SUCCESS) return code;
    code = add_use(d, b, stream);
    if (code == SUCCESS) {
        code = d->call.stream_wait(stream, b->written, 0);
        if (code != SUCCESS) b->count--;
    }
    leave(d);
    return code;
}

/* device_idle marks how far the streams that use a block have to go until it may be written. The
 * last tensor is gone, and with it all work that is still to be queued. */
static void device_idle(dli_allocator* a, void* state) {
    dli_cuda_device* d = ((allocator*)a)->device;
    block* b = state;
    if (b->count == 0) return;
    if (note(d, enter(d)) != SUCCESS) {
        b->unknown = true;
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < b->count; i++) {
        use* u = &b->uses[i];
        if (d->call.event_record(u->event, u->stream) != SUCCESS) {
            b->unknown = true; /* its stream is gone: wait for the device instead */
            continue;
        }
        use swap = b->uses[kept];
        b->uses[kept++] = *u;
        *u = swap;
    }
    b->count = kept;
    leave(d);
}

static dli_allocator* make(dli_cuda_device* d, dli_allocator base, bool pools) {
    allocator* a = calloc(1, sizeof *a);
    if (a == NULL) return NULL;
    retain(d);
    *a = (allocator){.base = base, .device = d, .pools = pools};
    return &a->base;
}

dli_allocator* dli_cuda_host(dli_cuda_device* d) {
    dli_allocator host = {.device_type = dli_shared_memory()->device_type,
                          .map = host_map,
                          .unmap = host_unmap,
                          .closed = closed};
    return make(d, host, false);
}

static dli_allocator* make_memory(dli_cuda_device* d, bool pools) {
    dli_allocator memory = {.device_type = DEVICE_CUDA,
                            .device_id = d->number,
                            .map = device_map,
                            .unmap = device_unmap,
                            .acquire = device_acquire,
                            .idle = device_idle,
                            .closed = closed};
    return make(d, memory, pools);
}

dli_allocator* dli_cuda_memory(dli_cuda_device* d) { return make_memory(d, d->pools); }

dli_allocator* dli_cuda_unordered(dli_cuda_device* d) { return make_memory(d, false); }

/* ---- Copies ---- */

int dli_cuda_load(dli_cuda_device* d, const void* binary) {
    static const char* const names[DLI_CUDA_KERNELS] = {
        [DLI_CUDA_JPEG_SAMPLES] = "dli_jpeg_samples",
        [DLI_CUDA_JPEG_PIXELS] = "dli_jpeg_pixels",
        [DLI_CUDA_TRANSFORM_SUM] = "dli_transform_sum",
        [DLI_CUDA_TRANSFORM_PASS] = "dli_transform_pass",
    };
    if (d->module != NULL) return SUCCESS;
    int code = enter(d);
    if (code != SUCCESS) return code;
    void* module = NULL;
    code = d->call.module_load(&module, binary);
    for (int i = 0; i < DLI_CUDA_KERNELS && code == SUCCESS; i++) {
        code = d->call.module_function(&d->kernels[i], module, names[i]);
        if (code != SUCCESS) d->call.module_unload(module);
    }
    if (code == SUCCESS) d->module = module;
    leave(d);
    return code;
}

int dli_cuda_open_files(dli_cuda_device* d, const dli_nvjpeg_calls* calls) {
    if (d->nvjpeg.handle != NULL) return SUCCESS;
    int code = enter(d), opened = 0;
    if (code != SUCCESS) return DLI_CUDA_DRIVER - code;
    for (int i = 0; i < DLI_NVJPEG_DECODERS && code == SUCCESS; i++)
        code = d->call.stream_create(&d->decoders[i], STREAM_NON_BLOCKING, 0);
    if (code == SUCCESS) opened = dli_nvjpeg_open(&d->nvjpeg, calls);
    if (code != SUCCESS || opened != 0) close_files(d);
    leave(d);
    return code == SUCCESS ? opened : DLI_CUDA_DRIVER - code;
}

static uint64_t address_of(const dli_slab* slab) {
    return (uint64_t)(uintptr_t)dli_slab_data(slab);
}

int dli_cuda_decode(dli_cuda_device* d, int decoder, dli_slab* to, dli_slab* from,
                    const dli_cuda_file* files, size_t n) {
    block* b = dli_slab_state(to);
    if (d->nvjpeg.handle == NULL) return DLI_CUDA_REFUSED;
    dli_nvjpeg_file* all = calloc(n, sizeof *all);
    if (all == NULL) return OUT_OF_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const dli_cuda_file* f = &files[i];
        all[i] = (dli_nvjpeg_file){(unsigned char*)dli_slab_data(from) + f->from, f->size,
                                   address_of(to) + f->to, f->width, f->channels};
    }
    int code = enter(d);
    if (code == SUCCESS) {
        void* stream = d->decoders[decoder];
        if (dli_nvjpeg_decode(&d->nvjpeg, decoder, all, n, stream) != 0) code = DLI_CUDA_REFUSED;
        if (code == SUCCESS) code = d->call.event_record(b->written, stream);
        if (code != SUCCESS) d->call.ctx_synchronize(); /* some files may be being decoded */
        leave(d);
    }
    free(all);
    return code;
}

/* The work of a dli_cuda_stage. */
typedef struct {
    dli_slab *to, *scratch, *decoded, *from;
    const dli_cuda_range* ranges;
    size_t ranges_n;
    const dli_cuda_move* moves;
    size_t moves_n;
    const dli_cuda_launch* launches;
    size_t launches_n;
} work;

/* queue queues copies and kernels, up to the first failure. *begun tells whether one was queued. */
static int queue(dli_cuda_device* d, const work* w, bool* begun) {
    for (size_t i = 0; i < w->ranges_n; i++) {
        const dli_cuda_range* r = &w->ranges[i];
        uint64_t p = address_of(r->scratch ? w->scratch : w->to) + r->to;
        char* from = (char*)dli_slab_data(w->from) + r->from;
        int code = d->call.copy_in(p, from, r->size, d->copies);
        if (code != SUCCESS) return code;
        *begun = true;
    }
    if (w->decoded != NULL) {
        block* b = dli_slab_state(w->decoded);
        int code = d->call.stream_wait(d->copies, b->written, 0);
        if (code != SUCCESS) return code;
    }
    for (size_t i = 0; i < w->moves_n; i++) {
        const dli_cuda_move* m = &w->moves[i];
        int code = d->call.copy_within(address_of(w->to) + m->to, address_of(w->decoded) + m->from,
                                       m->size, d->copies);
        if (code != SUCCESS) return code;
        *begun = true;
    }
    for (size_t i = 0; i < w->launches_n; i++) {
        const dli_cuda_launch* l = &w->launches[i];
        uint64_t tasks = l->tasks;
        uint32_t count = l->count;
        void* arguments[] = {&tasks, &count};
        int code = d->call.launch(d->kernels[l->kernel], l->blocks, 1, 1, l->threads, 1, 1, 0,
                                  d->copies, arguments, NULL);
        if (code != SUCCESS) return code;
        *begun = true;
    }
    return SUCCESS;
}

int dli_cuda_stage(dli_cuda_device* d, dli_slab* to, dli_slab* scratch, dli_slab* decoded,
                   dli_slab* from, const dli_cuda_range* ranges, size_t ranges_n,
                   const dli_cuda_move* moves, size_t moves_n, const dli_cuda_launch* launches,
                   size_t launches_n) {
    work w = {to, scratch, decoded, from, ranges, ranges_n, moves, moves_n, launches, launches_n};
    block* b = dli_slab_state(to);
    reading* r = dli_slab_state(from);
    bool begun = decoded != NULL;
    if (r == NULL) return INVALID_VALUE; /* it is of another ring */
    int code = enter(d);
    if (code != SUCCESS) return code;
    code = await_uses(d, b);
    if (code == SUCCESS) code = d->call.event_record(r->begun, d->copies);
    /* Only the copy stream uses scratch, in order. */
    if (code == SUCCESS) code = queue(d, &w, &begun);
    if (code == SUCCESS) code = d->call.event_record(r->ended, d->copies);
    if (code == SUCCESS) code = d->call.event_record(b->written, d->copies);
    if (code != SUCCESS && begun) { /* nothing tells its end */
        settle(d);
        if (decoded != NULL) d->call.ctx_synchronize();
    }
    leave(d);
    return code;
}

int dli_cuda_settle(dli_cuda_device* d) {
    int code = enter(d);
    if (code != SUCCESS) return code;
    code = d->call.ctx_synchronize();
    leave(d);
    return code;
}

int dli_cuda_progress(dli_cuda_device* d, dli_slab* from, int* progress) {
    reading* r = dli_slab_state(from);
    int code = enter(d);
    if (code != SUCCESS) return code;
    *progress = DLI_CUDA_ENDED;
    code = d->call.event_query(r->ended);
    if (code == NOT_READY) {
        *progress = DLI_CUDA_RUNS;
        code = d->call.event_query(r->begun);
        if (code == NOT_READY) {
            *progress = DLI_CUDA_WAITS;
            code = SUCCESS;
        }
    }
    leave(d);
    return code;
}

int dli_cuda_await(dli_cuda_device* d, dli_slab* from) {
    reading* r = dli_slab_state(from);
    int code = enter(d);
    if (code != SUCCESS) return code;
    code = d->call.event_synchronize(r->ended);
    leave(d);
    return code;
}

int dli_cuda_read(dli_cuda_device* d, dli_slab* from, uint64_t offset, void* to, uint64_t size) {
    uint64_t p = (uint64_t)(uintptr_t)dli_slab_data(from) + offset;
    int code = enter(d);
    if (code != SUCCESS) return code;
    code = d->call.copy_out(to, p, size, d->copies);
    if (code == SUCCESS) code = settle(d);
    leave(d);
    return code;
}
