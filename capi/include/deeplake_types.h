/* The version, the errors and the types of the C interface. Include deeplake.h. */

#ifndef DEEPLAKE_TYPES_H
#define DEEPLAKE_TYPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DL_ABI_MAJOR 2
#define DL_ABI_MINOR 9

#if defined(__GNUC__)
#define DL_API __attribute__((visibility("default")))
#else
#define DL_API
#endif

/* ---- Status and errors ---- */

typedef int32_t dl_status;

enum {
    DL_OK = 0,
    DL_INVALID = 1,
    DL_TYPE = 2,
    DL_RANGE = 3,
    DL_NOT_FOUND = 4,
    DL_EXISTS = 5,
    DL_CORRUPT = 6,
    DL_UNSUPPORTED = 7,
    DL_CONFLICT = 8,
    DL_READ_ONLY = 9,
    DL_STORAGE = 10,
    DL_CLOSED = 11,
    DL_CANCELED = 12,
    DL_FORKED = 13,
    DL_INTERNAL = 14,
    DL_DENIED = 15,
    DL_DEVICE = 16,
    DL_WORKER = 17,
};

/* Bits of dl_error.flags. */
enum {
    DL_ERROR_TRUNCATED = 1, /* message was longer; it is cut at a character */
    DL_ERROR_POISONED = 2,  /* the library stopped working; see the rules above */
    DL_ERROR_CONFLICT = 4,  /* conflict is filled */
};

/* Values of dl_error.retryable. */
enum {
    DL_RETRY_UNKNOWN = -1,
    DL_RETRY_NO = 0,  /* the operation would fail again */
    DL_RETRY_YES = 1, /* the operation may succeed when it is tried again */
};

enum { DL_CONFLICT_ROWS = 16 };

/* The two sides of a conflict of commits. */
typedef struct dl_conflict {
    char kind[64];                  /* "update x delete", ours first; "" if unknown */
    char tensor[512];               /* "" if the conflict is not about one */
    int64_t rows[DL_CONFLICT_ROWS]; /* the first rows_n of count rows */
    int64_t count;
    int32_t rows_n;
    int32_t reserved;  /* 0 */
    char winner[2048]; /* the commit that stands, as JSON; "" if it is longer */
} dl_conflict;

/* A failure. All of it lies in the caller's memory: there is nothing to release. Text is
 * NUL-terminated, and "" if unknown. Text that does not fit is cut at a character. */
typedef struct dl_error {
    dl_status status;
    uint32_t flags;
    char message[2040];   /* text: operation, object, failure, and the remedy */
    char operation[64];   /* "read", "put", "open dataset" */
    char object[1024];    /* a key, a URI, the name of a tensor */
    char request_id[128]; /* the store's name of the request that failed */
    uint64_t cause;       /* as the dl_function that failed has set it; else 0 */
    int32_t retryable;
    int32_t reserved32;   /* 0 */
    uint64_t reserved[6]; /* 0 */
    dl_conflict conflict; /* undefined without DL_ERROR_CONFLICT */
} dl_error;

/* ---- Types ---- */

/* Memory that is read and never written. Typedefs, so that the Go side can name them. */
typedef const char dl_text;         /* dl_text*: a NUL-terminated string */
typedef dl_text* const dl_texts;    /* dl_texts*: several strings */
typedef const int64_t dl_const_i64; /* dl_const_i64*: numbers */
typedef const double dl_const_f64;  /* dl_const_f64*: numbers */
typedef const void* dl_data;        /* bytes */
typedef void* const dl_mut_ptr;     /* dl_mut_ptr*: places to write to */

typedef struct dl_context {
    uint64_t id;
} dl_context; /* a deadline and a way to cancel */
typedef struct dl_dataset {
    uint64_t id;
} dl_dataset;
typedef struct dl_view {
    uint64_t id;
} dl_view;
typedef const dl_view dl_views; /* dl_views*: several */
typedef struct dl_column {
    uint64_t id;
} dl_column; /* one tensor of one view */
typedef struct dl_videos {
    uint64_t id;
} dl_videos; /* one tensor of videos of one view */
typedef struct dl_batches {
    uint64_t id;
} dl_batches; /* rows of a view as record batches of Arrow */
typedef struct dl_loader {
    uint64_t id;
} dl_loader;
typedef struct dl_epoch {
    uint64_t id;
} dl_epoch; /* one pass of a loader */
typedef struct dl_job {
    uint64_t id;
} dl_job; /* an import or an export that runs */
typedef struct dl_visualizer {
    uint64_t id;
} dl_visualizer; /* a server of pages that show a view */

/* Bytes that the caller owns, and returns by one call of release(&buffer). release is NULL in a
 * buffer that was never filled. */
typedef struct dl_buffer {
    char* data; /* followed by a NUL that size does not count */
    int64_t size;
    void (*release)(struct dl_buffer* self);
} dl_buffer;

/* Element types, with the values stored in datasets. */
enum {
    DL_BOOL = 1,
    DL_UINT8 = 2,
    DL_UINT16 = 3,
    DL_UINT32 = 4,
    DL_UINT64 = 5,
    DL_INT8 = 6,
    DL_INT16 = 7,
    DL_INT32 = 8,
    DL_INT64 = 9,
    DL_FLOAT16 = 10,
    DL_BFLOAT16 = 11,
    DL_FLOAT32 = 12,
    DL_FLOAT64 = 13,
    DL_COMPLEX64 = 14,
    DL_COMPLEX128 = 15,
    DL_STRING = 32,
    DL_JSON = 33,
    DL_BYTES = 34,
};

/* Meanings of the bytes of a dl_sample. */
enum {
    DL_FORM_ARRAY = 0, /* a C-order array of dtype and shape, little endian */
    DL_FORM_ENCODED =
        1,            /* a file of a sample codec (JPEG, PNG, WebP); dtype and shape are ignored */
    DL_FORM_TEXT = 2, /* text, JSON or opaque bytes, as dtype says */
    DL_FORM_HOLE = 3, /* the row has no sample; everything else is ignored */
    DL_FORM_LINK = 4, /* a JPEG, PNG or WebP file that stays where it is: data is JSON {"url",
                         "offset", "length", "tag"}, of which all but the URL may be left out;
                         "url64" has a URL that is not UTF-8, in base64; the rest is ignored */
};

/* One value for a tensor. */
typedef struct dl_sample {
    dl_data data;
    int64_t bytes;
    dl_const_i64* shape; /* ndim axes, outermost first */
    int32_t ndim;
    int32_t dtype;
    int32_t form;
    uint32_t flags; /* DL_LITERAL, or 0 */
} dl_sample;

/* The array is of plain numbers of the host language, whose dtype (DL_BOOL, DL_INT64, DL_UINT64,
 * DL_FLOAT64 or DL_COMPLEX128) is the least that holds them and nothing that the user chose. A
 * tensor without a dtype takes the default of its htype for them; without elements they decide
 * nothing. */
#define DL_LITERAL 1u

/* The structures of Arrow's C data and stream interfaces, as their specification has them: columns
 * of other programs. Each is released by its own pointer; NULL there says that it was. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema** children;
    struct ArrowSchema* dictionary;
    void (*release)(struct ArrowSchema*);
    void* private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void** buffers;
    struct ArrowArray** children;
    struct ArrowArray* dictionary;
    void (*release)(struct ArrowArray*);
    void* private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
    int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
    const char* (*get_last_error)(struct ArrowArrayStream*);
    void (*release)(struct ArrowArrayStream*);
    void* private_data;
};
#endif
typedef struct ArrowArrayStream dl_arrow_stream;

/* The values of one tensor for n rows. Either n equal samples in one piece: data, ndim and shape of
 * one sample, and samples NULL. Or one by one: samples. For a sequence[...] tensor row_items has n
 * numbers whose sum is samples_n; a row without a sample has one item of DL_FORM_HOLE. */
typedef struct dl_rows {
    dl_text* tensor;
    int64_t n;
    dl_data data;
    int64_t bytes;
    dl_const_i64* shape;
    int32_t ndim;
    int32_t dtype;
    const dl_sample* samples;
    int64_t samples_n;
    dl_const_i64* row_items; /* NULL for anything but a sequence */
    /* what int64 numbers count: NULL or "" for no time; "date"; "timestamp[us]" or "interval[us]",
     * of s, ms, us or ns; "timestamp[us, Europe/Berlin]", which counts in UTC; or a NumPy type like
     * "datetime64[ns]", which states no zone. A scalar of -2^63 is no sample. */
    dl_text* counts;
    /* names_n names of the classes that the integers number from 0, for a class_label; NULL: they
     * are the numbers of the tensor. The first such column fixes the numbers of a tensor without
     * classes; of later ones, names that the tensor lacks are added in their order. */
    dl_texts* names;
    int64_t names_n;
    uint32_t flags;    /* of data: DL_LITERAL, or 0 */
    uint32_t reserved; /* 0 */
    /* A column of Arrow in the place of data and samples: its type, and its n rows in arrow_n
     * arrays. Both stay the caller's. NULL: none. */
    struct ArrowSchema* arrow_schema;
    struct ArrowArray* const* arrow;
    int64_t arrow_n;
} dl_rows;
typedef const dl_rows dl_rows_in;

/* Layouts of a column of a batch. */
enum {
    DL_KIND_ARRAY = 1, /* one array over all rows: data, ndim, shape with shape[0] == rows */
    DL_KIND_LIST = 2,  /* arrays one by one: offsets, ndims, shapes */
    DL_KIND_TEXT = 3,  /* strings, JSON or bytes one by one: offsets, sizes */
};

/* One column of a batch. Entry i of a list or text has sizes[i] bytes at data + offsets[i]; a
 * missing entry has sizes[i] == -1. An array and each entry of a list start at a multiple of 64
 * bytes. Without row_items entry i is row i. With row_items (sequence[...] tensors) the entries of
 * row 0 come first, then the entries of row 1. */
typedef struct dl_array {
    dl_text* name;
    void* data;
    dl_const_i64* shape;   /* ARRAY: ndim axes */
    dl_const_i64* offsets; /* LIST, TEXT: entries numbers */
    dl_const_i64* sizes;   /* LIST, TEXT: entries numbers */
    dl_const_i64*
        shapes; /* LIST: the axes of all entries one after the other, ndims[i] for entry i */
    dl_const_i64* ndims;     /* LIST: entries numbers */
    dl_const_i64* row_items; /* rows numbers, -1 for a row without a sample; or NULL */
    int64_t entries;         /* LIST, TEXT */
    int32_t kind;
    int32_t dtype;
    int32_t ndim;    /* ARRAY */
    int32_t on_host; /* 1: data lies on the CPU, in the memory host of the batch if it has one */
} dl_array;
typedef const dl_array dl_array_in;

/* The memory of a batch, with counted references. Any thread may release them; that never enters
 * the library's runtime. */
typedef struct dl_memory dl_memory;

/* Devices, with the values of DLPack. */
enum { DL_DEVICE_CPU = 1, DL_DEVICE_CUDA = 2 };

/* A stream that stands for none: the memory is not used yet. */
#define DL_STREAM_NONE ((void*)-1)

/* The device on which a caller wants memory. NULL in a call is the CPU. */
typedef struct dl_device {
    int32_t type;
    int32_t id; /* 0 for the CPU; else its number in this process */
    /* On which the memory is used next; ignored for the CPU. A stream of CUDA: a handle of the
     * driver, NULL or 1 for the legacy default stream, 2 for that of the thread. The stream waits
     * for the memory, the host does not. */
    void* stream;
} dl_device;
typedef const dl_device dl_device_in;

/* The layout of dl_batch_export that this header describes. */
#define DL_BATCH_EXPORT_VERSION 1

/* A batch as one plain struct. The caller owns it and returns it by dl_batch_export_free. The
 * struct, its arrays and their numbers live until then; the memory at `data` lives as long as any
 * reference to it. Later versions add fields in place of `reserved` and after it. */
typedef struct dl_batch_export {
    uint32_t struct_size; /* bytes of the struct as the library knows it */
    uint32_t version;     /* DL_BATCH_EXPORT_VERSION of the library */
    dl_memory* memory;    /* one reference, owned by the struct */
    dl_array_in* arrays;
    int64_t n; /* arrays */
    int64_t rows;
    int64_t position;    /* in the epoch, once all ranks have had this batch */
    int32_t last;        /* 1: the last batch of its pass */
    int32_t device_type; /* of memory, and of data except that of DL_KIND_TEXT */
    int32_t device_id;
    int32_t reserved32;   /* 0 */
    dl_memory* host;      /* of the text of a batch on another device; NULL: there is none */
    uint64_t reserved[5]; /* 0 */
} dl_batch_export;

#ifdef __cplusplus
}
#endif

#endif
