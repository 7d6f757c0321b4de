/* Loaders, batches, single samples, imports, exports and the visualizer. Include deeplake.h. */

#ifndef DEEPLAKE_LOAD_H
#define DEEPLAKE_LOAD_H

#include "deeplake_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Loader ---- */

/* Plans batches of a view with JSON options {"batch_size", "shuffle", "seed", ...}. The caller
 * closes *out before the view. */
DL_API dl_status dl_loader_open(dl_context ctx, dl_view view, dl_text* options, dl_loader* out,
                                dl_error* err);

/* Plans batches of n views together with JSON mix {"mode": "random"|"exact"|"sequential",
 * "weights", "stop": "first_exhausted"|"all_exhausted", "length", "labels" (n names of the views,
 * for messages)} and options as in dl_loader_open. Views with weights of rows are refused. With
 * "return_index" the array "_source" of a batch has the view of each row. The caller closes *out
 * before the views. */
DL_API dl_status dl_loader_mix(dl_context ctx, dl_views* views, int64_t n, dl_text* mix,
                               dl_text* options, dl_loader* out, dl_error* err);

/* Counts the batches of a pass, which are as many on every rank; pass as in dl_loader_start. */
DL_API dl_status dl_loader_len(dl_loader loader, dl_text* pass, int64_t* out, dl_error* err);

/* Starts a pass with JSON {"epoch", "position", "rank", "world_size"}, all optional: the batches of
 * one rank, from a position in the order of the epoch on. Reading begins at once, at that position.
 * Several passes may run. The caller closes *out. */
DL_API dl_status dl_loader_start(dl_loader loader, dl_text* pass, dl_epoch* out, dl_error* err);

/* Gives memory of at least size bytes for results that are made of batches, in a file, as
 * dl_memory_info describes it. Its content is undefined. The loader needs the option "shareable".
 * The caller releases *out by dl_memory_release. */
DL_API dl_status dl_loader_memory(dl_loader loader, int64_t size, dl_memory** out, dl_error* err);

/* Returns the state behind a position of an epoch, as a dl_batch_export has it: JSON of less than 1
 * KB that identifies rows and order. The caller releases the buffer. */
DL_API dl_status dl_loader_state(dl_loader loader, int64_t epoch, int64_t position, dl_buffer* json,
                                 dl_error* err);

/* Finds the epoch and position of a state. A state of other rows or another order is DL_INVALID,
 * and the message names the difference. */
DL_API dl_status dl_loader_resume(dl_loader loader, dl_text* state, int64_t* epoch,
                                  int64_t* position, dl_error* err);

/* Returns statistics as JSON. The caller releases the buffer. */
DL_API dl_status dl_loader_stats(dl_loader loader, dl_buffer* json, dl_error* err);

/* Returns the timeline of the epochs of a loader that was opened with "trace", in the Trace Event
 * Format (JSON) of Perfetto and chrome://tracing. The caller releases the buffer. */
DL_API dl_status dl_loader_trace(dl_loader loader, dl_buffer* json, dl_error* err);

/* Closes the loader and its epochs. Batches handed out stay valid. */
DL_API dl_status dl_loader_close(dl_loader loader, dl_error* err);

/* States of dl_epoch_next. */
enum {
    DL_NEXT_BATCH = 0,
    DL_NEXT_END = 1,
    DL_NEXT_PENDING = 2, /* timeout_ms have passed; no batch is lost, call again */
};

/* Waits at most timeout_ms (negative: for ever) for the next batch on a device (NULL: the CPU),
 * which must be that of the loader's options: any other is DL_UNSUPPORTED. With DL_NEXT_BATCH the
 * caller frees *out by dl_batch_export_free. The error of a sample comes at its batch and ends the
 * epoch. Each batch of a pass is handed out once. */
DL_API dl_status dl_epoch_next(dl_epoch epoch, int64_t timeout_ms, dl_device_in* device,
                               int32_t* state, dl_batch_export** out, dl_error* err);

/* Stops reading ahead and waits for the threads of the epoch. */
DL_API dl_status dl_epoch_close(dl_epoch epoch, dl_error* err);

/* ---- Batch ---- */

/* Frees *batch and its reference. Callable from any thread; never fails and never enters the
 * runtime. */
DL_API void dl_batch_export_free(dl_batch_export* batch);

/* Add and drop a reference to the memory of a batch. They never fail and never enter the runtime.
 * In a process other than the memory's they do nothing. */
DL_API void dl_memory_retain(dl_memory* memory);
DL_API void dl_memory_release(dl_memory* memory);

/* Sets *data to the first byte of the memory, *size to its bytes, and *file to the descriptor of
 * the file that begins there, which other processes may map; -1: it is no file. The memory owns the
 * descriptor. It never fails and never enters the runtime. */
DL_API void dl_memory_info(dl_memory* memory, void** data, int64_t* size, int32_t* file);

/* Makes *out a DLManagedTensor* (versioned 0) or DLManagedTensorVersioned* (1) over an array in
 * memory, for a consumer on a device (NULL: the CPU), which must be that of the memory. The stream
 * of the device waits for the memory. It has a reference of its own; shape is copied. The caller,
 * or its consumer, calls the tensor's deleter once, from any thread. Memory of a device is written
 * again after the last reference is dropped and all streams that were named for it have passed that
 * point. Neither the call nor the deleter enters the runtime. */
DL_API dl_status dl_memory_tensor(dl_memory* memory, void* data, int32_t dtype, int32_t ndim,
                                  dl_const_i64* shape, int32_t versioned, dl_device_in* device,
                                  void** out, dl_error* err);

/* ---- Single samples ---- */

/* Describes an encoded sample as dl_sample_decode delivers it, as JSON {"codec", "dtype", "shape",
 * "bytes", "orientation"}; Exif data turns the image by the last, 1 to 8. channels: 0 as stored, 1
 * gray, 3 RGB. The caller releases the buffer. */
DL_API dl_status dl_sample_inspect(dl_data data, int64_t size, int32_t channels, dl_buffer* json,
                                   dl_error* err);

/* Decodes an encoded sample to dst, which has space for exactly the "bytes" of dl_sample_inspect.
 * After a failure the memory at dst is undefined. */
DL_API dl_status dl_sample_decode(dl_data data, int64_t size, int32_t channels, void* dst,
                                  int64_t bytes, dl_error* err);

/* ---- Import ---- */

/* Starts filling the dataset at uri from source, a folder, a file or a URI, with JSON options
 * "overwrite", "link", "labels", "workers", "compression", "checkpoint", "message", "storage" and
 * "environ". "format" is "images", "videos", "table" or the name of a format of tables; without it,
 * names in the source decide. For tables, "columns" lists columns, "schema" has specs of tensors by
 * name, "on_error" is "raise" or "skip", and "once" makes a new dataset with one commit.
 * "source_storage" has the settings of the source. Without it "storage" applies to a source on the
 * same server; a source elsewhere gets none of its secrets. The caller closes *out. */
DL_API dl_status dl_ingest_start(dl_text* uri, dl_text* source, dl_text* options, dl_job* out,
                                 dl_error* err);

/* ---- Export ---- */

/* Starts writing the rows of a view as files of other programs below uri, which must be empty or
 * hold a part of the same export, with JSON options "format", "tensors", "splits", "shard_bytes",
 * "storage" and "environ". The view must stay open until the job is closed. The caller closes
 * *out. */
DL_API dl_status dl_view_export(dl_view view, dl_text* uri, dl_text* options, dl_job* out,
                                dl_error* err);

/* ---- Jobs ---- */

/* Waits at most timeout_ms for news. *json gets the progress, with "done" and at the end "report";
 * the caller releases it. After the end of a job that failed it returns that failure. */
DL_API dl_status dl_job_poll(dl_job job, int64_t timeout_ms, dl_buffer* json, dl_error* err);

/* Asks the job to stop; dl_job_poll reports the end. */
DL_API dl_status dl_job_cancel(dl_job job, dl_error* err);

/* Cancels the job, waits for its end, and closes the handle. */
DL_API dl_status dl_job_close(dl_job job, dl_error* err);

/* ---- Visualizer ---- */

/* Draws n rows as a PNG file: their pictures side by side, with annotations. Rows that cannot be
 * read are cells with the error. JSON options: "cell" (the longer side of a picture in pixels, 16
 * to 4096), "columns" (cells beside each other; 0: as many as fit) and "tensor" (of pictures or
 * masks; "": the first pictures). The caller releases the buffer. */
DL_API dl_status dl_view_plot(dl_context context, dl_view view, dl_const_i64* rows, int64_t n,
                              dl_text* options, dl_buffer* png, dl_error* err);

/* Starts a server of pages that show a view in a browser. It reads, and writes nothing but saved
 * views. dataset is that of the view, for other versions and saved views; {0}: pages show none.
 * Both must stay open. JSON options: "page" (the directory of the built page), "host" (the address
 * to listen on, by default 127.0.0.1), "port" (0: any free one), "allow_hosts" (names besides
 * localhost under which browsers and proxies reach the server), "allow" (addresses that queries of
 * pages may read, and all below, besides the shown datasets), "save_views" (pages may save views in
 * the dataset; by default false), "folders" (that may have FFmpeg, for pictures of videos), and,
 * for datasets that queries name, "storage", "link_storage", "named" and "environ". The caller
 * closes *out. */
DL_API dl_status dl_visualizer_open(dl_view view, dl_dataset dataset, dl_text* options,
                                    dl_visualizer* out, dl_error* err);

/* Makes a link for one browser, as JSON {"address", "key"}: http://ADDRESS/#key=KEY. A key works
 * once; the newest 32 are valid. DL_KEY_OWN serves browsers of this account on this machine alone;
 * its key is "" if the system cannot tell accounts. The caller releases the buffer. */
enum { DL_KEY_NONE = 0, DL_KEY_ANY = 1, DL_KEY_OWN = 2 };
DL_API dl_status dl_visualizer_link(dl_visualizer visualizer, int32_t key, dl_buffer* json,
                                    dl_error* err);

/* Ends all requests and closes the server. */
DL_API dl_status dl_visualizer_close(dl_visualizer visualizer, dl_error* err);

/* ---- Videos: frames of a tensor of htype video ---- */

/* Opens a tensor of videos of a view. JSON options: "folders" (where FFmpeg's libraries may lie,
 * besides the places of the system). They are loaded when the first frame is decoded. The caller
 * closes *out before the view. */
DL_API dl_status dl_videos_open(dl_view view, dl_text* name, dl_text* options, dl_videos* out,
                                dl_error* err);

/* Describes the video of a row as JSON {"codec", "width", "height", "frames", "key_frames",
 * "begin" and "duration" (s), "fps", "rotation" (degrees), "bytes"}. Width and height are those of
 * the frames as they are shown. A row without a video is DL_NOT_FOUND. The caller releases it. */
DL_API dl_status dl_videos_info(dl_context ctx, dl_videos videos, int64_t row, dl_buffer* json,
                                dl_error* err);

/* Writes the times at which frames are shown, in seconds. n is the number of all frames. */
DL_API dl_status dl_videos_times(dl_context ctx, dl_videos videos, int64_t row, double* times,
                                 int64_t n, dl_error* err);

/* Writes the numbers of the frames that are shown at n times, in seconds. A time before the first
 * frame or behind the last one is DL_RANGE. */
DL_API dl_status dl_videos_at(dl_context ctx, dl_videos videos, int64_t row, dl_const_f64* times,
                              int64_t n, int64_t* frames, dl_error* err);

/* Decodes n frames, in any order and with repeats, into dst: for each height x width x 3 bytes in
 * RGB. size is the bytes of dst. After a failure dst is undefined. */
DL_API dl_status dl_videos_frames(dl_context ctx, dl_videos videos, int64_t row,
                                  dl_const_i64* frames, int64_t n, void* dst, int64_t size,
                                  dl_error* err);

/* Places clips in all videos of a tensor. JSON options: "tensor"; "length" (frames), "stride" and
 * "fps" (0: all frames); "windows" ("sliding", with "step"; "random", with "count" a video and
 * "seed"); "short" ("repeat" the last frame, or "drop" such clips); "frames" (single
 * frames, length 1). *out gets int64 numbers: the rows of the videos of all clips, and then as many
 * positions at which clips begin. The caller releases it. */
DL_API dl_status dl_videos_place(dl_context ctx, dl_videos videos, dl_text* options, dl_buffer* out,
                                 dl_error* err);

/* Makes a view whose rows are n clips, as dl_videos_place has placed them in the rows of the view,
 * for loaders and dl_view_read: the tensor has uint8 arrays (length, height, width, 3). Options are
 * those of dl_videos_place, and "folders". The caller closes *out before the view. */
DL_API dl_status dl_view_clips(dl_view view, dl_text* options, dl_const_i64* rows,
                               dl_const_i64* starts, int64_t n, dl_view* out, dl_error* err);

/* Places windows in the episodes of a view: one for each frame, or for one in "step". JSON options:
 * "fps", "step", "tolerance" (seconds), "folders" as of dl_videos_open, and "tensors", each with
 * "name", "times" (seconds from the frame of the window) and "single" (one time, delivered without
 * an axis). *out gets int64 numbers: the rows of all windows, then as many frames, and as many
 * lengths of episodes. The caller releases it. */
DL_API dl_status dl_view_place_windows(dl_context ctx, dl_view view, dl_text* options,
                                       dl_buffer* out, dl_error* err);

/* Lists the other tensors that have an entry for each frame in the first, the middle and the last
 * row: *out gets a JSON list of names. Options are those of dl_view_place_windows. The caller
 * releases it. */
DL_API dl_status dl_view_frame_tensors(dl_context ctx, dl_view view, dl_text* options,
                                       dl_buffer* out, dl_error* err);

/* Makes a view whose rows are n windows, as dl_view_place_windows has placed them, for loaders and
 * dl_view_read. A tensor with times has arrays (times, ...), and NAME_is_pad has bools (times,).
 * The caller closes *out before the view. */
DL_API dl_status dl_view_windows(dl_view view, dl_text* options, dl_const_i64* rows,
                                 dl_const_i64* frames, dl_const_i64* lengths, int64_t n,
                                 dl_view* out, dl_error* err);

DL_API dl_status dl_videos_close(dl_videos videos, dl_error* err);

/* ---- Tests ---- */

/* Panics in the call ("call") or in a goroutine of it ("task"). */
DL_API dl_status dl_test_panic(dl_text* where, dl_error* err);

/* Every function above, for programs that load the library at run time: X(name) for dl_name. */

#ifdef __cplusplus
}
#endif

#endif
