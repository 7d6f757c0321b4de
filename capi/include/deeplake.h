/* deeplake.h is the C interface of Deep Lake, written by hand. libdeeplake exports the functions
 * declared here and no others.
 *
 * Rules for every function
 * - A function that can fail returns dl_status and takes a dl_error* last, which may be NULL. A
 *   failure fills the error and leaves every out parameter unchanged. Success leaves the error.
 * - Handles are values with a type each. A closed handle gives DL_CLOSED, an unknown one
 *   DL_INVALID. {0} is no handle; it may take the place of a dl_context.
 * - Any thread may call any function, also several at once on one handle. A handle may be closed
 *   while another thread uses it: that call finishes or returns DL_CLOSED.
 * - Input memory is the caller's and is read during the call only. Each function states the owner
 *   of its output.
 * - Text is UTF-8. Options that grow and documents are JSON; an unknown key is DL_INVALID.
 * - Only a dl_function calls back into the host. Progress and cancellation are polled.
 * - After fork(2), every function returns DL_FORKED in the child, or does nothing if it returns no
 *   status. A child loads a copy of the library, another file.
 * - After a panic the library is poisoned: every later call returns DL_INTERNAL and names it.
 *
 * Within a major version, functions, JSON keys and fields in reserved space are added. None
 * changes. */
#ifndef DEEPLAKE_H
#define DEEPLAKE_H

#include "deeplake_load.h"
#include "deeplake_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The library ---- */

/* DL_ABI_MAJOR * 65536 + DL_ABI_MINOR of the library. Never fails. */
DL_API int32_t dl_abi_version(void);

/* The version of the library, a static string. Never fails. */
DL_API dl_text* dl_version(void);

/* Lists all errors as JSON [{"status", "name", "c", "python", "base"}]. The caller releases the
 * buffer. */
DL_API dl_status dl_error_table(dl_buffer* json, dl_error* err);

/* Finds the CUDA driver and its devices, without opening any: JSON {"driver", "version", "devices":
 * [{"number", "name", "memory", "compute", "pools"}], "missing"}. "missing" says why there is no
 * device; it is empty if there is one. The caller releases the buffer. */
DL_API dl_status dl_devices(dl_buffer* json, dl_error* err);

/* Sets the runtime from JSON {"gogc", "memory_limit", "gomaxprocs", "env": {name: value or null}}.
 * "env" passes on variables: the library does not see later setenv(3) calls of the host. After a
 * failure, keys before the wrong one may be set. */
DL_API dl_status dl_configure(dl_text* json, dl_error* err);

/* The references to the memory of batches that callers hold, for tests of leaks. Never fails. */
DL_API int64_t dl_memory_references(void);

/* A context bounds calls. After deadline_ms (0: none) or dl_context_cancel they return DL_CANCELED
 * soon. The caller closes it after its calls have returned. */
DL_API dl_status dl_context_new(int64_t deadline_ms, dl_context* out, dl_error* err);
DL_API dl_status dl_context_cancel(dl_context ctx, dl_error* err);
DL_API dl_status dl_context_close(dl_context ctx, dl_error* err);

/* ---- Names ---- */

/* Resolves a URI to an absolute path or an address with a scheme. deeplake://org/name is looked up
 * in DEEPLAKE_ROOTS, the configuration file and the default folder, in this order. JSON options
 * {"environ"}: the current HOME, XDG_CONFIG_HOME, XDG_DATA_HOME and DEEPLAKE_ROOTS. The default is
 * the environment at the time of loading. *place gets the text; the caller releases it. */
DL_API dl_status dl_uri_resolve(dl_text* uri, dl_text* options, dl_buffer* place, dl_error* err);

/* Returns the storage root of deeplake://org or deeplake://org/ as JSON {"org", "root"}, both ""
 * for any other text. Takes the options of dl_uri_resolve. The caller releases the buffer. */
DL_API dl_status dl_uri_root(dl_text* uri, dl_text* options, dl_buffer* json, dl_error* err);

/* Lists the known organisations as JSON, in order. Takes the options of dl_uri_resolve. The caller
 * releases the buffer. */
DL_API dl_status dl_uri_orgs(dl_text* options, dl_buffer* json, dl_error* err);

/* ---- Dataset ---- */

/* Calls that open a store take the options "storage" and "environ". "storage": {...} has the user's
 * settings, the fields of core/storage.Settings: "endpoint", "region", "access_key_id", ...
 * "environ": {...} has the environment variables for credentials and proxies. The default is the
 * environment at the time of loading.
 *
 * Text stored in a dataset (links, datasets that saved views name, URLs of a listing) leads only
 * into the dataset's own store. When a dataset is opened or created, and in queries and imports,
 * "link_storage": {prefix: {...} or null} names further places by prefixes of URLs. Each has
 * settings of its own; null refuses it. "named": [URL, ...] lists places that the user has linked
 * to through another handle (the "named" of its state). Secrets of "storage" go only to the server
 * of their dataset. */

/* Makes a dataset without rows, with JSON options {"overwrite", "at_commit", "tensors", "storage",
 * "environ"} ("" for none). "tensors" lists specs as for dl_dataset_create_tensor: the first
 * version has these tensors. With "at_commit", a dataset that is overwritten stays until the first
 * commit. The caller closes *out. After a failure the place is empty or has the dataset it had. */
DL_API dl_status dl_dataset_create(dl_context ctx, dl_text* uri, dl_text* options, dl_dataset* out,
                                   dl_error* err);

/* Opens a dataset with JSON options {"branch", "at", "read_only", "storage", "environ"}. The caller
 * closes *out. */
DL_API dl_status dl_dataset_open(dl_context ctx, dl_text* uri, dl_text* options, dl_dataset* out,
                                 dl_error* err);

/* Sets *out to 1 if uri has a dataset, else to 0. Options: {"storage", "environ"}. */
DL_API dl_status dl_dataset_exists(dl_context ctx, dl_text* uri, dl_text* options, int32_t* out,
                                   dl_error* err);

/* Deletes a dataset with all its versions. After a failure a part may be gone; another call
 * finishes it. Options: {"storage", "environ"}. */
DL_API dl_status dl_dataset_delete(dl_context ctx, dl_text* uri, dl_text* options, dl_error* err);

/* Lists the names of the datasets directly below uri as JSON, in order. Options: {"storage",
 * "environ"}. The caller releases the buffer. */
DL_API dl_status dl_dataset_list(dl_context ctx, dl_text* uri, dl_text* options, dl_buffer* json,
                                 dl_error* err);

/* Describes the state as JSON, without I/O. The caller releases the buffer. */
DL_API dl_status dl_dataset_describe(dl_dataset ds, dl_buffer* json, dl_error* err);

/* Adds a tensor from JSON {"name", "htype", "dtype", "shape", ...}. */
DL_API dl_status dl_dataset_create_tensor(dl_context ctx, dl_dataset ds, dl_text* json,
                                          dl_error* err);

/* Appends rows: columns_n tensors, each with `rows` values. All rows or none. */
DL_API dl_status dl_dataset_append(dl_context ctx, dl_dataset ds, dl_rows_in* columns,
                                   int64_t columns_n, int64_t rows, dl_error* err);

/* Appends the rows of a stream of Arrow whose type is a struct: a field for each tensor. A struct
 * below is the group of its name, where there is one. All rows or none; rows receives their number.
 * It releases the stream, also after a failure, unless a handle or pointer was wrong: then
 * stream->release is left. Batches are not kept: a stream may be larger than memory. */
DL_API dl_status dl_dataset_append_stream(dl_context ctx, dl_dataset ds, dl_arrow_stream* stream,
                                          int64_t* rows, dl_error* err);

/* Replaces the samples of n rows in columns_n tensors. All or none. */
DL_API dl_status dl_dataset_update(dl_context ctx, dl_dataset ds, dl_const_i64* rows, int64_t n,
                                   dl_rows_in* columns, int64_t columns_n, dl_error* err);

/* Deletes n rows; later ones move up. All or none. */
DL_API dl_status dl_dataset_delete_rows(dl_context ctx, dl_dataset ds, dl_const_i64* rows,
                                        int64_t n, dl_error* err);

/* dl_dataset_update for the rows of a view of any version, found by their identities. A row that
 * the present version lacks is refused. */
DL_API dl_status dl_dataset_update_rows_of(dl_context ctx, dl_dataset ds, dl_view view,
                                           dl_rows_in* columns, int64_t columns_n, dl_error* err);

/* Deletes the rows of a view, found likewise. Rows that were deleted since stay deleted. */
DL_API dl_status dl_dataset_delete_rows_of(dl_context ctx, dl_dataset ds, dl_view view,
                                           dl_error* err);

/* Replaces the user's information by a JSON object. */
DL_API dl_status dl_dataset_set_info(dl_context ctx, dl_dataset ds, dl_text* json, dl_error* err);

/* Commits. *json gets the commit; the caller releases it. After a failure the changes are still
 * uncommitted; the conflict of a DL_CONFLICT names the rows or tensors that both have changed. */
DL_API dl_status dl_dataset_commit(dl_context ctx, dl_dataset ds, dl_text* message, dl_buffer* json,
                                   dl_error* err);

/* dl_dataset_commit, unless a commit in the branch's history has the key (not ""): *json gets that
 * one then, and the changes are dropped. The dataset does not go back to it. */
DL_API dl_status dl_dataset_commit_once(dl_context ctx, dl_dataset ds, dl_text* message,
                                        dl_text* key, dl_buffer* json, dl_error* err);

/* Drops uncommitted changes. */
DL_API dl_status dl_dataset_discard(dl_context ctx, dl_dataset ds, dl_error* err);

/* Moves to the newest version. */
DL_API dl_status dl_dataset_refresh(dl_context ctx, dl_dataset ds, dl_error* err);

/* Lists the newest `limit` commits (0: all) as JSON, newest first. The caller releases it. */
DL_API dl_status dl_dataset_log(dl_context ctx, dl_dataset ds, int64_t limit, dl_buffer* json,
                                dl_error* err);

/* Opens another version for reading. The caller closes *out, and may close ds before. */
DL_API dl_status dl_dataset_at(dl_context ctx, dl_dataset ds, dl_text* ref, dl_dataset* out,
                               dl_error* err);

/* Makes a view of all present rows. The caller closes *out before ds. */
DL_API dl_status dl_dataset_view(dl_context ctx, dl_dataset ds, dl_view* out, dl_error* err);

/* Closes the dataset and drops uncommitted rows. The handle is dead then, also after a failure. */
DL_API dl_status dl_dataset_close(dl_dataset ds, dl_error* err);

/* ---- Distributed writes ---- */

/* Begins a write by many programs on top of the dataset's commit. *token gets the JSON object that
 * its tasks and its commit need; the caller releases it. No gc removes chunks of the tasks until
 * lease seconds (NULL: 3600) after dl_dataset_end_write or the end of the program. */
DL_API dl_status dl_dataset_begin_write(dl_context ctx, dl_dataset ds, dl_const_f64* lease,
                                        dl_buffer* token, dl_error* err);

/* Ends the lease of a write. */
DL_API dl_status dl_dataset_end_write(dl_context ctx, dl_dataset ds, dl_text* token, dl_error* err);

/* Opens a dataset for one task of a write, at the commit that the write began on. options are those
 * of a store. Of the attempts of a task, which have one key, one is committed. The caller closes
 * *out. */
DL_API dl_status dl_task_open(dl_context ctx, dl_text* uri, dl_text* token, dl_text* key,
                              dl_text* options, dl_dataset* out, dl_error* err);

/* Makes the changes of a task durable. *json gets the fragment that dl_dataset_commit_fragments
 * takes in; the caller releases it. The dataset can be read then, and not changed. */
DL_API dl_status dl_dataset_fragment(dl_context ctx, dl_dataset ds, dl_buffer* json, dl_error* err);

/* Commits n fragments of a write in the order given, all or none. options is a JSON object
 * {"message", "idempotency_key", "allow_missing"}. *json gets the commit, with "fragments" (those
 * taken in) and "repeated" (tasks of which another attempt was left out); the caller releases it. A
 * task that is committed already is DL_CONFLICT; the same fragments again are the same commit. */
DL_API dl_status dl_dataset_commit_fragments(dl_context ctx, dl_dataset ds, dl_text* token,
                                             dl_texts* fragments, int64_t n, dl_text* options,
                                             dl_buffer* json, dl_error* err);

/* Rechunks a part of the rows: options is a JSON object {"tensors": [...], "chunk_bytes", "all",
 * "message", "start", "stop"}. In a task the fragment has the new layout, and nothing is committed.
 * *report gets {"rows", "bytes", "before", "after", "commit"}; the caller releases it. */
DL_API dl_status dl_dataset_rechunk_rows(dl_context ctx, dl_dataset ds, dl_text* options,
                                         dl_buffer* report, dl_error* err);

/* ---- Versions ---- */

/* A ref names a version: a number, a commit, a branch, a tag, a time, or branch@number, as "at" of
 * dl_dataset_open. "" is the commit that the dataset is at. Renamed and deleted tensors wait for
 * dl_dataset_commit; all other changes are done when the call returns. */

/* Lists the branches as JSON [{"name", "head": a commit}]. The caller releases the buffer. */
DL_API dl_status dl_dataset_branches(dl_context ctx, dl_dataset ds, dl_buffer* json, dl_error* err);

/* Makes a branch that begins at a version; the dataset stays on its own. */
DL_API dl_status dl_dataset_create_branch(dl_context ctx, dl_dataset ds, dl_text* name, dl_text* at,
                                          dl_error* err);
DL_API dl_status dl_dataset_delete_branch(dl_context ctx, dl_dataset ds, dl_text* name,
                                          dl_error* err);

/* Goes to the newest version of a branch, or to another version for reading alone. create: 1 makes
 * the branch first, at the present version. */
DL_API dl_status dl_dataset_checkout(dl_context ctx, dl_dataset ds, dl_text* ref, int32_t create,
                                     dl_error* err);

/* Lists the tags as JSON [{"name", "message", "author", "time", "commit"}]. The caller releases the
 * buffer. */
DL_API dl_status dl_dataset_tags(dl_context ctx, dl_dataset ds, dl_buffer* json, dl_error* err);

/* Tags a version, for good. *json gets the tag; the caller releases it. */
DL_API dl_status dl_dataset_create_tag(dl_context ctx, dl_dataset ds, dl_text* name, dl_text* at,
                                       dl_text* message, dl_buffer* json, dl_error* err);
DL_API dl_status dl_dataset_delete_tag(dl_context ctx, dl_dataset ds, dl_text* name, dl_error* err);

/* Lists the newest `limit` commits (0: all) with "parents" and "names" as JSON, newest first. all:
 * 1 takes the commits of every branch and tag. The caller releases the buffer. */
DL_API dl_status dl_dataset_graph(dl_context ctx, dl_dataset ds, int64_t limit, int32_t all,
                                  dl_buffer* json, dl_error* err);

/* Lists the differences from version a to version b as a JSON object; the caller releases it. */
DL_API dl_status dl_dataset_diff(dl_context ctx, dl_dataset ds, dl_text* a, dl_text* b,
                                 dl_buffer* json, dl_error* err);

/* Lists the newest `limit` commits (0: all) that changed a row as JSON [{"commit", "change",
 * "tensors", "row": its number there, or -1}], newest first. The caller releases the buffer. */
DL_API dl_status dl_dataset_history(dl_context ctx, dl_dataset ds, int64_t row, int64_t limit,
                                    dl_buffer* json, dl_error* err);

/* Lists names of n rows that no commit changes, as JSON strings. The caller releases the
 * buffer. */
DL_API dl_status dl_dataset_row_names(dl_context ctx, dl_dataset ds, dl_const_i64* rows, int64_t n,
                                      dl_buffer* json, dl_error* err);

/* Merges a version into the branch, as one commit. on_conflict is "error" (also ""), "ours" or
 * "theirs". *merged becomes 0 if there was nothing to merge. *commit gets the version of the branch
 * as JSON; the caller releases it. After a failure nothing has changed. */
DL_API dl_status dl_dataset_merge(dl_context ctx, dl_dataset ds, dl_text* ref, dl_text* on_conflict,
                                  dl_text* message, int32_t* merged, dl_buffer* commit,
                                  dl_error* err);

/* Makes the branch show the rows and tensors of a version, as one commit. *restored becomes 0 if it
 * shows them already. *commit gets the version of the branch as JSON; the caller releases it. After
 * a failure nothing has changed. */
DL_API dl_status dl_dataset_restore(dl_context ctx, dl_dataset ds, dl_text* ref, dl_text* message,
                                    int32_t* restored, dl_buffer* commit, dl_error* err);

/* Undoes the changes of one version, as one commit. on_conflict is "error" (also ""), "ours" (later
 * changes stay) or "theirs" (they are undone too). *reverted becomes 0 if nothing was left to undo.
 * *commit is as above. After a failure nothing has changed. */
DL_API dl_status dl_dataset_revert(dl_context ctx, dl_dataset ds, dl_text* ref,
                                   dl_text* on_conflict, dl_text* message, int32_t* reverted,
                                   dl_buffer* commit, dl_error* err);

DL_API dl_status dl_dataset_rename_tensor(dl_context ctx, dl_dataset ds, dl_text* from, dl_text* to,
                                          dl_error* err);
/* Changes the classes of a tensor: a JSON object {"rename", "into"}, {"merge": [...], "into"},
 * {"remove"} or {"add": [...]}. Labels get their new numbers. */
DL_API dl_status dl_dataset_change_classes(dl_context ctx, dl_dataset ds, dl_text* name,
                                           dl_text* change, dl_error* err);
DL_API dl_status dl_dataset_delete_tensor(dl_context ctx, dl_dataset ds, dl_text* name,
                                          dl_error* err);

/* Lists the saved views as JSON. The caller releases the buffer. */
DL_API dl_status dl_dataset_views(dl_context ctx, dl_dataset ds, dl_buffer* json, dl_error* err);
DL_API dl_status dl_dataset_delete_view(dl_context ctx, dl_dataset ds, dl_text* name,
                                        dl_error* err);

/* ---- Maintenance ---- */

typedef struct dl_rechunk_report {
    int64_t rows;   /* samples that were written again */
    int64_t bytes;  /* of the chunks that hold them now */
    int64_t before; /* pieces of chunks that the tensors are made of, before and after */
    int64_t after;
} dl_rechunk_report;

/* Writes scattered samples of n tensors (0: of all) into full chunks, and commits that. chunk_bytes
 * is the size of their chunks from now on (0: unchanged). all: 1 writes every sample. *commit gets
 * the new version as JSON, or "null" if nothing was to be done; the caller releases it. */
DL_API dl_status dl_dataset_rechunk(dl_context ctx, dl_dataset ds, dl_texts* tensors, int64_t n,
                                    int64_t chunk_bytes, int32_t all, dl_text* message,
                                    dl_rechunk_report* report, dl_buffer* commit, dl_error* err);

typedef struct dl_gc_report {
    int64_t objects; /* removed, or to be removed */
    int64_t bytes;
    int64_t temp_files; /* of killed writers, removed besides */
    int64_t temp_bytes;
    int64_t young; /* objects that no commit names, and that may belong to a coming one */
    int64_t young_bytes;
    int64_t expired; /* versions that this run has expired */
    int64_t commits; /* kept */
    int64_t kept;    /* objects that those name */
    int64_t kept_bytes;
} dl_gc_report;

/* Removes objects that no version needs and that are older than *older_than seconds (NULL: seven
 * days). With expire it first expires versions that were replaced longer than *expire seconds ago,
 * except the newest *keep_last (NULL: one) of each branch. dry_run: 1 only reports. */
DL_API dl_status dl_dataset_gc(dl_context ctx, dl_dataset ds, dl_const_f64* older_than,
                               dl_const_f64* expire, dl_const_i64* keep_last, int32_t dry_run,
                               dl_gc_report* report, dl_error* err);

/* Looks for missing and damaged objects. data: 1 reads every chunk. repair: 1 rebuilds objects
 * where that is possible. *json gets the report; the caller releases it. */
DL_API dl_status dl_dataset_fsck(dl_context ctx, dl_dataset ds, int32_t data, int32_t repair,
                                 dl_buffer* json, dl_error* err);

typedef struct dl_progress {
    int64_t items;
    int64_t bytes;
    int64_t total_items; /* 0: unknown */
    int64_t total_bytes; /* 0: unknown */
} dl_progress;

/* Reports the progress of the newest gc, fsck, copy or rechunk of ds, to another thread. */
DL_API dl_status dl_dataset_progress(dl_dataset ds, dl_progress* out, dl_error* err);

typedef struct dl_copy_report {
    int64_t objects; /* of the copy */
    int64_t bytes;
    int64_t skipped; /* were there from a copy that was cut short */
    int64_t server;  /* copied by the store itself */
    int64_t commits;
} dl_copy_report;

/* Copies the current version of ds to uri. uri must have no dataset. history: 1 copies all branches
 * and tags. to has the JSON options {"storage", "link_storage", "named", "environ"} of the target.
 * After a failure uri has no dataset; another copy continues the work. */
DL_API dl_status dl_dataset_copy_to(dl_context ctx, dl_dataset ds, dl_text* uri, int32_t history,
                                    dl_text* message, dl_text* to, dl_copy_report* report,
                                    dl_error* err);

/* Copies the dataset at src to dst, which must have none, with JSON options {"history", "branch",
 * "at", "message", "from", "to"}. "from" and "to" are objects like `to` above. Without "to", "from"
 * applies to a dst on the same server; a dst elsewhere gets none of its secrets. After a failure
 * dst has no dataset; another copy continues the work. */
DL_API dl_status dl_dataset_copy(dl_context ctx, dl_text* src, dl_text* dst, dl_text* options,
                                 dl_copy_report* report, dl_error* err);

/* ---- View ---- */

DL_API dl_status dl_view_len(dl_view view, int64_t* out, dl_error* err);

/* Describes rows and tensors as JSON. The caller releases the buffer. */
DL_API dl_status dl_view_describe(dl_view view, dl_buffer* json, dl_error* err);

/* Makes a view of n rows of this one, in the given order. The caller closes *out. */
DL_API dl_status dl_view_select(dl_view view, dl_const_i64* rows, int64_t n, dl_view* out,
                                dl_error* err);

/* Makes a view of the rows start, start+step, ... up to but without stop; all must exist. The
 * caller closes *out. */
DL_API dl_status dl_view_slice(dl_view view, int64_t start, int64_t stop, int64_t step,
                               dl_view* out, dl_error* err);

/* Writes the dataset row of each row into rows, which has space for n == length numbers. */
DL_API dl_status dl_view_rows(dl_view view, int64_t* rows, int64_t n, dl_error* err);

/* Sets *out to 1 if a sample may have changed since the view was made, else to 0: that of a row, -1
 * for any, in a tensor, "" for any. */
DL_API dl_status dl_view_outdated(dl_view view, dl_text* tensor, int64_t row, int32_t* out,
                                  dl_error* err);

/* Names the files from which n rows were imported, as a JSON array of texts, null for a row that
 * was not. The caller releases the buffer. */
DL_API dl_status dl_view_sources(dl_context ctx, dl_view view, dl_const_i64* rows, int64_t n,
                                 dl_buffer* json, dl_error* err);

/* Reads n rows into a batch on a device (NULL: the CPU). The caller frees *out by
 * dl_batch_export_free. It takes the JSON options of dl_loader_open that concern single rows.
 * "mark_holes", for one stacked tensor, allows zeros in place of missing samples. The array
 * NAME_null, of bools, then marks these rows; a batch without missing samples lacks the array. Few
 * rows, and samples of different shapes, fail as they do without "mark_holes". */
DL_API dl_status dl_view_read(dl_context ctx, dl_view view, dl_const_i64* rows, int64_t n,
                              dl_text* options, dl_device_in* device, dl_batch_export** out,
                              dl_error* err);

/* Makes a batch of a row in memory, with an array in each column, as dl_view_read does. The options
 * also have "row", the number of the row, and "htypes" and "infos" of columns by name. */
DL_API dl_status dl_row_transform(dl_context ctx, dl_rows_in* columns, int64_t columns_n,
                                  dl_text* options, dl_batch_export** out, dl_error* err);

/* Makes a view of the same rows with a weight for each, with which dl_loader_open draws them. Its
 * options "length" and "distinct" (every row once at most) then apply. The weights are copied. The
 * caller closes *out. */
DL_API dl_status dl_view_with_weights(dl_view view, dl_const_f64* weights, int64_t n, dl_view* out,
                                      dl_error* err);

DL_API dl_status dl_view_close(dl_view view, dl_error* err);

/* ---- Query ---- */

/* A function that queries call by its name. Any threads call it, several at once, with args_n
 * columns of `rows` >= 1 rows each. The columns are valid during the call. NULL values come in a
 * list or text with size -1.
 *
 * On success it fills *out with one column of as many rows. *kept is the function's own pointer.
 * The core passes it to `done` after copying the column. On failure the function fills status and
 * message of err, which is zeroed before the call, and `done` is not called. The failure of the
 * query repeats its cause.
 *
 * The struct, its name, shape and self stay valid until the views of its queries are closed. */
typedef struct dl_function {
    dl_text* name;
    int32_t dtype;       /* of the result: any but float16, bfloat16 and complex ones */
    int32_t ndim;        /* axes of a row of it; -1: they differ */
    dl_const_i64* shape; /* ndim axes, -1 where rows differ */
    void* self;
    dl_status (*call)(void* self, dl_array_in* args, int64_t args_n, int64_t rows, dl_rows* out,
                      void** kept, dl_error* err);
    void (*done)(void* self, void* kept);
} dl_function;
typedef const dl_function dl_functions; /* dl_functions*: several */

/* Runs a query on the rows of a view or, with view {0}, on the datasets that the text names. params
 * has its values, columns of one row each. Their `counts` is "" for no time, "date" for days,
 * "timestamp" and "interval" for microseconds, or a type of NumPy like "datetime64[ns]". A
 * timestamp counts from 1970 in UTC; it may name the zone in which a saved view writes it, as in
 * "timestamp+02:00". float16 values become float32.
 *
 * JSON options: "names", those of params, in any order, for a text with :name; "seed"; "threads";
 * "budget", the bytes of memory for sorting and grouping; "each", numbers (from 0) of params with a
 * list of values on their first axis: the query runs with each value, and the results follow one
 * another. For the datasets that the text names: "storage" (of the first one), "link_storage",
 * "environ"; "commits" {"name" or "name@ref": commit}, the versions to open again; "stored", true
 * if the text was read from a dataset, which limits it like other stored text; "saved_params", the
 * "params" of dl_dataset_views, which replace params, "names", "each" and "commits".
 *
 * *out gets a view of the result. The caller closes it before the queried view. *json gets {"query"
 * (its canonical form), "uri" (of the queried dataset, or the first that the text names), "origin"
 * (of the one dataset of all rows, if another), "commits" as above, "outputs": [{"name", "type",
 * "computed"}]}; the caller releases it. */
DL_API dl_status dl_query(dl_context ctx, dl_view view, dl_text* text, dl_rows_in* params,
                          int64_t params_n, dl_functions* functions, int64_t functions_n,
                          dl_text* options, dl_view* out, dl_buffer* json, dl_error* err);

/* Explains dl_query. *json gets {"query", "uri", "commits", "explanation", "text" (for people)};
 * the caller releases it. No sample is read. The option "analyze" runs the query and adds
 * its figures. With text "" and the view of a result, it explains the query behind that. */
DL_API dl_status dl_query_explain(dl_context ctx, dl_view view, dl_text* text, dl_rows_in* params,
                                  int64_t params_n, dl_functions* functions, int64_t functions_n,
                                  dl_text* options, dl_buffer* json, dl_error* err);

/* Saves a view of ds, or the result of a query of it, under a name, with JSON options {"replace"}.
 * The params of the query are saved too. Computed columns are computed again at loading. */
DL_API dl_status dl_dataset_save_view(dl_context ctx, dl_dataset ds, dl_view view, dl_text* name,
                                      dl_text* options, dl_error* err);

/* Loads a saved view, at its commit. A query that must run again has its saved params and seed, and
 * takes functions and the other options like dl_query. params is ignored. *out and *json are as in
 * dl_query; *json has "uri" alone if no query ran. The caller may close ds before *out. */
DL_API dl_status dl_dataset_load_view(dl_context ctx, dl_dataset ds, dl_text* name,
                                      dl_rows_in* params, int64_t params_n, dl_functions* functions,
                                      int64_t functions_n, dl_text* options, dl_view* out,
                                      dl_buffer* json, dl_error* err);

/* Copies the rows of a view into a new dataset at uri, with JSON options {"overwrite", "message",
 * "threads", "storage", "environ"}. A dataset without versions, as a killed process leaves it,
 * counts as none. After a failure there is no dataset. */
DL_API dl_status dl_view_materialize(dl_context ctx, dl_view view, dl_text* uri, dl_text* options,
                                     dl_error* err);

/* Lists the functions of the language, and its words, which a dl_function cannot be named, as JSON
 * {"functions": [{"name", "signature", "doc"}], "words": [...]}. The caller releases the buffer. */
DL_API dl_status dl_query_functions(dl_buffer* json, dl_error* err);

/* Fails if a dl_function cannot have a name: DL_EXISTS if the language has it, else DL_INVALID. */
DL_API dl_status dl_query_check_function(dl_text* name, dl_error* err);

/* Lists a query's parameters as JSON {"parameters": [name or "" for ?]}; the caller releases it. */
DL_API dl_status dl_query_parameters(dl_text* text, dl_buffer* json, dl_error* err);

/* ---- Column: bytes as stored ---- */

/* Opens one tensor of a view. The caller closes *out before the view. */
DL_API dl_status dl_column_open(dl_view view, dl_text* name, dl_column* out, dl_error* err);

/* Writes the numbers of stored bytes of n rows into sizes, -1 for a missing sample. */
DL_API dl_status dl_column_sizes(dl_context ctx, dl_column column, dl_const_i64* rows, int64_t n,
                                 int64_t* sizes, dl_error* err);

/* Copies the stored bytes of n rows to dst[i], which has space for the sizes[i] bytes of
 * dl_column_sizes. Missing samples are left out. After a failure the memory at dst is undefined. */
DL_API dl_status dl_column_stored(dl_context ctx, dl_column column, dl_const_i64* rows, int64_t n,
                                  dl_mut_ptr* dst, dl_const_i64* sizes, dl_error* err);

/* Copies the stored bytes of one row to dst if they fit into capacity. *size gets their number (-1:
 * a missing sample) in any case: a second call with enough space succeeds. */
DL_API dl_status dl_column_stored_one(dl_context ctx, dl_column column, int64_t row, void* dst,
                                      int64_t capacity, int64_t* size, dl_error* err);

DL_API dl_status dl_column_close(dl_column column, dl_error* err);

/* ---- Record batches of Arrow ---- */

/* Opens the rows of a view as record batches. JSON options: "tensors" (names in order; null: all),
 * "images" ("encoded": files as bytes, "pixels": arrays) and "batch_rows" (at most; 0: as many as
 * are read at once). The view must stay open as long as the handle. The caller closes *out. */
DL_API dl_status dl_view_batches(dl_context ctx, dl_view view, dl_text* options, dl_batches* out,
                                 dl_error* err);

/* Describes the type of the batches, a struct of the tensors. The caller releases it. */
DL_API dl_status dl_batches_schema(dl_batches batches, struct ArrowSchema* out, dl_error* err);

/* Reads the next batch, which the caller releases; out->release is NULL behind the last one. Its
 * memory stays valid after the batches, the view and the dataset were closed. Numbers of a local
 * dataset lie in mapped files, so nothing may be written there. */
DL_API dl_status dl_batches_next(dl_context ctx, dl_batches batches, struct ArrowArray* out,
                                 dl_error* err);

DL_API dl_status dl_batches_close(dl_batches batches, dl_error* err);

/* clang-format off */
#define DL_FUNCTIONS(X) \
    X(abi_version) X(version) X(error_table) X(devices) X(configure) X(memory_references) X(context_new) \
    X(context_cancel) X(context_close) X(uri_resolve) X(uri_root) X(uri_orgs) X(dataset_create) \
    X(dataset_open) X(dataset_exists) X(dataset_delete) X(dataset_list) X(dataset_describe) \
    X(dataset_create_tensor) X(dataset_append) X(dataset_append_stream) X(dataset_update) X(dataset_delete_rows) X(dataset_set_info) \
    X(dataset_update_rows_of) X(dataset_delete_rows_of) X(dataset_commit) X(dataset_commit_once) X(dataset_begin_write) X(dataset_end_write) \
    X(task_open) X(dataset_fragment) X(dataset_commit_fragments) X(dataset_rechunk_rows) X(dataset_discard) X(dataset_refresh) X(dataset_log) X(dataset_at) \
    X(dataset_view) X(dataset_close) X(dataset_branches) X(dataset_create_branch) \
    X(dataset_delete_branch) X(dataset_checkout) X(dataset_tags) X(dataset_create_tag) \
    X(dataset_delete_tag) X(dataset_graph) X(dataset_diff) X(dataset_merge) \
    X(dataset_restore) X(dataset_revert) X(dataset_history) X(dataset_row_names) \
    X(dataset_rename_tensor) X(dataset_change_classes) X(dataset_delete_tensor) X(dataset_views) X(dataset_delete_view) \
    X(dataset_rechunk) X(dataset_gc) X(dataset_fsck) X(dataset_progress) X(dataset_copy_to) \
    X(dataset_copy) X(view_len) X(view_describe) X(view_select) X(view_slice) X(view_rows) X(view_outdated) X(view_sources) \
    X(view_batches) X(batches_schema) X(batches_next) X(batches_close) X(view_read) X(row_transform) X(view_plot) X(view_with_weights) X(view_close) X(query) X(query_explain) \
    X(dataset_save_view) X(dataset_load_view) X(view_materialize) \
    X(query_functions) X(query_check_function) X(query_parameters) X(column_open) X(column_sizes) X(column_stored) \
    X(column_stored_one) X(column_close) X(videos_open) X(videos_info) X(videos_times) \
    X(videos_at) X(videos_frames) X(videos_place) X(view_clips) X(view_place_windows) X(view_frame_tensors) X(view_windows) X(videos_close) X(loader_open) X(loader_mix) X(loader_len) X(loader_start) X(loader_memory) X(loader_state) \
    X(loader_resume) X(loader_stats) X(loader_trace) X(loader_close) X(epoch_next) \
    X(epoch_close) X(batch_export_free) X(memory_retain) X(memory_release) X(memory_info) X(memory_tensor) \
    X(sample_inspect) X(sample_decode) X(ingest_start) X(view_export) X(job_poll) X(job_cancel) \
    X(job_close) X(visualizer_open) X(visualizer_link) X(visualizer_close) X(test_panic)
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
