/* Reusable memory that C owns. The structures live in private memory of the owning process. The
 * data lives where the allocator of the ring puts it; by default that is a shared mapping. A forked
 * child sees the data but can neither free nor recycle it, because every call checks the owner
 * first. Nothing here enters Go, takes the GIL or waits, except for the short lock of one ring.
 * See docs/design/slabs.md. */
#ifndef DLI_SLAB_H
#define DLI_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLI_HIDDEN __attribute__((visibility("hidden")))

typedef struct dli_ring dli_ring;
typedef struct dli_slab dli_slab;

typedef struct dli_ring_stats {
    uint64_t bytes;      /* mapped now, held and free */
    uint64_t peak_bytes; /* most that was ever mapped */
    uint64_t budget;     /* bytes the ring keeps mapped when nothing is held */
    uint64_t slabs;      /* mapped now */
    uint64_t free_slabs; /* of these, waiting for reuse */
    uint64_t created;    /* mapped since the start */
    uint64_t reused;     /* handed out again without mapping */
    uint64_t grown;      /* mapped beyond the budget because consumers hold the others */
} dli_ring_stats;

/* Where the memory of a ring comes from. The functions run under the lock of the ring, on any
 * thread. They must not call the ring, nor enter the library's runtime. acquire, idle and closed
 * may be NULL. */
typedef struct dli_allocator dli_allocator;
struct dli_allocator {
    int32_t device_type, device_id; /* of the memory, with the values of DLPack */
    /* Gives size bytes, and state of the allocator for them; NULL with *code set. */
    void* (*map)(dli_allocator* a, uint64_t size, void** state, int* code);
    void (*unmap)(dli_allocator* a, void* data, uint64_t size, void* state);
    /* The holder of a reference is about to use the memory on a stream of the device. Returns 0 or
     * a code. */
    int (*acquire)(dli_allocator* a, void* state, void* stream);
    /* The last reference was dropped. */
    void (*idle)(dli_allocator* a, void* state);
    /* The ring is gone; the last call. */
    void (*closed)(dli_allocator* a);
};

/* dli_shared_memory, dli_local_memory and dli_file_memory are allocators of the CPU's memory. That
 * of a local one is private to the process. That of a file one is a file without a name, which
 * stays open, so that other processes may map it. Codes are those of errno. */
DLI_HIDDEN dli_allocator* dli_shared_memory(void);
DLI_HIDDEN dli_allocator* dli_local_memory(void);
DLI_HIDDEN dli_allocator* dli_file_memory(void);

/* dli_slab_file gives the descriptor of the file of a slab, which begins with the first byte of the
 * memory; -1: it has none. The slab owns the descriptor. */
DLI_HIDDEN int dli_slab_file(const dli_slab* slab);

/* dli_ring_new makes a ring; NULL when there is no memory. */
DLI_HIDDEN dli_ring* dli_ring_new(uint64_t budget, dli_allocator* allocator);

/* dli_ring_set_budget changes the budget and unmaps free slabs beyond it. */
DLI_HIDDEN void dli_ring_set_budget(dli_ring* ring, uint64_t budget);

/* dli_ring_restart sets the counters of a ring to zero, and its budget, for another user. */
DLI_HIDDEN void dli_ring_restart(dli_ring* ring, uint64_t budget);

/* dli_ring_get gives a slab of at least size bytes with one reference, or NULL with *code of the
 * allocator. A ring that is closed, or that another process owns, gives NULL with *code = 0. The
 * content is undefined: the last user's bytes. */
DLI_HIDDEN dli_slab* dli_ring_get(dli_ring* ring, uint64_t size, int* code);

/* dli_ring_read copies the figures of the ring. */
DLI_HIDDEN void dli_ring_read(dli_ring* ring, dli_ring_stats* out);

/* dli_ring_close unmaps the free slabs. Slabs in use are unmapped at their last release, and the
 * ring is freed with the last one. The caller's pointer is invalid afterwards. */
DLI_HIDDEN void dli_ring_close(dli_ring* ring);

/* dli_slab_retain adds a reference. The caller must hold one. */
DLI_HIDDEN void dli_slab_retain(dli_slab* slab);

/* dli_slab_release drops a reference; with the last one the slab returns to its ring. Any thread
 * may call it, at any time until the process ends. In a process other than the owner it does
 * nothing.
 */
DLI_HIDDEN void dli_slab_release(dli_slab* slab);

/* dli_slab_touch makes the kernel map the memory of a slab at once, at half the cost of a page at a
 * time. The caller must hold a reference. Concurrent writes survive. */
DLI_HIDDEN void dli_slab_touch(const dli_slab* slab);

/* dli_slab_acquire tells the allocator that the memory is about to be used on a stream of its
 * device. Returns 0 or a code of the allocator. The caller must hold a reference. */
DLI_HIDDEN int dli_slab_acquire(dli_slab* slab, void* stream);

/* dli_slab_data and dli_slab_size describe the memory. An address of the CPU is a multiple of the
 * page size. */
DLI_HIDDEN void* dli_slab_data(const dli_slab* slab);
DLI_HIDDEN uint64_t dli_slab_size(const dli_slab* slab);

/* dli_slab_state gives what the allocator keeps with the memory. */
DLI_HIDDEN void* dli_slab_state(const dli_slab* slab);

/* dli_slab_allocator gives the allocator of the memory. */
DLI_HIDDEN const dli_allocator* dli_slab_allocator(const dli_slab* slab);

#endif
