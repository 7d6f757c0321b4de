/* The structures of the DLPack exchange protocol (version 1.0). Device types are those of
 * dl_device. Layout and values are the protocol's; the names of fields are ours. */
#ifndef DEEPLAKE_CAPI_DLPACK_H
#define DEEPLAKE_CAPI_DLPACK_H

#include <stdint.h>

enum {
    PACK_INT = 0,
    PACK_UINT = 1,
    PACK_FLOAT = 2,
    PACK_BFLOAT = 4,
    PACK_COMPLEX = 5,
    PACK_BOOL = 6,
};

typedef struct pack_tensor {
    void* data;
    int32_t device_type;
    int32_t device_id;
    int32_t ndim;
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
    int64_t* shape;
    int64_t* strides; /* in elements */
    uint64_t byte_offset;
} pack_tensor;

/* The unversioned form: a capsule named "dltensor". */
typedef struct pack_managed {
    pack_tensor tensor;
    void* owner;
    void (*deleter)(struct pack_managed* self);
} pack_managed;

/* The versioned form: a capsule named "dltensor_versioned". */
typedef struct pack_versioned {
    uint32_t major;
    uint32_t minor;
    void* owner;
    void (*deleter)(struct pack_versioned* self);
    uint64_t flags; /* 0: writable, not a copy */
    pack_tensor tensor;
} pack_versioned;

#endif
