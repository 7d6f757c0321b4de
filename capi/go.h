/* The Go halves of the functions of deeplake.h, under the names dlgo_*. The Go files that export
 * them include this header: a half with other parameters than the contract does not compile. The
 * shim includes it to call them. */
#ifndef DEEPLAKE_CAPI_GO_H
#define DEEPLAKE_CAPI_GO_H

#include <stddef.h>
#include <stdlib.h>

#include "include/deeplake.h"

/* The version of the library; python/deeplake/_version.py has the same. */
#define DL_VERSION "0.1.0"

/* Fills out with malloc'ed data and hands over its ownership. */
void dli_buffer_fill(dl_buffer* out, char* data, int64_t size);

/* Fills err, which may be NULL, with the message "operation: ..." and returns status. */
__attribute__((format(printf, 4, 5))) dl_status dli_fail(dl_error* err, dl_status status,
                                                         const char* operation, const char* format,
                                                         ...);

/* Gives the reference to a slab to the caller of the interface, who releases it. */
dl_memory* dli_memory_hand_out(void* slab);

/* Makes a batch export followed by `size` zeroed bytes, and fills the fields of its layout and
 * device. It takes over the reference to memory. Returns NULL if the process is out of memory. */
dl_batch_export* dli_batch_export_new(dl_memory* memory, dl_memory* host, int64_t size);

/* Call the pointers of a dl_function: Go cannot. */
dl_status dli_function_call(const dl_function* f, dl_array_in* args, int64_t args_n, int64_t rows,
                            dl_rows* out, void** kept, dl_error* err);
void dli_function_done(const dl_function* f, void* kept);

/* Call the pointers of Arrow's structures. Those of a stream return 0 or an errno. */
int dli_stream_schema(dl_arrow_stream* s, struct ArrowSchema* out);
int dli_stream_next(dl_arrow_stream* s, struct ArrowArray* out);
const char* dli_stream_error(dl_arrow_stream* s);
void dli_stream_release(dl_arrow_stream* s);
void dli_schema_release(struct ArrowSchema* s);
void dli_array_release(struct ArrowArray* a);

/* Memory of `size` zeroed bytes that `users` structures of Arrow share, and the batch that the last
 * one lets go of. The structures get their release pointers by dli_schema_shares and
 * dli_array_shares. */
struct dli_shared* dli_shared_new(uint64_t held, int64_t users, int64_t size);
void* dli_shared_data(struct dli_shared* s);
void dli_schema_shares(struct ArrowSchema* t);
void dli_array_shares(struct ArrowArray* a);
void* dli_nothing(void);
void dli_batch_released(uint64_t held);

/* Functions that are C alone have no half: their declaration is never used. */
#define DLI_DECLARE(name) extern __typeof__(dl_##name) dlgo_##name;
DL_FUNCTIONS(DLI_DECLARE)
#undef DLI_DECLARE

#endif
