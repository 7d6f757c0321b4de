/* The Go half of every function of deeplake.h, under the name dlgo_*. Included where Go exports
 * them, so that one whose parameters differ from the contract does not compile, and where the shim
 * calls them. Hidden from users. */
#ifndef DEEPLAKE_CAPI_GO_H
#define DEEPLAKE_CAPI_GO_H

#include <stddef.h>
#include <stdlib.h>

#include "include/deeplake.h"

/* The version of the library; python/deeplake/_version.py has the same. */
#define DL_VERSION "0.1.0"

/* Fills out with malloc'ed data, which it then owns. */
void dl_buffer_fill(dl_buffer* out, char* data, int64_t size);

/* Fills err, which may be NULL, with the message "operation: ..." and returns status. */
__attribute__((format(printf, 4, 5))) dl_status dli_fail(dl_error* err, dl_status status,
                                                         const char* operation, const char* format,
                                                         ...);

/* Makes a batch export with `size` zeroed bytes behind it, and fills the fields of its layout and
 * device. It takes over the reference to memory. Returns NULL if the process is out of memory. */
dl_batch_export* dl_batch_export_new(dl_memory* memory, int64_t size);

/* Calls what a dl_function points at, which Go cannot do itself. */
dl_status dl_function_call(const dl_function* f, dl_array_in* args, int64_t args_n, int64_t rows,
                           dl_rows* out, void** kept, dl_error* err);
void dl_function_done(const dl_function* f, void* kept);

extern __typeof__(dl_error_table) dlgo_error_table;
extern __typeof__(dl_configure) dlgo_configure;
extern __typeof__(dl_context_new) dlgo_context_new;
extern __typeof__(dl_context_cancel) dlgo_context_cancel;
extern __typeof__(dl_context_close) dlgo_context_close;
extern __typeof__(dl_dataset_create) dlgo_dataset_create;
extern __typeof__(dl_dataset_open) dlgo_dataset_open;
extern __typeof__(dl_dataset_exists) dlgo_dataset_exists;
extern __typeof__(dl_dataset_delete) dlgo_dataset_delete;
extern __typeof__(dl_dataset_list) dlgo_dataset_list;
extern __typeof__(dl_dataset_describe) dlgo_dataset_describe;
extern __typeof__(dl_dataset_create_tensor) dlgo_dataset_create_tensor;
extern __typeof__(dl_dataset_append) dlgo_dataset_append;
extern __typeof__(dl_dataset_update) dlgo_dataset_update;
extern __typeof__(dl_dataset_delete_rows) dlgo_dataset_delete_rows;
extern __typeof__(dl_dataset_set_info) dlgo_dataset_set_info;
extern __typeof__(dl_dataset_commit) dlgo_dataset_commit;
extern __typeof__(dl_dataset_discard) dlgo_dataset_discard;
extern __typeof__(dl_dataset_refresh) dlgo_dataset_refresh;
extern __typeof__(dl_dataset_log) dlgo_dataset_log;
extern __typeof__(dl_dataset_at) dlgo_dataset_at;
extern __typeof__(dl_dataset_view) dlgo_dataset_view;
extern __typeof__(dl_dataset_close) dlgo_dataset_close;
extern __typeof__(dl_dataset_branches) dlgo_dataset_branches;
extern __typeof__(dl_dataset_create_branch) dlgo_dataset_create_branch;
extern __typeof__(dl_dataset_delete_branch) dlgo_dataset_delete_branch;
extern __typeof__(dl_dataset_checkout) dlgo_dataset_checkout;
extern __typeof__(dl_dataset_tags) dlgo_dataset_tags;
extern __typeof__(dl_dataset_create_tag) dlgo_dataset_create_tag;
extern __typeof__(dl_dataset_delete_tag) dlgo_dataset_delete_tag;
extern __typeof__(dl_dataset_graph) dlgo_dataset_graph;
extern __typeof__(dl_dataset_diff) dlgo_dataset_diff;
extern __typeof__(dl_dataset_merge) dlgo_dataset_merge;
extern __typeof__(dl_dataset_rename_tensor) dlgo_dataset_rename_tensor;
extern __typeof__(dl_dataset_delete_tensor) dlgo_dataset_delete_tensor;
extern __typeof__(dl_dataset_views) dlgo_dataset_views;
extern __typeof__(dl_dataset_delete_view) dlgo_dataset_delete_view;
extern __typeof__(dl_dataset_rechunk) dlgo_dataset_rechunk;
extern __typeof__(dl_dataset_gc) dlgo_dataset_gc;
extern __typeof__(dl_dataset_fsck) dlgo_dataset_fsck;
extern __typeof__(dl_dataset_progress) dlgo_dataset_progress;
extern __typeof__(dl_dataset_copy_to) dlgo_dataset_copy_to;
extern __typeof__(dl_dataset_copy) dlgo_dataset_copy;
extern __typeof__(dl_view_len) dlgo_view_len;
extern __typeof__(dl_view_describe) dlgo_view_describe;
extern __typeof__(dl_view_select) dlgo_view_select;
extern __typeof__(dl_view_slice) dlgo_view_slice;
extern __typeof__(dl_view_rows) dlgo_view_rows;
extern __typeof__(dl_view_read) dlgo_view_read;
extern __typeof__(dl_view_with_weights) dlgo_view_with_weights;
extern __typeof__(dl_view_close) dlgo_view_close;
extern __typeof__(dl_query) dlgo_query;
extern __typeof__(dl_query_explain) dlgo_query_explain;
extern __typeof__(dl_dataset_save_view) dlgo_dataset_save_view;
extern __typeof__(dl_dataset_load_view) dlgo_dataset_load_view;
extern __typeof__(dl_view_materialize) dlgo_view_materialize;
extern __typeof__(dl_query_sources) dlgo_query_sources;
extern __typeof__(dl_query_functions) dlgo_query_functions;
extern __typeof__(dl_column_open) dlgo_column_open;
extern __typeof__(dl_column_sizes) dlgo_column_sizes;
extern __typeof__(dl_column_stored) dlgo_column_stored;
extern __typeof__(dl_column_stored_one) dlgo_column_stored_one;
extern __typeof__(dl_column_close) dlgo_column_close;
extern __typeof__(dl_loader_open) dlgo_loader_open;
extern __typeof__(dl_loader_mix) dlgo_loader_mix;
extern __typeof__(dl_loader_len) dlgo_loader_len;
extern __typeof__(dl_loader_start) dlgo_loader_start;
extern __typeof__(dl_loader_state) dlgo_loader_state;
extern __typeof__(dl_loader_resume) dlgo_loader_resume;
extern __typeof__(dl_loader_stats) dlgo_loader_stats;
extern __typeof__(dl_loader_trace) dlgo_loader_trace;
extern __typeof__(dl_loader_close) dlgo_loader_close;
extern __typeof__(dl_epoch_next) dlgo_epoch_next;
extern __typeof__(dl_epoch_close) dlgo_epoch_close;
extern __typeof__(dl_sample_inspect) dlgo_sample_inspect;
extern __typeof__(dl_sample_decode) dlgo_sample_decode;
extern __typeof__(dl_ingest_start) dlgo_ingest_start;
extern __typeof__(dl_ingest_poll) dlgo_ingest_poll;
extern __typeof__(dl_ingest_cancel) dlgo_ingest_cancel;
extern __typeof__(dl_ingest_close) dlgo_ingest_close;
extern __typeof__(dl_test_panic) dlgo_test_panic;

#endif
