/* References to the memory of batches, and DLPack tensors over it. Pure C, which never enters the
 * Go runtime: a consumer may drop a tensor from any thread, without the GIL, while the interpreter
 * exits, or in a forked child. */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "../core/slab/slab.h"
#include "dlpack.h"
#include "go.h"

/* dl_memory is dli_slab under its public name. The slab counts references and checks the owner. */
static dli_slab* slab_of(dl_memory* memory) { return (dli_slab*)memory; }

static atomic_llong references;

int64_t dl_memory_references(void) { return atomic_load(&references); }

void dl_memory_retain(dl_memory* memory) {
    if (memory == NULL) return;
    atomic_fetch_add(&references, 1);
    dli_slab_retain(slab_of(memory));
}

void dl_memory_release(dl_memory* memory) {
    if (memory == NULL) return;
    atomic_fetch_sub(&references, 1);
    dli_slab_release(slab_of(memory));
}

void dl_memory_info(dl_memory* memory, void** data, int64_t* size, int32_t* file) {
    *data = dli_slab_data(slab_of(memory));
    *size = (int64_t)dli_slab_size(slab_of(memory));
    *file = dli_slab_file(slab_of(memory));
}

dl_memory* dli_memory_hand_out(void* slab) {
    atomic_fetch_add(&references, 1);
    return (dl_memory*)slab;
}

dl_batch_export* dli_batch_export_new(dl_memory* memory, dl_memory* host, int64_t size) {
    dl_batch_export* exported = calloc(1, sizeof *exported + (size_t)size);
    if (exported == NULL) return NULL;
    exported->struct_size = sizeof *exported;
    exported->version = DL_BATCH_EXPORT_VERSION;
    const dli_allocator* from = dli_slab_allocator(slab_of(memory));
    exported->device_type = from->device_type;
    exported->device_id = from->device_id;
    exported->memory = memory;
    exported->host = host;
    atomic_fetch_add(&references, host == NULL ? 1 : 2);
    return exported;
}

void dl_batch_export_free(dl_batch_export* exported) {
    if (exported == NULL) return;
    dl_memory_release(exported->memory);
    dl_memory_release(exported->host);
    free(exported);
}

/* One allocation: the tensor in either form, its memory, then shape and strides. */
typedef struct lease {
    union {
        pack_managed plain;
        pack_versioned versioned;
    } form;
    dl_memory* memory;
    int64_t axes[]; /* ndim sizes, ndim strides */
} lease;

static void drop(lease* l) {
    dl_memory_release(l->memory);
    free(l);
}

static void delete_plain(pack_managed* self) { drop((lease*)self->owner); }

static void delete_versioned(pack_versioned* self) { drop((lease*)self->owner); }

static dl_status fail(dl_error* err, dl_status status, const char* why, int32_t got) {
    return dli_fail(err, status, "export tensor", "%s (%d)", why, got);
}

/* Fills the element type of the protocol. Returns 0 if dtype has none. */
static int kind_of(int32_t dtype, pack_tensor* t) {
    static const struct {
        uint8_t code, bits;
    } kinds[] = {
        [DL_BOOL] = {PACK_BOOL, 8},
        [DL_UINT8] = {PACK_UINT, 8},
        [DL_UINT16] = {PACK_UINT, 16},
        [DL_UINT32] = {PACK_UINT, 32},
        [DL_UINT64] = {PACK_UINT, 64},
        [DL_INT8] = {PACK_INT, 8},
        [DL_INT16] = {PACK_INT, 16},
        [DL_INT32] = {PACK_INT, 32},
        [DL_INT64] = {PACK_INT, 64},
        [DL_FLOAT16] = {PACK_FLOAT, 16},
        [DL_BFLOAT16] = {PACK_BFLOAT, 16},
        [DL_FLOAT32] = {PACK_FLOAT, 32},
        [DL_FLOAT64] = {PACK_FLOAT, 64},
        [DL_COMPLEX64] = {PACK_COMPLEX, 64},
        [DL_COMPLEX128] = {PACK_COMPLEX, 128},
    };
    if (dtype < 0 || (size_t)dtype >= sizeof kinds / sizeof kinds[0] || kinds[dtype].bits == 0)
        return 0;
    t->code = kinds[dtype].code;
    t->bits = kinds[dtype].bits;
    t->lanes = 1;
    return 1;
}

/* acquire makes the stream of a device wait for the memory. A device that is not the memory's is
 * refused. */
static dl_status acquire(dl_memory* memory, dl_device_in* device, pack_tensor* t, dl_error* err) {
    const dli_allocator* from = dli_slab_allocator(slab_of(memory));
    const dl_device cpu = {.type = DL_DEVICE_CPU};
    if (device == NULL) device = &cpu;
    if (device->type != from->device_type || device->id != from->device_id)
        return dli_fail(err, DL_UNSUPPORTED, "export tensor",
                        "the memory is on device %d of type %d, and device %d of type %d is wanted",
                        from->device_id, from->device_type, device->id, device->type);
    t->device_type = from->device_type;
    t->device_id = from->device_id;
    if (device->type == DL_DEVICE_CPU || device->stream == DL_STREAM_NONE) return DL_OK;
    int code = dli_slab_acquire(slab_of(memory), device->stream);
    if (code == 0) return DL_OK;
    return dli_fail(err, DL_DEVICE, "export tensor",
                    "the stream of the consumer cannot wait for the batch: CUDA error %d; give a "
                    "stream of device %d",
                    code, device->id);
}

dl_status dl_memory_tensor(dl_memory* memory, void* data, int32_t dtype, int32_t ndim,
                           dl_const_i64* shape, int32_t versioned, dl_device_in* device, void** out,
                           dl_error* err) {
    pack_tensor t = {.data = data, .ndim = ndim};
    if (memory == NULL || out == NULL)
        return fail(err, DL_INVALID, "no memory or no place for the result", 0);
    if (ndim < 0 || ndim > 64 || (ndim > 0 && shape == NULL))
        return fail(err, DL_INVALID, "bad number of axes", ndim);
    if (!kind_of(dtype, &t)) return fail(err, DL_UNSUPPORTED, "DLPack has no such dtype", dtype);
    dl_status status = acquire(memory, device, &t, err);
    if (status != DL_OK) return status;

    lease* l = calloc(1, sizeof *l + 2 * (size_t)ndim * sizeof l->axes[0]);
    if (l == NULL) return fail(err, DL_STORAGE, "out of memory; axes", ndim);
    l->memory = memory;
    t.shape = l->axes;
    t.strides = l->axes + ndim;
    int64_t stride = 1;
    for (int32_t i = ndim - 1; i >= 0; i--) {
        t.shape[i] = shape[i];
        t.strides[i] = stride;
        stride *= shape[i] > 1 ? shape[i] : 1;
    }
    if (versioned) {
        l->form.versioned =
            (pack_versioned){.major = 1, .owner = l, .deleter = delete_versioned, .tensor = t};
        *out = &l->form.versioned;
    } else {
        l->form.plain = (pack_managed){.tensor = t, .owner = l, .deleter = delete_plain};
        *out = &l->form.plain;
    }
    dl_memory_retain(memory);
    return DL_OK;
}
