#define _GNU_SOURCE
#include "slab.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__linux__) && !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; unknown to older C libraries */
#endif

struct dli_slab {
    void* data;
    uint64_t size;
    void* state; /* of the allocator */
    atomic_int refs;
    pid_t owner;
    dli_ring* ring;
    dli_slab* next; /* in the free list */
};

struct dli_ring {
    pthread_mutex_t mu;
    pid_t owner;
    dli_allocator* allocator;
    bool closed;
    dli_slab* free; /* most recently released first: its pages are the warmest */
    dli_ring_stats stats;
};

/* beyond_memory reports whether the machine has less memory than size. The kernel would map it all
 * the same and end the process when the pages are touched. */
static bool beyond_memory(uint64_t size) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 && size / (uint64_t)page > (uint64_t)pages;
}

/* map_file gives size bytes of a new file in memory and its descriptor, or MAP_FAILED with errno
 * set. A memfd shows under its name in the maps of the process and is not bound by the size of
 * /dev/shm. */
static void* map_file(uint64_t size, int* file) {
#ifdef __linux__
    int fd = memfd_create("deeplake-slab", MFD_CLOEXEC);
    if (fd < 0) {
        return MAP_FAILED;
    }
    void* p = MAP_FAILED;
    if (ftruncate(fd, (off_t)size) == 0) {
        p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (p == MAP_FAILED) {
        int why = errno;
        close(fd);
        errno = why;
    }
    *file = fd;
    return p;
#else
    (void)size, (void)file;
    errno = ENOSYS;
    return MAP_FAILED;
#endif
}

/* map_shared gives size bytes of fresh shared memory or NULL with errno set. An anonymous mapping
 * is the same memory as a memfd, without the name. */
static void* map_shared(uint64_t size) {
    int fd = -1;
    void* p = map_file(size, &fd);
    if (p != MAP_FAILED) {
        close(fd); /* the mapping keeps the memory */
    }
    if (p == MAP_FAILED) {
        p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    }
    if (p == MAP_FAILED) {
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    madvise(p, size, MADV_HUGEPAGE); /* fewer faults at first touch where the kernel allows it */
#endif
    return p;
}

/* map_local returns size bytes of fresh memory that no fork shares, or NULL with errno set. It asks
 * for no huge pages. Virtual machines return free huge pages to their host, and getting one back
 * takes four times as long as filling the memory with small pages. */
static void* map_local(uint64_t size) {
    void* p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* cpu_map maps memory by one of the two functions above. */
static void* cpu_map(void* (*map)(uint64_t), uint64_t size, int* code) {
    if (beyond_memory(size)) {
        *code = ENOMEM;
        return NULL;
    }
    void* p = map(size);
    if (p == NULL) {
        *code = errno;
    }
    return p;
}

static void* shared_map(dli_allocator* a, uint64_t size, void** state, int* code) {
    (void)a, (void)state;
    return cpu_map(map_shared, size, code);
}

static void* local_map(dli_allocator* a, uint64_t size, void** state, int* code) {
    (void)a, (void)state;
    return cpu_map(map_local, size, code);
}

static void cpu_unmap(dli_allocator* a, void* data, uint64_t size, void* state) {
    (void)a, (void)state;
    munmap(data, size);
}

/* The state of memory of a file is its descriptor + 1: NULL is no state. */
static void* file_map(dli_allocator* a, uint64_t size, void** state, int* code) {
    (void)a;
    if (beyond_memory(size)) {
        *code = ENOMEM;
        return NULL;
    }
    int fd = -1;
    void* p = map_file(size, &fd);
    if (p == MAP_FAILED) {
        *code = errno;
        return NULL;
    }
    *state = (void*)((intptr_t)fd + 1);
    return p;
}

/* file_unmap returns the memory to the system, even if another process still maps the file: one
 * that reads it then gets SIGBUS. */
static void file_unmap(dli_allocator* a, void* data, uint64_t size, void* state) {
    (void)a;
    int fd = (int)((intptr_t)state - 1);
    munmap(data, size);
    if (ftruncate(fd, 0) != 0) {
        /* The last mapping returns it. */
    }
    close(fd);
}

enum { DEVICE_CPU = 1 };

dli_allocator* dli_shared_memory(void) {
    static dli_allocator shared = {
        .device_type = DEVICE_CPU, .map = shared_map, .unmap = cpu_unmap};
    return &shared;
}

dli_allocator* dli_local_memory(void) {
    static dli_allocator local = {.device_type = DEVICE_CPU, .map = local_map, .unmap = cpu_unmap};
    return &local;
}

dli_allocator* dli_file_memory(void) {
    static dli_allocator file = {.device_type = DEVICE_CPU, .map = file_map, .unmap = file_unmap};
    return &file;
}

int dli_slab_file(const dli_slab* slab) {
    bool has = slab->ring->allocator == dli_file_memory() && slab->owner == getpid();
    return has ? (int)((intptr_t)slab->state - 1) : -1;
}

/* destroy unmaps a slab that is in no list. The ring is locked. */
static void destroy(dli_ring* ring, dli_slab* slab) {
    ring->stats.bytes -= slab->size;
    ring->stats.slabs--;
    ring->allocator->unmap(ring->allocator, slab->data, slab->size, slab->state);
    free(slab);
}

/* trim unmaps free slabs, smallest first, until want more bytes fit into the budget. The ring is
 * locked. */
static void trim(dli_ring* ring, uint64_t want) {
    while (ring->free != NULL && ring->stats.bytes + want > ring->stats.budget) {
        dli_slab** victim = &ring->free;
        for (dli_slab** p = &ring->free; *p != NULL; p = &(*p)->next) {
            if ((*p)->size < (*victim)->size) {
                victim = p;
            }
        }
        dli_slab* slab = *victim;
        *victim = slab->next;
        ring->stats.free_slabs--;
        destroy(ring, slab);
    }
}

/* best_fit takes the smallest free slab of at least size bytes out of the list. The ring is locked.
 */
static dli_slab* best_fit(dli_ring* ring, uint64_t size) {
    dli_slab** best = NULL;
    for (dli_slab** p = &ring->free; *p != NULL; p = &(*p)->next) {
        if ((*p)->size >= size && (best == NULL || (*p)->size < (*best)->size)) {
            best = p;
        }
    }
    if (best == NULL) {
        return NULL;
    }
    dli_slab* slab = *best;
    *best = slab->next;
    ring->stats.free_slabs--;
    return slab;
}

/* round_up makes sizes coarse (steps of an eighth of the power of two below), so that slabs of
 * similar batches fit each other. It returns 0 when size is beyond any address space. */
static uint64_t round_up(uint64_t size) {
    uint64_t step = 64 << 10;
    if (size > (uint64_t)1 << 46) {
        return 0;
    }
    while (step * 16 <= size) {
        step *= 2;
    }
    return size == 0 ? step : (size + step - 1) / step * step;
}

dli_ring* dli_ring_new(uint64_t budget, dli_allocator* allocator) {
    dli_ring* ring = calloc(1, sizeof *ring);
    if (ring == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&ring->mu, NULL) != 0) {
        free(ring);
        return NULL;
    }
    ring->owner = getpid();
    ring->allocator = allocator;
    ring->stats.budget = budget;
    return ring;
}

void dli_ring_set_budget(dli_ring* ring, uint64_t budget) {
    if (ring->owner != getpid()) {
        return;
    }
    pthread_mutex_lock(&ring->mu);
    ring->stats.budget = budget;
    trim(ring, 0);
    pthread_mutex_unlock(&ring->mu);
}

void dli_ring_restart(dli_ring* ring, uint64_t budget) {
    if (ring->owner != getpid()) {
        return;
    }
    pthread_mutex_lock(&ring->mu);
    dli_ring_stats* s = &ring->stats;
    s->budget = budget;
    trim(ring, 0);
    s->peak_bytes = s->bytes;
    s->created = s->reused = s->grown = 0;
    pthread_mutex_unlock(&ring->mu);
}

/* create maps a new slab and counts it. The ring is locked, so that two callers cannot both take
 * the last of the budget. */
static dli_slab* create(dli_ring* ring, uint64_t size, int* code) {
    dli_slab* slab = calloc(1, sizeof *slab);
    if (slab == NULL) {
        *code = ENOMEM;
        return NULL;
    }
    slab->data = ring->allocator->map(ring->allocator, size, &slab->state, code);
    if (slab->data == NULL) {
        free(slab);
        return NULL;
    }
    slab->size = size;
    slab->owner = ring->owner;
    slab->ring = ring;
    dli_ring_stats* s = &ring->stats;
    s->bytes += size;
    s->slabs++;
    s->created++;
    if (s->bytes > s->budget) {
        s->grown++;
    }
    if (s->bytes > s->peak_bytes) {
        s->peak_bytes = s->bytes;
    }
    return slab;
}

dli_slab* dli_ring_get(dli_ring* ring, uint64_t size, int* code) {
    *code = 0;
    if (ring->owner != getpid()) {
        return NULL;
    }
    uint64_t rounded = round_up(size);
    if (rounded == 0) {
        *code = ENOMEM;
        return NULL;
    }
    pthread_mutex_lock(&ring->mu);
    dli_slab* slab = NULL;
    if (!ring->closed) {
        slab = best_fit(ring, size);
        if (slab != NULL) {
            ring->stats.reused++;
        } else {
            trim(ring, rounded); /* all free slabs are too small: make room */
            slab = create(ring, rounded, code);
        }
    }
    if (slab != NULL) {
        slab->next = NULL;
        atomic_store_explicit(&slab->refs, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&ring->mu);
    return slab;
}

void dli_ring_read(dli_ring* ring, dli_ring_stats* out) {
    if (ring->owner != getpid()) {
        *out = (dli_ring_stats){0};
        return;
    }
    pthread_mutex_lock(&ring->mu);
    *out = ring->stats;
    pthread_mutex_unlock(&ring->mu);
}

/* unlock_or_free unlocks the ring. It frees a closed ring without slabs in use. */
static void unlock_or_free(dli_ring* ring) {
    bool last = ring->closed && ring->stats.slabs == 0;
    pthread_mutex_unlock(&ring->mu);
    if (last) {
        if (ring->allocator->closed != NULL) {
            ring->allocator->closed(ring->allocator);
        }
        pthread_mutex_destroy(&ring->mu);
        free(ring);
    }
}

void dli_ring_close(dli_ring* ring) {
    if (ring->owner != getpid()) {
        return;
    }
    pthread_mutex_lock(&ring->mu);
    ring->closed = true;
    ring->stats.budget = 0;
    trim(ring, 0);
    unlock_or_free(ring);
}

void dli_slab_retain(dli_slab* slab) {
    if (slab->owner == getpid()) {
        atomic_fetch_add_explicit(&slab->refs, 1, memory_order_relaxed);
    }
}

void dli_slab_release(dli_slab* slab) {
    if (slab->owner != getpid()) {
        return;
    }
    if (atomic_fetch_sub_explicit(&slab->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    dli_ring* ring = slab->ring;
    pthread_mutex_lock(&ring->mu);
    if (ring->allocator->idle != NULL) {
        ring->allocator->idle(ring->allocator, slab->state);
    }
    if (ring->closed || ring->stats.bytes > ring->stats.budget) {
        destroy(ring, slab);
    } else {
        slab->next = ring->free;
        ring->free = slab;
        ring->stats.free_slabs++;
    }
    unlock_or_free(ring);
}

void dli_slab_touch(const dli_slab* slab) {
#ifdef MADV_POPULATE_WRITE
    if (slab->owner == getpid() && slab->ring->allocator->device_type == DEVICE_CPU) {
        madvise(slab->data, slab->size,
                MADV_POPULATE_WRITE); /* if it fails, pages are mapped one by one at first use */
    }
#else
    (void)slab;
#endif
}

int dli_slab_acquire(dli_slab* slab, void* stream) {
    dli_ring* ring = slab->ring;
    if (slab->owner != getpid() || ring->allocator->acquire == NULL) {
        return 0;
    }
    pthread_mutex_lock(&ring->mu);
    int code = ring->allocator->acquire(ring->allocator, slab->state, stream);
    pthread_mutex_unlock(&ring->mu);
    return code;
}

void* dli_slab_data(const dli_slab* slab) { return slab->data; }

uint64_t dli_slab_size(const dli_slab* slab) { return slab->size; }

void* dli_slab_state(const dli_slab* slab) { return slab->state; }

const dli_allocator* dli_slab_allocator(const dli_slab* slab) { return slab->ring->allocator; }
