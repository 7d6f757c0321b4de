/* Copies, files and kernels of a batch. */
#include <stdlib.h>

#include "state.h"

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
    bool begun = false;
    if (r == NULL) return INVALID_VALUE; /* it is of another ring */
    int code = enter(d);
    if (code != SUCCESS) return code;
    code = dli_cuda_await_uses(d, b);
    if (code == SUCCESS) code = d->call.event_record(r->begun, d->copies);
    /* Only the copy stream uses scratch, in order. */
    if (code == SUCCESS) code = queue(d, &w, &begun);
    if (code == SUCCESS) code = d->call.event_record(r->ended, d->copies);
    if (code == SUCCESS) code = d->call.event_record(b->written, d->copies);
    if (code != SUCCESS && begun) settle(d); /* nothing tells its end */
    leave(d);
    return code;
}

void dli_cuda_settle(dli_cuda_device* d) {
    /* Calls may report earlier failures of others. */
    if (enter(d) != SUCCESS && enter(d) != SUCCESS) return;
    if (d->call.ctx_synchronize() != SUCCESS) d->call.ctx_synchronize();
    leave(d);
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
