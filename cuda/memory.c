/* The allocators of rings: page-locked memory of the host, and memory of the device. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "state.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; unknown to older C libraries */
#endif

typedef struct {
    dli_allocator base; /* first: the ring knows the rest by it */
    dli_cuda_device* device;
    bool pools; /* its memory is allocated and freed in the order of the copy stream */
} allocator;

static void closed(dli_allocator* a) {
    dli_cuda_release(((allocator*)a)->device);
    free(a);
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

int dli_cuda_await_uses(dli_cuda_device* d, block* b) {
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
        int code = note(d, dli_cuda_await_uses(d, b));
        if (code != SUCCESS) code = dli_cuda_await_uses(d, b); /* of the whole device */
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
    dli_cuda_retain(d);
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
