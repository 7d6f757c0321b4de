#define _GNU_SOURCE
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum { COPY_IN, COPY_OUT, COPY_WITHIN, RECORD, WAIT, FREE, LAUNCH, DECODE } kind;

typedef struct op {
    kind kind;
    void *to, *from;
    size_t size;
    uint64_t digest; /* COPY_IN: of the source when the copy was queued */
    event* event;
    uint64_t number; /* of the record that WAIT waits for and RECORD reaches */
    const char* kernel;
    unsigned blocks, threads;
    unsigned width, height; /* DECODE: bytes, rows */
    uint32_t count;         /* of the tasks at from */
    struct op* next;
} op;

typedef struct stream {
    context* of;
    pthread_t thread;
    op *first, **last;
    bool busy, closing, held;
    bool outside; /* of a consumer, the driver or nvJPEG: it lives until the process ends */
    bool decodes; /* of nvJPEG */
    bool spare;   /* of a state of nvJPEG that no longer exists */
    struct stream* next;
} stream;

static stream* streams;
static event* events;
static int delay_us;

static uint64_t digest(const void* p, size_t size) {
    const unsigned char* b = p;
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < size; i++) h = (h ^ b[i]) * 1099511628211u;
    return h;
}

/* copy moves the bytes of a queued copy. The source must not have changed since then. */
static void copy(op* o) {
    uintptr_t device = (uintptr_t)(o->kind == COPY_IN ? o->to : o->from);
    if (!fake_device_memory(device, o->size) ||
        (o->kind == COPY_WITHIN && !fake_device_memory((uintptr_t)o->to, o->size))) {
        fake_violation("a copy runs on freed memory of the device");
        return;
    }
    if (o->kind == COPY_IN) {
        if (!fake_pinned((uintptr_t)o->from, o->size)) {
            fake_violation("a copy runs on memory that is not registered any more");
            return;
        }
        if (digest(o->from, o->size) != o->digest)
            fake_violation("the source of a copy was written before the copy's event");
    }
    memcpy(o->to, o->from, o->size);
}

/* launch runs a kernel over tasks in memory of the device. */
static void launch(op* o) {
    if (fake_misused()) return; /* its input may be missing */
    if (!fake_device_memory((uintptr_t)o->from, o->count)) {
        fake_violation("%s runs over tasks in freed memory", o->kernel);
        return;
    }
    pthread_mutex_unlock(&fake_lock);
    fake_cuda_run(o->kernel, o->blocks, o->threads, o->from, o->count);
    pthread_mutex_lock(&fake_lock);
    fake_check_guards();
}

unsigned char fake_cuda_pixel(const void* file, size_t size, unsigned x, unsigned y) {
    return (unsigned char)(digest(file, size) + 31 * y + 7 * x);
}

/* decode makes the pixels of a file that nvJPEG was given. */
static void decode(op* o) {
    if (!fake_device_memory((uintptr_t)o->to, (size_t)o->width * o->height)) {
        fake_violation("nvJPEG writes to freed memory");
        return;
    }
    if (digest(o->from, o->size) != o->digest)
        fake_violation("a file was written before nvJPEG had read it");
    for (unsigned y = 0; y < o->height; y++)
        for (unsigned x = 0; x < o->width; x++)
            ((unsigned char*)o->to)[(size_t)y * o->width + x] =
                (unsigned char)(o->digest + 31 * y + 7 * x);
}

static void run(op* o) {
    switch (o->kind) {
        case DECODE:
            decode(o);
            break;
        case COPY_IN:
        case COPY_OUT:
        case COPY_WITHIN:
            copy(o);
            break;
        case RECORD:
            if (o->number > o->event->reached) o->event->reached = o->number;
            break;
        case WAIT:
            while (o->event->reached < o->number && fake_lost() == OK)
                pthread_cond_wait(&fake_changed, &fake_lock);
            break;
        case FREE:
            fake_free((uintptr_t)o->to);
            break;
        case LAUNCH:
            launch(o);
            break;
    }
}

static void* work(void* arg) {
    stream* s = arg;
    pthread_mutex_lock(&fake_lock);
    for (;;) {
        while ((s->first == NULL || s->held) && !s->closing)
            pthread_cond_wait(&fake_changed, &fake_lock);
        if (s->first == NULL) break;
        op* o = s->first;
        s->first = o->next;
        if (s->first == NULL) s->last = &s->first;
        s->busy = true;
        int us = o->kind == RECORD || o->kind == WAIT ? 0 : delay_us;
        if (us > 0) {
            pthread_mutex_unlock(&fake_lock);
            usleep((useconds_t)us);
            pthread_mutex_lock(&fake_lock);
        }
        if (fake_lost() == OK) run(o);
        free(o);
        s->busy = false;
        pthread_cond_broadcast(&fake_changed);
    }
    pthread_mutex_unlock(&fake_lock);
    return NULL;
}

static stream* begin(context* of, bool outside);

/* The default stream of the current context, for the handles 0 (and 1, legacy, and 2, of a thread:
 * one stream here). */
static stream* standard(context* c) {
    static stream* made[MOST_DEVICES];
    if (made[c->device] == NULL) made[c->device] = begin(c, true);
    return made[c->device];
}

static stream* live(stream* s, const char* call) {
    if ((uintptr_t)s <= 2) return standard(fake_current());
    for (stream* t = streams; t != NULL; t = t->next)
        if (t == s) {
            if (t->of != fake_current()) fake_violation("%s: a stream of another context", call);
            return t;
        }
    fake_violation("%s: no such stream", call);
    return NULL;
}

static bool usable(event* e, const char* call) {
    for (event* t = events; t != NULL; t = t->next)
        if (t == e && !t->dead) {
            if (t->of != fake_current()) fake_violation("%s: an event of another context", call);
            return true;
        }
    fake_violation("%s: no such event", call);
    return false;
}

static void push(stream* s, op o) {
    op* made = malloc(sizeof *made);
    *made = o;
    made->next = NULL;
    *s->last = made;
    s->last = &made->next;
    pthread_cond_broadcast(&fake_changed);
}

/* Streams of states that no longer exist are used again: each has a thread. */
stream* fake_own_stream(void) {
    stream* s = streams;
    while (s != NULL && !(s->spare && s->of == fake_current())) s = s->next;
    if (s == NULL) s = begin(fake_current(), true);
    s->decodes = true;
    s->spare = false;
    return s;
}

void fake_drop_stream(stream* s) { s->spare = true; }

int fake_await(stream* s, stream* other) {
    if ((s = live(s, "nvjpegDecodeBatched")) == NULL) return INVALID_HANDLE;
    event* e = calloc(1, sizeof *e);
    *e = (event){.of = fake_current(), .dead = true, .recorded = 1, .next = events};
    events = e;
    push(other, (op){.kind = RECORD, .event = e, .number = 1});
    push(s, (op){.kind = WAIT, .event = e, .number = 1});
    return OK;
}

int fake_push_decode(stream* s, const void* file, size_t size, void* to, unsigned width,
                     unsigned height) {
    if ((s = live(s, "nvjpegDecodeBatched")) == NULL) return INVALID_HANDLE;
    push(s, (op){.kind = DECODE,
                 .to = to,
                 .from = (void*)file,
                 .size = size,
                 .digest = digest(file, size),
                 .width = width,
                 .height = height});
    return OK;
}

static void drain(stream* s) {
    while (s->first != NULL || s->busy) pthread_cond_wait(&fake_changed, &fake_lock);
}

static void drain_context(context* c) {
    for (stream* s = streams; s != NULL; s = s->next)
        if (s->of == c) drain(s);
}

static stream* begin(context* of, bool outside) {
    stream* s = calloc(1, sizeof *s);
    s->of = of;
    s->outside = outside;
    s->last = &s->first;
    s->next = streams;
    streams = s;
    if (pthread_create(&s->thread, NULL, work, s) != 0) abort();
    return s;
}

int cuStreamCreateWithPriority(stream** out, unsigned flags, int priority) {
    int code = fake_enter("cuStreamCreateWithPriority", false);
    if (code != OK) return code;
    (void)flags, (void)priority;
    *out = begin(fake_current(), false);
    return fake_leave(OK);
}

int cuStreamDestroy_v2(stream* s) {
    int code = fake_enter("cuStreamDestroy", false);
    if (code != OK) return code;
    if (live(s, "cuStreamDestroy") == NULL) return fake_leave(INVALID_HANDLE);
    stream** at = &streams;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    s->closing = true;
    pthread_cond_broadcast(&fake_changed);
    pthread_t thread = s->thread;
    code = fake_leave(OK);
    pthread_join(thread, NULL);
    free(s);
    return code;
}

int cuStreamSynchronize(stream* s) {
    int code = fake_enter("cuStreamSynchronize", false);
    if (code != OK) return code;
    if ((s = live(s, "cuStreamSynchronize")) == NULL) return fake_leave(INVALID_HANDLE);
    drain(s);
    return fake_leave(OK);
}

int cuCtxSynchronize(void) {
    int code = fake_enter("cuCtxSynchronize", false);
    if (code != OK) return code;
    drain_context(fake_current());
    return fake_leave(OK);
}

int cuEventCreate(event** out, unsigned flags) {
    int code = fake_enter("cuEventCreate", false);
    if (code != OK) return code;
    (void)flags;
    event* e = calloc(1, sizeof *e);
    e->of = fake_current();
    e->next = events;
    events = e;
    *out = e;
    return fake_leave(OK);
}

/* A stream may still wait for a destroyed event: its memory stays. */
int cuEventDestroy_v2(event* e) {
    int code = fake_enter("cuEventDestroy", false);
    if (code != OK) return code;
    if (!usable(e, "cuEventDestroy")) return fake_leave(INVALID_HANDLE);
    e->dead = true;
    return fake_leave(OK);
}

int cuEventRecord(event* e, stream* s) {
    int code = fake_enter("cuEventRecord", false);
    if (code != OK) return code;
    if (!usable(e, "cuEventRecord") || (s = live(s, "cuEventRecord")) == NULL)
        return fake_leave(INVALID_HANDLE);
    push(s, (op){.kind = RECORD, .event = e, .number = ++e->recorded});
    return fake_leave(OK);
}

int cuEventQuery(event* e) {
    int code = fake_enter("cuEventQuery", false);
    if (code != OK) return code;
    if (!usable(e, "cuEventQuery")) return fake_leave(INVALID_HANDLE);
    return fake_leave(e->reached < e->recorded ? NOT_READY : OK);
}

int cuEventSynchronize(event* e) {
    int code = fake_enter("cuEventSynchronize", false);
    if (code != OK) return code;
    if (!usable(e, "cuEventSynchronize")) return fake_leave(INVALID_HANDLE);
    for (uint64_t number = e->recorded; e->reached < number && fake_lost() == OK;)
        pthread_cond_wait(&fake_changed, &fake_lock);
    return fake_leave(fake_lost());
}

int cuStreamWaitEvent(stream* s, event* e, unsigned flags) {
    int code = fake_enter("cuStreamWaitEvent", false);
    if (code != OK) return code;
    (void)flags;
    if (!usable(e, "cuStreamWaitEvent") || (s = live(s, "cuStreamWaitEvent")) == NULL)
        return fake_leave(INVALID_HANDLE);
    push(s, (op){.kind = WAIT, .event = e, .number = e->recorded});
    return fake_leave(OK);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t size, stream* s) {
    int code = fake_enter("cuMemcpyHtoDAsync", false);
    if (code != OK) return code;
    if ((s = live(s, "cuMemcpyHtoDAsync")) == NULL) return fake_leave(INVALID_HANDLE);
    if (!fake_device_memory((uintptr_t)to, size)) {
        fake_violation("cuMemcpyHtoDAsync: to memory that is not allocated");
        return fake_leave(INVALID_VALUE);
    }
    if (!fake_pinned((uintptr_t)from, size)) {
        fake_violation("cuMemcpyHtoDAsync: from memory that is not page-locked");
        return fake_leave(INVALID_VALUE);
    }
    push(s, (op){.kind = COPY_IN,
                 .to = (void*)(uintptr_t)to,
                 .from = (void*)from,
                 .size = size,
                 .digest = digest(from, size)});
    return fake_leave(OK);
}

int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t size, stream* s) {
    int code = fake_enter("cuMemcpyDtoHAsync", false);
    if (code != OK) return code;
    if ((s = live(s, "cuMemcpyDtoHAsync")) == NULL) return fake_leave(INVALID_HANDLE);
    push(s, (op){.kind = COPY_OUT, .to = to, .from = (void*)(uintptr_t)from, .size = size});
    return fake_leave(OK);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, stream* s) {
    int code = fake_enter("cuMemcpyDtoDAsync", false);
    if (code != OK) return code;
    if ((s = live(s, "cuMemcpyDtoDAsync")) == NULL) return fake_leave(INVALID_HANDLE);
    if (!fake_device_memory((uintptr_t)to, size) || !fake_device_memory((uintptr_t)from, size)) {
        fake_violation("cuMemcpyDtoDAsync: memory that is not allocated");
        return fake_leave(INVALID_VALUE);
    }
    push(s, (op){.kind = COPY_WITHIN,
                 .to = (void*)(uintptr_t)to,
                 .from = (void*)(uintptr_t)from,
                 .size = size});
    return fake_leave(OK);
}

int cuMemAlloc_v2(uint64_t* p, size_t size) {
    int code = fake_enter("cuMemAlloc", false);
    if (code != OK) return code;
    return fake_leave(fake_alloc(p, size, fake_current()));
}

/* Waits for the device, as the driver's does. */
int cuMemFree_v2(uint64_t p) {
    int code = fake_enter("cuMemFree", false);
    if (code != OK) return code;
    drain_context(fake_current());
    return fake_leave(fake_free((uintptr_t)p));
}

int cuMemAllocAsync(uint64_t* p, size_t size, stream* s) {
    int code = fake_enter("cuMemAllocAsync", false);
    if (code != OK) return code;
    if ((s = live(s, "cuMemAllocAsync")) == NULL) return fake_leave(INVALID_HANDLE);
    code = fake_alloc(p, size, fake_current());
    if (code == OUT_OF_MEMORY) { /* memory that the stream frees earlier counts as free */
        drain(s);
        code = fake_alloc(p, size, fake_current());
    }
    return fake_leave(code);
}

int cuMemFreeAsync(uint64_t p, stream* s) {
    int code = fake_enter("cuMemFreeAsync", false);
    if (code != OK) return code;
    if ((s = live(s, "cuMemFreeAsync")) == NULL) return fake_leave(INVALID_HANDLE);
    push(s, (op){.kind = FREE, .to = (void*)(uintptr_t)p});
    return fake_leave(OK);
}

/* ---- Kernels ---- */

typedef struct {
    context* of;
    bool dead;
} module;

typedef struct {
    module* of;
    char name[64];
} function;

static int live_modules;

int cuModuleLoadData(module** out, const void* image) {
    int code = fake_enter("cuModuleLoadData", false);
    if (code != OK) return code;
    const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba}; /* of a fat binary */
    if (memcmp(image, magic, sizeof magic) != 0) {
        fake_violation("cuModuleLoadData: this is no fat binary");
        return fake_leave(INVALID_VALUE);
    }
    *out = calloc(1, sizeof **out); /* never freed: functions know it */
    (*out)->of = fake_current();
    live_modules++;
    return fake_leave(OK);
}

int cuModuleUnload(module* m) {
    int code = fake_enter("cuModuleUnload", false);
    if (code != OK) return code;
    if (m->dead) fake_violation("cuModuleUnload: the module is unloaded");
    m->dead = true;
    live_modules--;
    return fake_leave(OK);
}

int cuModuleGetFunction(function** out, module* m, const char* name) {
    int code = fake_enter("cuModuleGetFunction", false);
    if (code != OK) return code;
    if (!fake_cuda_has(name)) {
        fake_violation("cuModuleGetFunction: there is no kernel %s", name);
        return fake_leave(INVALID_VALUE);
    }
    *out = calloc(1, sizeof **out);
    (*out)->of = m;
    snprintf((*out)->name, sizeof(*out)->name, "%s", name);
    return fake_leave(OK);
}

int cuLaunchKernel(function* f, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty,
                   unsigned tz, unsigned shared, stream* s, void** arguments, void** extra) {
    int code = fake_enter("cuLaunchKernel", false);
    if (code != OK) return code;
    if ((s = live(s, "cuLaunchKernel")) == NULL) return fake_leave(INVALID_HANDLE);
    if (f->of->dead || f->of->of != fake_current())
        fake_violation("cuLaunchKernel: a function of an unloaded module, or of another context");
    if (x == 0 || tx == 0 || tx > 1024 || y * z * ty * tz != 1 || shared != 0 || extra != NULL) {
        fake_violation("cuLaunchKernel: %u blocks of %u threads", x, tx);
        return fake_leave(INVALID_VALUE);
    }
    push(s, (op){.kind = LAUNCH,
                 .from = *(void**)arguments[0],
                 .count = *(uint32_t*)arguments[1],
                 .kernel = f->name,
                 .blocks = x,
                 .threads = tx});
    return fake_leave(OK);
}

/* ---- What tests call ---- */

void fake_cuda_delay(int microseconds) {
    pthread_mutex_lock(&fake_lock);
    delay_us = microseconds;
    pthread_mutex_unlock(&fake_lock);
}

void fake_cuda_hold(void* p, int held) {
    stream* s = p;
    pthread_mutex_lock(&fake_lock);
    s->held = held != 0;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
}

void fake_clear_streams(void) {
    for (stream* s = streams; s != NULL; s = s->next) {
        s->held = false;
        pthread_cond_broadcast(&fake_changed);
        drain(s);
    }
    stream* left = NULL;
    for (stream *s = streams, *next; s != NULL; s = next) {
        next = s->next;
        if (!s->outside) { /* the library has lost it */
            s->closing = true;
            pthread_cond_broadcast(&fake_changed);
            pthread_detach(s->thread);
            continue;
        }
        s->next = left;
        left = s;
    }
    streams = left;
    for (event* e = events; e != NULL; e = e->next) e->dead = true;
    live_modules = 0;
    fake_clear_nvjpeg();
}

int fake_streams_left(char* text, size_t size) {
    int n = 0, e = 0;
    for (stream* s = streams; s != NULL; s = s->next) n += !s->outside;
    for (event* t = events; t != NULL; t = t->next) e += !t->dead;
    size_t used = strlen(text);
    if (n + e > 0) snprintf(text + used, size - used, "%d streams, %d events; ", n, e);
    if (live_modules > 0) snprintf(text + strlen(text), size - strlen(text), "a module; ");
    int decoders = fake_nvjpeg_left();
    if (decoders > 0)
        snprintf(text + strlen(text), size - strlen(text), "%d of nvJPEG; ", decoders);
    return n + e + live_modules + decoders;
}

/* The consumer's stream lives until the process ends. */
int fake_cuda_consumer(int device, void** out) {
    pthread_mutex_lock(&fake_lock);
    context* c = fake_primary(device);
    c->device = device;
    *out = begin(c, true);
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

static stream* of_consumer(void* s) { return (uintptr_t)s <= 2 ? standard(fake_primary(0)) : s; }

int fake_cuda_consume(void* s, uint64_t from, void* to, size_t size) {
    pthread_mutex_lock(&fake_lock);
    push(of_consumer(s),
         (op){.kind = COPY_OUT, .to = to, .from = (void*)(uintptr_t)from, .size = size});
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

int fake_cuda_consumed(void* s) {
    pthread_mutex_lock(&fake_lock);
    drain(of_consumer(s));
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

void fake_cuda_decoded(void) {
    pthread_mutex_lock(&fake_lock);
    for (stream* s = streams; s != NULL; s = s->next)
        if (s->decodes) drain(s);
    pthread_mutex_unlock(&fake_lock);
}
