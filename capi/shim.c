/* The exported functions. Each refuses in a forked process, where the Go runtime would hang, and
 * else calls its Go half. */
#include <pthread.h>
#include <stdatomic.h>

#include "go.h"

/* Not atomic: written once, in a forked child while it has one thread. */
static int forked;

static void in_child(void) { forked = 1; }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

static dl_status refuse(dl_error* err) {
    return dli_fail(err, DL_FORKED, "call the library",
                    "this process was forked from the one that loaded it; load a copy of the file, "
                    "or start the process by spawn");
}

#define FORWARD(name, params, args)                          \
    dl_status dl_##name params {                             \
        if (__builtin_expect(forked, 0)) return refuse(err); \
        return dlgo_##name args;                             \
    }

static void release_buffer(dl_buffer* self) {
    free(self->data);
    self->data = NULL;
    self->size = 0;
    self->release = NULL;
}

void dli_buffer_fill(dl_buffer* out, char* data, int64_t size) {
    out->data = data;
    out->size = size;
    out->release = release_buffer;
}

dl_status dli_function_call(const dl_function* f, dl_array_in* args, int64_t args_n, int64_t rows,
                            dl_rows* out, void** kept, dl_error* err) {
    return f->call(f->self, args, args_n, rows, out, kept, err);
}

void dli_function_done(const dl_function* f, void* kept) { f->done(f->self, kept); }

int dli_stream_schema(dl_arrow_stream* s, struct ArrowSchema* out) { return s->get_schema(s, out); }

int dli_stream_next(dl_arrow_stream* s, struct ArrowArray* out) { return s->get_next(s, out); }

const char* dli_stream_error(dl_arrow_stream* s) {
    return s->get_last_error == NULL ? NULL : s->get_last_error(s);
}

void dli_stream_release(dl_arrow_stream* s) {
    if (s->release != NULL) s->release(s);
}

void dli_schema_release(struct ArrowSchema* s) {
    if (s->release != NULL) s->release(s);
}

void dli_array_release(struct ArrowArray* a) {
    if (a->release != NULL) a->release(a);
}

/* The head of the memory that the structures of a type or a batch share. Releasing the last of them
 * frees it. A consumer may move structures out of their parent. */
struct dli_shared {
    _Atomic int64_t users;
    uint64_t held; /* the batch; 0: a type */
};

struct dli_shared* dli_shared_new(uint64_t held, int64_t users, int64_t size) {
    struct dli_shared* s = calloc(1, sizeof *s + (size_t)size);
    if (s == NULL) return NULL;
    atomic_init(&s->users, users);
    s->held = held;
    return s;
}

void* dli_shared_data(struct dli_shared* s) { return s + 1; }

void* dli_nothing(void) {
    static _Alignas(64) char nothing[64];
    return nothing;
}

static void leave(struct dli_shared* s) {
    if (atomic_fetch_sub_explicit(&s->users, 1, memory_order_acq_rel) != 1) return;
    /* A forked process has no Go: the memory stays until its end. */
    if (s->held != 0 && !forked) dli_batch_released(s->held);
    free(s);
}

static void release_type(struct ArrowSchema* t) {
    for (int64_t i = 0; i < t->n_children; i++) dli_schema_release(t->children[i]);
    if (t->dictionary != NULL) dli_schema_release(t->dictionary);
    t->release = NULL;
    leave(t->private_data);
}

static void release_values(struct ArrowArray* a) {
    for (int64_t i = 0; i < a->n_children; i++) dli_array_release(a->children[i]);
    if (a->dictionary != NULL) dli_array_release(a->dictionary);
    a->release = NULL;
    leave(a->private_data);
}

void dli_schema_shares(struct ArrowSchema* t) { t->release = release_type; }

void dli_array_shares(struct ArrowArray* a) { a->release = release_values; }

int32_t dl_abi_version(void) { return DL_ABI_MAJOR * 65536 + DL_ABI_MINOR; }

dl_text* dl_version(void) { return DL_VERSION; }

FORWARD(error_table, (dl_buffer* json, dl_error* err), (json, err))
FORWARD(devices, (dl_buffer* json, dl_error* err), (json, err))
FORWARD(configure, (dl_text* json, dl_error* err), (json, err))
FORWARD(context_new, (int64_t deadline_ms, dl_context* out, dl_error* err), (deadline_ms, out, err))
FORWARD(context_cancel, (dl_context ctx, dl_error* err), (ctx, err))
FORWARD(context_close, (dl_context ctx, dl_error* err), (ctx, err))
FORWARD(dataset_create,
        (dl_context ctx, dl_text* uri, dl_text* options, dl_dataset* out, dl_error* err),
        (ctx, uri, options, out, err))
FORWARD(dataset_open,
        (dl_context ctx, dl_text* uri, dl_text* options, dl_dataset* out, dl_error* err),
        (ctx, uri, options, out, err))
FORWARD(dataset_exists,
        (dl_context ctx, dl_text* uri, dl_text* options, int32_t* out, dl_error* err),
        (ctx, uri, options, out, err))
FORWARD(dataset_delete, (dl_context ctx, dl_text* uri, dl_text* options, dl_error* err),
        (ctx, uri, options, err))
FORWARD(uri_resolve, (dl_text* uri, dl_text* options, dl_buffer* place, dl_error* err),
        (uri, options, place, err))
FORWARD(uri_root, (dl_text* uri, dl_text* options, dl_buffer* json, dl_error* err),
        (uri, options, json, err))
FORWARD(uri_orgs, (dl_text* options, dl_buffer* json, dl_error* err), (options, json, err))
FORWARD(dataset_list,
        (dl_context ctx, dl_text* uri, dl_text* options, dl_buffer* json, dl_error* err),
        (ctx, uri, options, json, err))
FORWARD(dataset_describe, (dl_dataset ds, dl_buffer* json, dl_error* err), (ds, json, err))
FORWARD(dataset_create_tensor, (dl_context ctx, dl_dataset ds, dl_text* json, dl_error* err),
        (ctx, ds, json, err))
FORWARD(dataset_append,
        (dl_context ctx, dl_dataset ds, dl_rows_in* columns, int64_t columns_n, int64_t rows,
         dl_error* err),
        (ctx, ds, columns, columns_n, rows, err))
FORWARD(dataset_append_stream,
        (dl_context ctx, dl_dataset ds, dl_arrow_stream* stream, int64_t* rows, dl_error* err),
        (ctx, ds, stream, rows, err))
FORWARD(dataset_update,
        (dl_context ctx, dl_dataset ds, dl_const_i64* rows, int64_t n, dl_rows_in* columns,
         int64_t columns_n, dl_error* err),
        (ctx, ds, rows, n, columns, columns_n, err))
FORWARD(dataset_delete_rows,
        (dl_context ctx, dl_dataset ds, dl_const_i64* rows, int64_t n, dl_error* err),
        (ctx, ds, rows, n, err))
FORWARD(dataset_update_rows_of,
        (dl_context ctx, dl_dataset ds, dl_view view, dl_rows_in* columns, int64_t columns_n,
         dl_error* err),
        (ctx, ds, view, columns, columns_n, err))
FORWARD(dataset_delete_rows_of, (dl_context ctx, dl_dataset ds, dl_view view, dl_error* err),
        (ctx, ds, view, err))
FORWARD(dataset_set_info, (dl_context ctx, dl_dataset ds, dl_text* json, dl_error* err),
        (ctx, ds, json, err))
FORWARD(dataset_commit,
        (dl_context ctx, dl_dataset ds, dl_text* message, dl_buffer* json, dl_error* err),
        (ctx, ds, message, json, err))
FORWARD(dataset_commit_once,
        (dl_context ctx, dl_dataset ds, dl_text* message, dl_text* key, dl_buffer* json,
         dl_error* err),
        (ctx, ds, message, key, json, err))
FORWARD(dataset_begin_write,
        (dl_context ctx, dl_dataset ds, dl_const_f64* lease, dl_buffer* token, dl_error* err),
        (ctx, ds, lease, token, err))
FORWARD(dataset_end_write, (dl_context ctx, dl_dataset ds, dl_text* token, dl_error* err),
        (ctx, ds, token, err))
FORWARD(task_open,
        (dl_context ctx, dl_text* uri, dl_text* token, dl_text* key, dl_text* options,
         dl_dataset* out, dl_error* err),
        (ctx, uri, token, key, options, out, err))
FORWARD(dataset_fragment, (dl_context ctx, dl_dataset ds, dl_buffer* json, dl_error* err),
        (ctx, ds, json, err))
FORWARD(dataset_commit_fragments,
        (dl_context ctx, dl_dataset ds, dl_text* token, dl_texts* fragments, int64_t n,
         dl_text* options, dl_buffer* json, dl_error* err),
        (ctx, ds, token, fragments, n, options, json, err))
FORWARD(dataset_rechunk_rows,
        (dl_context ctx, dl_dataset ds, dl_text* options, dl_buffer* report, dl_error* err),
        (ctx, ds, options, report, err))
FORWARD(dataset_discard, (dl_context ctx, dl_dataset ds, dl_error* err), (ctx, ds, err))
FORWARD(dataset_refresh, (dl_context ctx, dl_dataset ds, dl_error* err), (ctx, ds, err))
FORWARD(dataset_log, (dl_context ctx, dl_dataset ds, int64_t limit, dl_buffer* json, dl_error* err),
        (ctx, ds, limit, json, err))
FORWARD(dataset_at, (dl_context ctx, dl_dataset ds, dl_text* ref, dl_dataset* out, dl_error* err),
        (ctx, ds, ref, out, err))
FORWARD(dataset_view, (dl_context ctx, dl_dataset ds, dl_view* out, dl_error* err),
        (ctx, ds, out, err))
FORWARD(dataset_close, (dl_dataset ds, dl_error* err), (ds, err))
FORWARD(dataset_branches, (dl_context ctx, dl_dataset ds, dl_buffer* json, dl_error* err),
        (ctx, ds, json, err))
FORWARD(dataset_create_branch,
        (dl_context ctx, dl_dataset ds, dl_text* name, dl_text* at, dl_error* err),
        (ctx, ds, name, at, err))
FORWARD(dataset_delete_branch, (dl_context ctx, dl_dataset ds, dl_text* name, dl_error* err),
        (ctx, ds, name, err))
FORWARD(dataset_checkout,
        (dl_context ctx, dl_dataset ds, dl_text* ref, int32_t create, dl_error* err),
        (ctx, ds, ref, create, err))
FORWARD(dataset_tags, (dl_context ctx, dl_dataset ds, dl_buffer* json, dl_error* err),
        (ctx, ds, json, err))
FORWARD(dataset_create_tag,
        (dl_context ctx, dl_dataset ds, dl_text* name, dl_text* at, dl_text* message,
         dl_buffer* json, dl_error* err),
        (ctx, ds, name, at, message, json, err))
FORWARD(dataset_delete_tag, (dl_context ctx, dl_dataset ds, dl_text* name, dl_error* err),
        (ctx, ds, name, err))
FORWARD(dataset_graph,
        (dl_context ctx, dl_dataset ds, int64_t limit, int32_t all, dl_buffer* json, dl_error* err),
        (ctx, ds, limit, all, json, err))
FORWARD(dataset_diff,
        (dl_context ctx, dl_dataset ds, dl_text* a, dl_text* b, dl_buffer* json, dl_error* err),
        (ctx, ds, a, b, json, err))
FORWARD(dataset_history,
        (dl_context ctx, dl_dataset ds, int64_t row, int64_t limit, dl_buffer* json, dl_error* err),
        (ctx, ds, row, limit, json, err))
FORWARD(dataset_row_names,
        (dl_context ctx, dl_dataset ds, dl_const_i64* rows, int64_t n, dl_buffer* json,
         dl_error* err),
        (ctx, ds, rows, n, json, err))
FORWARD(dataset_merge,
        (dl_context ctx, dl_dataset ds, dl_text* ref, dl_text* on_conflict, dl_text* message,
         int32_t* merged, dl_buffer* commit, dl_error* err),
        (ctx, ds, ref, on_conflict, message, merged, commit, err))
FORWARD(dataset_restore,
        (dl_context ctx, dl_dataset ds, dl_text* ref, dl_text* message, int32_t* restored,
         dl_buffer* commit, dl_error* err),
        (ctx, ds, ref, message, restored, commit, err))
FORWARD(dataset_revert,
        (dl_context ctx, dl_dataset ds, dl_text* ref, dl_text* on_conflict, dl_text* message,
         int32_t* reverted, dl_buffer* commit, dl_error* err),
        (ctx, ds, ref, on_conflict, message, reverted, commit, err))
FORWARD(dataset_rename_tensor,
        (dl_context ctx, dl_dataset ds, dl_text* from, dl_text* to, dl_error* err),
        (ctx, ds, from, to, err))
FORWARD(dataset_change_classes,
        (dl_context ctx, dl_dataset ds, dl_text* name, dl_text* change, dl_error* err),
        (ctx, ds, name, change, err))
FORWARD(dataset_delete_tensor, (dl_context ctx, dl_dataset ds, dl_text* name, dl_error* err),
        (ctx, ds, name, err))
FORWARD(dataset_views, (dl_context ctx, dl_dataset ds, dl_buffer* json, dl_error* err),
        (ctx, ds, json, err))
FORWARD(dataset_delete_view, (dl_context ctx, dl_dataset ds, dl_text* name, dl_error* err),
        (ctx, ds, name, err))
FORWARD(dataset_rechunk,
        (dl_context ctx, dl_dataset ds, dl_texts* tensors, int64_t n, int64_t chunk_bytes,
         int32_t all, dl_text* message, dl_rechunk_report* report, dl_buffer* commit,
         dl_error* err),
        (ctx, ds, tensors, n, chunk_bytes, all, message, report, commit, err))
FORWARD(dataset_gc,
        (dl_context ctx, dl_dataset ds, dl_const_f64* older_than, dl_const_f64* expire,
         dl_const_i64* keep_last, int32_t dry_run, dl_gc_report* report, dl_error* err),
        (ctx, ds, older_than, expire, keep_last, dry_run, report, err))
FORWARD(dataset_fsck,
        (dl_context ctx, dl_dataset ds, int32_t data, int32_t repair, dl_buffer* json,
         dl_error* err),
        (ctx, ds, data, repair, json, err))
FORWARD(dataset_progress, (dl_dataset ds, dl_progress* out, dl_error* err), (ds, out, err))
FORWARD(dataset_copy_to,
        (dl_context ctx, dl_dataset ds, dl_text* uri, int32_t history, dl_text* message,
         dl_text* to, dl_copy_report* report, dl_error* err),
        (ctx, ds, uri, history, message, to, report, err))
FORWARD(dataset_copy,
        (dl_context ctx, dl_text* src, dl_text* dst, dl_text* options, dl_copy_report* report,
         dl_error* err),
        (ctx, src, dst, options, report, err))
FORWARD(view_len, (dl_view view, int64_t* out, dl_error* err), (view, out, err))
FORWARD(view_describe, (dl_view view, dl_buffer* json, dl_error* err), (view, json, err))
FORWARD(view_select, (dl_view view, dl_const_i64* rows, int64_t n, dl_view* out, dl_error* err),
        (view, rows, n, out, err))
FORWARD(view_slice,
        (dl_view view, int64_t start, int64_t stop, int64_t step, dl_view* out, dl_error* err),
        (view, start, stop, step, out, err))
FORWARD(view_rows, (dl_view view, int64_t* rows, int64_t n, dl_error* err), (view, rows, n, err))
FORWARD(view_outdated, (dl_view view, dl_text* tensor, int64_t row, int32_t* out, dl_error* err),
        (view, tensor, row, out, err))
FORWARD(view_sources,
        (dl_context ctx, dl_view view, dl_const_i64* rows, int64_t n, dl_buffer* json,
         dl_error* err),
        (ctx, view, rows, n, json, err))
FORWARD(view_batches,
        (dl_context ctx, dl_view view, dl_text* options, dl_batches* out, dl_error* err),
        (ctx, view, options, out, err))
FORWARD(batches_schema, (dl_batches batches, struct ArrowSchema* out, dl_error* err),
        (batches, out, err))
FORWARD(batches_next, (dl_context ctx, dl_batches batches, struct ArrowArray* out, dl_error* err),
        (ctx, batches, out, err))
FORWARD(batches_close, (dl_batches batches, dl_error* err), (batches, err))
FORWARD(view_read,
        (dl_context ctx, dl_view view, dl_const_i64* rows, int64_t n, dl_text* options,
         dl_device_in* device, dl_batch_export** out, dl_error* err),
        (ctx, view, rows, n, options, device, out, err))
FORWARD(row_transform,
        (dl_context ctx, dl_rows_in* columns, int64_t columns_n, dl_text* options,
         dl_batch_export** out, dl_error* err),
        (ctx, columns, columns_n, options, out, err))
FORWARD(view_with_weights,
        (dl_view view, dl_const_f64* weights, int64_t n, dl_view* out, dl_error* err),
        (view, weights, n, out, err))
FORWARD(view_close, (dl_view view, dl_error* err), (view, err))
FORWARD(query,
        (dl_context ctx, dl_view view, dl_text* text, dl_rows_in* params, int64_t params_n,
         dl_functions* functions, int64_t functions_n, dl_text* options, dl_view* out,
         dl_buffer* json, dl_error* err),
        (ctx, view, text, params, params_n, functions, functions_n, options, out, json, err))
FORWARD(query_explain,
        (dl_context ctx, dl_view view, dl_text* text, dl_rows_in* params, int64_t params_n,
         dl_functions* functions, int64_t functions_n, dl_text* options, dl_buffer* json,
         dl_error* err),
        (ctx, view, text, params, params_n, functions, functions_n, options, json, err))
FORWARD(dataset_save_view,
        (dl_context ctx, dl_dataset ds, dl_view view, dl_text* name, dl_text* options,
         dl_error* err),
        (ctx, ds, view, name, options, err))
FORWARD(dataset_load_view,
        (dl_context ctx, dl_dataset ds, dl_text* name, dl_rows_in* params, int64_t params_n,
         dl_functions* functions, int64_t functions_n, dl_text* options, dl_view* out,
         dl_buffer* json, dl_error* err),
        (ctx, ds, name, params, params_n, functions, functions_n, options, out, json, err))
FORWARD(view_materialize,
        (dl_context ctx, dl_view view, dl_text* uri, dl_text* options, dl_error* err),
        (ctx, view, uri, options, err))
FORWARD(query_check_function, (dl_text* name, dl_error* err), (name, err))
FORWARD(query_parameters, (dl_text* text, dl_buffer* json, dl_error* err), (text, json, err))
FORWARD(query_functions, (dl_buffer* json, dl_error* err), (json, err))
FORWARD(column_open, (dl_view view, dl_text* name, dl_column* out, dl_error* err),
        (view, name, out, err))
FORWARD(column_sizes,
        (dl_context ctx, dl_column column, dl_const_i64* rows, int64_t n, int64_t* sizes,
         dl_error* err),
        (ctx, column, rows, n, sizes, err))
FORWARD(column_stored,
        (dl_context ctx, dl_column column, dl_const_i64* rows, int64_t n, dl_mut_ptr* dst,
         dl_const_i64* sizes, dl_error* err),
        (ctx, column, rows, n, dst, sizes, err))
FORWARD(column_stored_one,
        (dl_context ctx, dl_column column, int64_t row, void* dst, int64_t capacity, int64_t* size,
         dl_error* err),
        (ctx, column, row, dst, capacity, size, err))
FORWARD(column_close, (dl_column column, dl_error* err), (column, err))
FORWARD(videos_open, (dl_view view, dl_text* name, dl_text* options, dl_videos* out, dl_error* err),
        (view, name, options, out, err))
FORWARD(videos_info,
        (dl_context ctx, dl_videos videos, int64_t row, dl_buffer* json, dl_error* err),
        (ctx, videos, row, json, err))
FORWARD(videos_times,
        (dl_context ctx, dl_videos videos, int64_t row, double* times, int64_t n, dl_error* err),
        (ctx, videos, row, times, n, err))
FORWARD(videos_at,
        (dl_context ctx, dl_videos videos, int64_t row, dl_const_f64* times, int64_t n,
         int64_t* frames, dl_error* err),
        (ctx, videos, row, times, n, frames, err))
FORWARD(videos_frames,
        (dl_context ctx, dl_videos videos, int64_t row, dl_const_i64* frames, int64_t n, void* dst,
         int64_t size, dl_error* err),
        (ctx, videos, row, frames, n, dst, size, err))
FORWARD(videos_place,
        (dl_context ctx, dl_videos videos, dl_text* options, dl_buffer* out, dl_error* err),
        (ctx, videos, options, out, err))
FORWARD(view_clips,
        (dl_view view, dl_text* options, dl_const_i64* rows, dl_const_i64* starts, int64_t n,
         dl_view* out, dl_error* err),
        (view, options, rows, starts, n, out, err))
FORWARD(view_place_windows,
        (dl_context ctx, dl_view view, dl_text* options, dl_buffer* out, dl_error* err),
        (ctx, view, options, out, err))
FORWARD(view_frame_tensors,
        (dl_context ctx, dl_view view, dl_text* options, dl_buffer* out, dl_error* err),
        (ctx, view, options, out, err))
FORWARD(view_windows,
        (dl_view view, dl_text* options, dl_const_i64* rows, dl_const_i64* frames,
         dl_const_i64* lengths, int64_t n, dl_view* out, dl_error* err),
        (view, options, rows, frames, lengths, n, out, err))
FORWARD(videos_close, (dl_videos videos, dl_error* err), (videos, err))
FORWARD(loader_open,
        (dl_context ctx, dl_view view, dl_text* options, dl_loader* out, dl_error* err),
        (ctx, view, options, out, err))
FORWARD(loader_mix,
        (dl_context ctx, dl_views* views, int64_t n, dl_text* mix, dl_text* options, dl_loader* out,
         dl_error* err),
        (ctx, views, n, mix, options, out, err))
FORWARD(loader_len, (dl_loader loader, dl_text* pass, int64_t* out, dl_error* err),
        (loader, pass, out, err))
FORWARD(loader_start, (dl_loader loader, dl_text* pass, dl_epoch* out, dl_error* err),
        (loader, pass, out, err))
FORWARD(loader_state,
        (dl_loader loader, int64_t epoch, int64_t position, dl_buffer* json, dl_error* err),
        (loader, epoch, position, json, err))
FORWARD(loader_resume,
        (dl_loader loader, dl_text* state, int64_t* epoch, int64_t* position, dl_error* err),
        (loader, state, epoch, position, err))
FORWARD(loader_memory, (dl_loader loader, int64_t size, dl_memory** out, dl_error* err),
        (loader, size, out, err))
FORWARD(loader_stats, (dl_loader loader, dl_buffer* json, dl_error* err), (loader, json, err))
FORWARD(loader_trace, (dl_loader loader, dl_buffer* json, dl_error* err), (loader, json, err))
FORWARD(loader_close, (dl_loader loader, dl_error* err), (loader, err))
FORWARD(epoch_next,
        (dl_epoch epoch, int64_t timeout_ms, dl_device_in* device, int32_t* state,
         dl_batch_export** out, dl_error* err),
        (epoch, timeout_ms, device, state, out, err))
FORWARD(epoch_close, (dl_epoch epoch, dl_error* err), (epoch, err))
FORWARD(sample_inspect,
        (dl_data data, int64_t size, int32_t channels, dl_buffer* json, dl_error* err),
        (data, size, channels, json, err))
FORWARD(sample_decode,
        (dl_data data, int64_t size, int32_t channels, void* dst, int64_t bytes, dl_error* err),
        (data, size, channels, dst, bytes, err))
FORWARD(ingest_start, (dl_text* uri, dl_text* source, dl_text* options, dl_job* out, dl_error* err),
        (uri, source, options, out, err))
FORWARD(view_export, (dl_view view, dl_text* uri, dl_text* options, dl_job* out, dl_error* err),
        (view, uri, options, out, err))
FORWARD(job_poll, (dl_job job, int64_t timeout_ms, dl_buffer* json, dl_error* err),
        (job, timeout_ms, json, err))
FORWARD(job_cancel, (dl_job job, dl_error* err), (job, err))
FORWARD(job_close, (dl_job job, dl_error* err), (job, err))
FORWARD(view_plot,
        (dl_context context, dl_view view, dl_const_i64* rows, int64_t n, dl_text* options,
         dl_buffer* png, dl_error* err),
        (context, view, rows, n, options, png, err))
FORWARD(visualizer_open,
        (dl_view view, dl_dataset dataset, dl_text* options, dl_visualizer* out, dl_error* err),
        (view, dataset, options, out, err))
FORWARD(visualizer_link, (dl_visualizer visualizer, int32_t key, dl_buffer* json, dl_error* err),
        (visualizer, key, json, err))
FORWARD(visualizer_close, (dl_visualizer visualizer, dl_error* err), (visualizer, err))
FORWARD(test_panic, (dl_text* where, dl_error* err), (where, err))
