/* A program against the C interface: argv[1] names the case, argv[2] a place for a dataset. Exits 0
 * when all holds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deeplake.h"

static dl_error err;

#define WANT(condition)                                                                           \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "line %d: %s; last error: %d %s\n", __LINE__, #condition, err.status, \
                    err.message);                                                                 \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)
#define OK(call) WANT((call) == DL_OK)
#define FAILS(want, call) WANT((call) == (want) && err.status == (want) && err.message[0] != 0)

static const dl_context none = {0};

/* contains looks for a word in a result and gives the result back. */
static int contains(dl_buffer* json, const char* word) {
    int found = strstr(json->data, word) != NULL && strlen(json->data) == (size_t)json->size;
    json->release(json);
    return found && json->release == NULL;
}

enum { ROWS = 10, WIDTH = 3 };

/* make fills a dataset with ROWS rows: "x" int32 (WIDTH,) counting up, "t" text "row i", none in
 * row 4. */
static dl_dataset make(const char* uri) {
    dl_dataset ds = {0};
    OK(dl_dataset_create(none, uri, "", &ds, &err));
    OK(dl_dataset_create_tensor(none, ds, "{\"name\": \"x\", \"dtype\": \"int32\"}", &err));
    OK(dl_dataset_create_tensor(none, ds, "{\"name\": \"t\", \"htype\": \"text\"}", &err));
    int32_t x[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) x[i] = i;
    char text[ROWS][8];
    dl_sample samples[ROWS];
    memset(samples, 0, sizeof samples);
    for (int i = 0; i < ROWS; i++) {
        snprintf(text[i], sizeof text[i], "row %d", i);
        samples[i] = (dl_sample){.data = text[i],
                                 .bytes = (int64_t)strlen(text[i]),
                                 .dtype = DL_STRING,
                                 .form = DL_FORM_TEXT};
    }
    samples[4] = (dl_sample){.form = DL_FORM_HOLE};
    int64_t shape[] = {WIDTH};
    dl_rows columns[] = {
        {.tensor = "x",
         .n = ROWS,
         .data = x,
         .bytes = sizeof x,
         .shape = shape,
         .ndim = 1,
         .dtype = DL_INT32},
        {.tensor = "t", .n = ROWS, .samples = samples, .samples_n = ROWS},
    };
    OK(dl_dataset_append(none, ds, columns, 2, ROWS, &err));
    dl_buffer json = {0};
    OK(dl_dataset_commit(none, ds, "ten rows", &json, &err));
    WANT(contains(&json, "\"version\":1"));
    return ds;
}

static void check_row(const int32_t* x, int row) {
    for (int k = 0; k < WIDTH; k++) WANT(x[k] == row * WIDTH + k);
}

/* The layout of DLManagedTensor, as a consumer has it. */
typedef struct managed {
    void* data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
    void* owner;
    void (*deleter)(struct managed*);
} managed;

static void* drop(void* tensor) {
    ((managed*)tensor)->deleter(tensor);
    return NULL;
}

static void batches(const char* uri) {
    dl_dataset ds = make(uri);
    dl_view view = {0};
    int64_t n = 0;
    OK(dl_dataset_view(none, ds, &view, &err));
    OK(dl_view_len(view, &n, &err));
    WANT(n == ROWS);

    int64_t rows[] = {7, 0, 4};
    const char* options = "{\"collate_of\": {\"t\": \"list\"}, \"return_index\": true}";
    dl_batch_export* batch = NULL;
    dl_device gpu = {.type = 2}, second = {.type = DL_DEVICE_CPU, .id = 1},
              cpu = {.type = DL_DEVICE_CPU};
    FAILS(DL_UNSUPPORTED, dl_view_read(none, view, rows, 3, options, &gpu, &batch, &err));
    FAILS(DL_UNSUPPORTED, dl_view_read(none, view, rows, 3, options, &second, &batch, &err));
    FAILS(DL_INVALID, dl_view_read(none, view, rows, 3, options, NULL, NULL, &err));
    WANT(batch == NULL);
    dl_buffer png = {0};
    FAILS(DL_NOT_FOUND, dl_view_plot(none, view, rows, 3, "{\"cell\": 32}", &png, &err));
    FAILS(DL_INVALID, dl_view_plot(none, view, rows, 3, "{\"cell\": 1}", &png, &err));
    FAILS(DL_INVALID, dl_view_plot(none, view, rows, 3, "{\"size\": 1}", &png, &err));
    WANT(png.release == NULL);
    OK(dl_view_read(none, view, rows, 3, options, &cpu, &batch, &err));
    WANT(batch->struct_size == sizeof *batch && batch->version == DL_BATCH_EXPORT_VERSION);
    WANT(batch->device_type == DL_DEVICE_CPU && batch->device_id == 0);
    const dl_array* a = batch->arrays;
    WANT(batch->n == 3 && batch->rows == 3);
    WANT(strcmp(a[0].name, "x") == 0 && a[0].kind == DL_KIND_ARRAY && a[0].dtype == DL_INT32 &&
         a[0].ndim == 2);
    WANT(a[0].shape[0] == 3 && a[0].shape[1] == WIDTH && (uintptr_t)a[0].data % 64 == 0);
    for (int i = 0; i < 3; i++) check_row((int32_t*)a[0].data + i * WIDTH, (int)rows[i]);
    WANT(strcmp(a[1].name, "t") == 0 && a[1].kind == DL_KIND_TEXT && a[1].entries == 3);
    WANT(a[1].sizes[0] == 5 && memcmp((char*)a[1].data + a[1].offsets[0], "row 7", 5) == 0 &&
         a[1].sizes[2] == -1);
    WANT(strcmp(a[2].name, "_index") == 0 && ((int64_t*)a[2].data)[0] == 7);

    managed* tensor = NULL;
    void* versioned = NULL;
    dl_memory* memory = batch->memory;
    OK(dl_memory_tensor(memory, a[0].data, a[0].dtype, a[0].ndim, a[0].shape, 0, NULL,
                        (void**)&tensor, &err));
    OK(dl_memory_tensor(memory, a[2].data, a[2].dtype, a[2].ndim, a[2].shape, 1, &cpu, &versioned,
                        &err));
    WANT(*(uint32_t*)versioned == 1);
    FAILS(DL_UNSUPPORTED, dl_memory_tensor(memory, a[2].data, a[2].dtype, a[2].ndim, a[2].shape, 1,
                                           &gpu, &versioned, &err));
    FAILS(DL_UNSUPPORTED,
          dl_memory_tensor(memory, a[1].data, a[1].dtype, 0, NULL, 0, NULL, &versioned, &err));
    WANT(strcmp(err.operation, "export tensor") == 0 && err.retryable == DL_RETRY_NO);
    ((void (**)(void*))versioned)[2](versioned); /* its deleter, after version and owner */
    dl_memory_retain(memory);
    WANT(dl_memory_references() == 3);
    dl_batch_export_free(batch);
    WANT(dl_memory_references() == 2);
    OK(dl_view_close(view, &err));
    OK(dl_dataset_close(ds, &err));

    /* The tensor outlives all of it, and goes in another thread. */
    WANT(tensor->ndim == 2 && tensor->shape[1] == WIDTH && tensor->strides[0] == WIDTH &&
         tensor->device_type == 1);
    WANT(tensor->code == 0 && tensor->bits == 32 && tensor->lanes == 1);
    check_row((int32_t*)tensor->data, 7);
    dl_memory_release(memory);
    pthread_t thread;
    WANT(pthread_create(&thread, NULL, drop, tensor) == 0 && pthread_join(thread, NULL) == 0);
    WANT(dl_memory_references() == 0);
}

/* The memory of a shareable loader: its file has the same bytes. */
static void shareable(dl_view view) {
    dl_loader l = {0};
    dl_memory* memory = NULL;
    OK(dl_loader_open(none, view, "{\"batch_size\": 4, \"shareable\": true}", &l, &err));
    FAILS(DL_INVALID, dl_loader_memory(l, -1, &memory, &err));
    FAILS(DL_INVALID, dl_loader_memory(l, 100, NULL, &err));
    OK(dl_loader_memory(l, 100, &memory, &err));
    void* data = NULL;
    int64_t size = 0;
    int32_t file = -1;
    dl_memory_info(memory, &data, &size, &file);
    WANT(data != NULL && size >= 100 && file >= 0);
    memcpy(data, "shared", 7);
    char read[7] = "";
    WANT(pread(file, read, 7, 0) == 7 && strcmp(read, "shared") == 0);
    OK(dl_loader_close(l, &err));
    WANT(strcmp(data, "shared") == 0); /* the reference keeps it */
    dl_memory_release(memory);
    WANT(pread(file, read, 7, 0) < 0); /* the file was closed */
}

static void loader(const char* uri) {
    dl_dataset ds = make(uri);
    dl_view view = {0};
    dl_loader l = {0};
    dl_epoch epoch = {0};
    int64_t n = 0;
    OK(dl_dataset_view(none, ds, &view, &err));
    FAILS(DL_INVALID, dl_loader_open(none, view, "{\"batch_sise\": 4}", &l, &err));
    WANT(strstr(err.message, "\"batch_size\"") != NULL && l.id == 0);
    FAILS(DL_INVALID, dl_loader_open(none, view, "{\"batch_size\": \"4\"}", &l, &err));
    FAILS(DL_NOT_FOUND,
          dl_loader_open(none, view, "{\"batch_size\": 4, \"tensors\": [\"y\"]}", &l, &err));
    OK(dl_loader_open(
        none, view, "{\"batch_size\": 4, \"tensors\": [\"x\"], \"shuffle\": \"full\", \"seed\": 5}",
        &l, &err));
    OK(dl_loader_len(l, "", &n, &err));
    WANT(n == 3);
    OK(dl_loader_start(l, "{\"epoch\": 0, \"rank\": 0, \"world_size\": 1}", &epoch, &err));
    int64_t position = 0;
    int seen[ROWS] = {0};
    for (;;) {
        int32_t state = -1;
        dl_batch_export* batch = NULL;
        OK(dl_epoch_next(epoch, 1, NULL, &state, &batch, &err));
        if (state == DL_NEXT_END) break;
        if (state == DL_NEXT_PENDING) continue;
        position = batch->position;
        WANT(batch->last == (position == ROWS));
        const int32_t* x = batch->arrays[0].data;
        for (int i = 0; i < batch->rows; i++) seen[x[i * WIDTH] / WIDTH]++;
        dl_batch_export_free(batch);
    }
    for (int i = 0; i < ROWS; i++) WANT(seen[i] == 1);
    dl_buffer json = {0};
    int64_t of = -1, at = -1;
    OK(dl_loader_state(l, 0, position, &json, &err));
    OK(dl_loader_resume(l, json.data, &of, &at, &err));
    WANT(of == 0 && at == ROWS);
    json.release(&json);
    FAILS(DL_INVALID, dl_loader_state(l, 0, ROWS + 1, &json, &err));
    FAILS(DL_INVALID, dl_loader_resume(l, "{}", &of, &at, &err));
    FAILS(DL_INVALID, dl_loader_resume(l, "", NULL, &at, &err));
    FAILS(DL_INVALID, dl_loader_start(l, "{\"rank\": 2, \"world_size\": 2}", &epoch, &err));
    FAILS(DL_INVALID, dl_loader_trace(l, &json, &err));
    OK(dl_loader_stats(l, &json, &err));
    WANT(contains(&json, "bottleneck"));
    dl_memory* memory = NULL;
    FAILS(DL_INVALID, dl_loader_memory(l, 100, &memory, &err));
    OK(dl_loader_close(l, &err));
    FAILS(DL_CLOSED, dl_epoch_close(epoch, &err));
    shareable(view);
    OK(dl_view_close(view, &err));
    OK(dl_dataset_close(ds, &err));
}

/* The exports of a pass: each batch once, and memory that outlives the struct. */
static void exports(const char* uri) {
    dl_dataset ds = make(uri);
    dl_view view = {0};
    dl_loader l = {0};
    dl_epoch epoch = {0};
    OK(dl_dataset_view(none, ds, &view, &err));
    OK(dl_loader_open(none, view, "{\"batch_size\": 4, \"collate_of\": {\"t\": \"list\"}}", &l,
                      &err));
    OK(dl_loader_start(l, "", &epoch, &err));
    int32_t state = -1;
    dl_batch_export* exported = NULL;
    dl_memory* kept = NULL;
    const int32_t* data = NULL;
    dl_device gpu = {.type = 2};
    FAILS(DL_INVALID, dl_epoch_next(epoch, -1, NULL, &state, NULL, &err));
    FAILS(DL_INVALID, dl_epoch_next(epoch, -1, NULL, NULL, &exported, &err));
    FAILS(DL_UNSUPPORTED, dl_epoch_next(epoch, -1, &gpu, &state, &exported, &err));
    WANT(state == -1 && exported == NULL);
    int seen[ROWS] = {0};
    for (int turn = 0;; turn++) {
        OK(dl_epoch_next(epoch, -1, NULL, &state, &exported, &err));
        if (state == DL_NEXT_END) break;
        WANT(state == DL_NEXT_BATCH && exported->n == 2 &&
             exported->last == (exported->position == ROWS));
        const dl_array *x = &exported->arrays[0], *t = &exported->arrays[1];
        WANT(strcmp(x->name, "x") == 0 && x->kind == DL_KIND_ARRAY && x->dtype == DL_INT32);
        WANT(x->ndim == 2 && x->shape[0] == exported->rows && x->shape[1] == WIDTH);
        WANT(strcmp(t->name, "t") == 0 && t->kind == DL_KIND_TEXT && t->entries == exported->rows);
        for (int i = 0; i < exported->rows; i++) seen[((int32_t*)x->data)[i * WIDTH] / WIDTH]++;
        if (turn == 0) {
            kept = exported->memory;
            data = x->data;
            dl_memory_retain(kept);
        }
        dl_batch_export_free(exported);
    }
    for (int i = 0; i < ROWS; i++) WANT(seen[i] == 1);
    OK(dl_loader_close(l, &err));
    FAILS(DL_CLOSED, dl_epoch_next(epoch, -1, NULL, &state, &exported, &err));
    WANT(dl_memory_references() == 1);
    for (int i = 0; i < 4; i++) check_row(data + i * WIDTH, i);
    dl_memory_release(kept);
    dl_batch_export_free(NULL);
    WANT(dl_memory_references() == 0);
    OK(dl_view_close(view, &err));
    OK(dl_dataset_close(ds, &err));
}

static void stored(const char* uri) {
    dl_dataset ds = make(uri);
    dl_view view = {0};
    dl_column column = {0};
    OK(dl_dataset_view(none, ds, &view, &err));
    FAILS(DL_NOT_FOUND, dl_column_open(view, "s", &column, &err));
    OK(dl_column_open(view, "t", &column, &err));
    int64_t rows[] = {9, 4, 0}, sizes[3] = {0};
    OK(dl_column_sizes(none, column, rows, 3, sizes, &err));
    WANT(sizes[0] == 5 && sizes[1] == -1 && sizes[2] == 5);
    char first[5], last[5];
    void* places[] = {first, NULL, last};
    OK(dl_column_stored(none, column, rows, 3, places, sizes, &err));
    WANT(memcmp(first, "row 9", 5) == 0 && memcmp(last, "row 0", 5) == 0);
    int64_t wrong[] = {5, -1, 6}, size = 0;
    FAILS(DL_INVALID, dl_column_stored(none, column, rows, 3, places, wrong, &err));
    OK(dl_column_stored_one(none, column, 9, first, 4, &size, &err));
    WANT(size == 5);
    OK(dl_column_stored_one(none, column, 9, first, 5, &size, &err));
    FAILS(DL_RANGE, dl_column_stored_one(none, column, ROWS, first, 5, &size, &err));
    FAILS(DL_RANGE, dl_column_stored_one(none, column, -1, first, 5, &size, &err));
    OK(dl_column_close(column, &err));
    FAILS(DL_CLOSED, dl_column_sizes(none, column, rows, 3, sizes, &err));
    OK(dl_view_close(view, &err));
    OK(dl_dataset_close(ds, &err));
}

static void arguments(const char* uri) {
    dl_dataset ds = make(uri), other = {0};
    dl_view view = {0};
    dl_buffer json = {0};
    OK(dl_dataset_view(none, ds, &view, &err));
    /* Handles that never were, of another kind, closed. */
    FAILS(DL_INVALID, dl_dataset_describe((dl_dataset){0}, &json, &err));
    FAILS(DL_INVALID, dl_dataset_describe((dl_dataset){~0ull}, &json, &err));
    FAILS(DL_INVALID, dl_dataset_describe((dl_dataset){view.id}, &json, &err));
    FAILS(DL_INVALID, dl_view_close((dl_view){ds.id}, &err));
    WANT(json.release == NULL);
    /* NULL and counts that lie. */
    FAILS(DL_INVALID, dl_dataset_open(none, uri, "", NULL, &err));
    FAILS(DL_INVALID, dl_dataset_delete_rows(none, ds, NULL, 1, &err));
    FAILS(DL_INVALID, dl_dataset_delete_rows(none, ds, NULL, -1, &err));
    FAILS(DL_INVALID, dl_dataset_delete_rows_of(none, ds, (dl_view){ds.id}, &err));
    FAILS(DL_INVALID, dl_dataset_update_rows_of(none, ds, view, NULL, 1, &err));
    dl_rows bad = {.tensor = "x", .n = 1, .data = NULL, .bytes = 8, .dtype = DL_INT32};
    FAILS(DL_INVALID, dl_dataset_append(none, ds, &bad, 1, 1, &err));
    bad =
        (dl_rows){.tensor = "x", .n = 1, .data = &bad, .bytes = 4, .ndim = 1000, .dtype = DL_INT32};
    FAILS(DL_INVALID, dl_dataset_append(none, ds, &bad, 1, 1, &err));
    dl_sample sample = {.form = 9};
    bad = (dl_rows){.tensor = "x", .n = 1, .samples = &sample, .samples_n = 1};
    FAILS(DL_INVALID, dl_dataset_append(none, ds, &bad, 1, 1, &err));
    WANT(dl_dataset_append(none, ds, &bad, 1, 1, NULL) == DL_INVALID);
    /* JSON that is none. */
    FAILS(DL_INVALID, dl_dataset_create_tensor(none, ds, "{\"name\": \"y\"} x", &err));
    FAILS(DL_INVALID, dl_dataset_create_tensor(none, ds, "{\"nam\": \"y\"}", &err));
    WANT(strstr(err.message, "did you mean \"name\"") != NULL);
    FAILS(DL_INVALID, dl_dataset_create_tensor(none, ds, "[1", &err));
    FAILS(DL_NOT_FOUND, dl_dataset_open(none, "mem://nothing", NULL, &other, &err));
    FAILS(DL_EXISTS, dl_dataset_create(none, uri, "", &other, &err));
    WANT(other.id == 0 && err.cause == 0);
    WANT(strstr(err.operation, "create") != NULL && strstr(err.object, uri) != NULL);
    WANT(err.retryable == DL_RETRY_NO && err.request_id[0] == 0 && err.flags == 0);
    /* A long message is cut and says so. */
    char longer[4096];
    memset(longer, 'y', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    WANT(dl_dataset_open(none, longer, "", &other, &err) != DL_OK);
    WANT((err.flags & DL_ERROR_TRUNCATED) && strlen(err.message) >= sizeof err.message - 4);
    /* Contexts. */
    dl_context ctx = {0};
    int32_t found = -1;
    OK(dl_context_new(0, &ctx, &err));
    OK(dl_dataset_exists(ctx, uri, NULL, &found, &err));
    WANT(found == 1);
    OK(dl_context_cancel(ctx, &err));
    OK(dl_context_close(ctx, &err));
    FAILS(DL_CLOSED, dl_dataset_exists(ctx, uri, NULL, &found, &err));
    /* Data is unchanged. */
    OK(dl_dataset_describe(ds, &json, &err));
    WANT(contains(&json, "\"rows\":10"));
    OK(dl_view_close(view, &err));
    OK(dl_dataset_close(ds, &err));
    FAILS(DL_CLOSED, dl_dataset_close(ds, &err));
    FAILS(DL_CLOSED, dl_dataset_describe(ds, &json, &err));
}

static void forked(const char* uri) {
    dl_dataset ds = make(uri);
    dl_view view = {0};
    dl_batch_export* batch = NULL;
    int64_t row = 0;
    OK(dl_dataset_view(none, ds, &view, &err));
    OK(dl_view_read(none, view, &row, 1, "{\"tensors\": [\"x\"]}", NULL, &batch, &err));
    pid_t pid = fork();
    if (pid == 0) {
        dl_buffer json = {0};
        alarm(20); /* a hang is a failure */
        FAILS(DL_FORKED, dl_dataset_describe(ds, &json, &err));
        FAILS(DL_FORKED, dl_dataset_close(ds, &err));
        WANT(dl_error_table(&json, NULL) == DL_FORKED);
        WANT(err.retryable == DL_RETRY_NO && strcmp(err.operation, "call the library") == 0);
        dl_batch_export_free(batch);
        WANT(dl_abi_version() >> 16 == DL_ABI_MAJOR && strlen(dl_version()) > 0);
        exit(0);
    }
    int status = 0;
    WANT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    dl_batch_export_free(batch);
    WANT(dl_memory_references() == 0);
    OK(dl_dataset_close(ds, &err));
}

static void panics(const char* where) {
    dl_buffer json = {0};
    OK(dl_error_table(&json, &err));
    WANT(contains(&json, "InvalidArgumentError"));
    FAILS(DL_INVALID, dl_test_panic("nowhere", &err));
    FAILS(DL_INTERNAL, dl_test_panic(where, &err));
    WANT(err.flags & DL_ERROR_POISONED);
    FAILS(DL_INTERNAL, dl_error_table(&json, &err));
    WANT((err.flags & DL_ERROR_POISONED) && strstr(err.message, "panic") != NULL &&
         json.release == NULL);
}

/* How twice fails. */
enum { WELL = 0, WITH_CAUSE, WITHOUT_WORDS, WITH_NO_STATUS, WITH_TOO_MANY_WORDS };

/* twice doubles int64 numbers; it fails if told so by self. */
static dl_status twice(void* self, dl_array_in* args, int64_t args_n, int64_t rows, dl_rows* out,
                       void** kept, dl_error* e) {
    switch (*(int*)self) {
        case WITH_CAUSE:
            e->status = DL_TYPE;
            e->cause = 17;
            memcpy(e->message, "no", 3);
            return DL_TYPE;
        case WITHOUT_WORDS:
            return DL_RANGE;
        case WITH_NO_STATUS:
            return 999;
        case WITH_TOO_MANY_WORDS:
            memset(e->message, 'a', sizeof e->message);
            return DL_RANGE;
    }
    const dl_array* a = &args[0];
    if (args_n != 1 || a->kind != DL_KIND_ARRAY || a->dtype != DL_INT64 || a->ndim != 1 ||
        a->shape[0] != rows)
        exit(3);
    int64_t* made = malloc((size_t)rows * sizeof *made);
    for (int64_t i = 0; i < rows; i++) made[i] = 2 * ((int64_t*)a->data)[i];
    *kept = made;
    *out = (dl_rows){
        .n = rows, .data = made, .bytes = rows * (int64_t)sizeof *made, .dtype = DL_INT64};
    return DL_OK;
}

static void done(void* self, void* kept) {
    (void)self;
    free(kept);
}

static void queries(const char* uri) {
    dl_dataset ds = make(uri);
    dl_view view = {0}, answer = {0}, part = {0};
    OK(dl_dataset_view(none, ds, &view, &err));
    dl_buffer json = {0};
    int fails = WELL;
    dl_function f = {
        .name = "twice", .dtype = DL_INT64, .self = &fails, .call = twice, .done = done};
    int64_t least = 15;
    dl_rows param = {
        .tensor = "", .n = 1, .data = &least, .bytes = sizeof least, .dtype = DL_INT64};
    const char* text = "SELECT t, TWICE(SUM(x)) AS y WHERE SUM(x) > ? ORDER BY y DESC";
    OK(dl_query(none, view, text, &param, 1, &f, 1, "{\"seed\": 3}", &answer, &json, &err));
    WANT(contains(&json, "\"name\":\"y\",\"type\":\"int64\",\"computed\":true"));
    int64_t n = 0, rows[8];
    OK(dl_view_len(answer, &n, &err));
    WANT(n == 8); /* sums are 3, 12, 21, ... */
    OK(dl_view_rows(answer, rows, n, &err));
    WANT(rows[0] == 9 && rows[7] == 2);
    int32_t outdated = 1;
    OK(dl_view_outdated(answer, "", -1, &outdated, &err));
    WANT(outdated == 0);
    int64_t one[] = {0};
    OK(dl_view_sources(none, answer, one, 1, &json, &err));
    WANT(contains(&json, "[null]"));
    OK(dl_view_slice(answer, 0, 2, 1, &part, &err));
    OK(dl_dataset_delete_rows_of(none, ds, part, &err));
    FAILS(DL_RANGE, dl_dataset_update_rows_of(none, ds, part, NULL, 0, &err));
    OK(dl_dataset_discard(none, ds, &err));
    OK(dl_dataset_update_rows_of(none, ds, part, NULL, 0, &err));
    OK(dl_query_explain(none, answer, "", NULL, 0, NULL, 0, "", &json, &err));
    WANT(contains(&json, "\"done\""));
    OK(dl_view_close(answer, &err));
    int64_t first[] = {0};
    dl_batch_export* batch = NULL;
    OK(dl_view_read(none, part, first, 1, "{\"tensors\": [\"y\"]}", NULL, &batch, &err));
    const dl_array* y = batch->arrays;
    WANT(batch->n == 1 && y->dtype == DL_INT64 && *(int64_t*)y->data == 2 * (27 + 28 + 29));
    dl_batch_export_free(batch);
    OK(dl_view_close(part, &err));

    fails = WITH_CAUSE;
    FAILS(DL_TYPE, dl_query(none, view, text, &param, 1, &f, 1, "", &answer, &json, &err));
    WANT(err.cause == 17);
    fails = WITHOUT_WORDS;
    FAILS(DL_RANGE, dl_query(none, view, text, &param, 1, &f, 1, "", &answer, &json, &err));
    WANT(strstr(err.message, "\"TWICE\"") != NULL &&
         strstr(err.message, "does not say why") != NULL);
    fails = WITH_NO_STATUS;
    FAILS(DL_INVALID, dl_query(none, view, text, &param, 1, &f, 1, "", &answer, &json, &err));
    fails = WITH_TOO_MANY_WORDS;
    FAILS(DL_RANGE, dl_query(none, view, text, &param, 1, &f, 1, "", &answer, &json, &err));
    fails = WELL;
    dl_function bad = f;
    bad.name = NULL;
    FAILS(DL_INVALID, dl_query(none, view, text, &param, 1, &bad, 1, "", &answer, &json, &err));
    bad = f, bad.ndim = 1;
    FAILS(DL_INVALID, dl_query(none, view, text, &param, 1, &bad, 1, "", &answer, &json, &err));
    bad = f, bad.dtype = DL_FLOAT16;
    FAILS(DL_TYPE, dl_query(none, view, text, &param, 1, &bad, 1, "", &answer, &json, &err));
    FAILS(DL_INVALID, dl_query(none, view, text, NULL, 0, &f, 1, "", &answer, &json, &err));
    FAILS(DL_INVALID, dl_query(none, view, text, &param, -1, &f, 1, "", &answer, &json, &err));
    FAILS(DL_INVALID, dl_query(none, view, text, &param, 1, NULL, 1, "", &answer, &json, &err));
    FAILS(DL_INVALID,
          dl_query(none, view, text, &param, 1, &f, 1, "{\"sead\": 1}", &answer, &json, &err));
    FAILS(DL_INVALID, dl_query(none, view, "SELECT", NULL, 0, NULL, 0, "", &answer, &json, &err));
    FAILS(DL_INVALID, dl_query(none, view, "SELECT x", NULL, 0, NULL, 0, "", NULL, &json, &err));
    FAILS(DL_CLOSED, dl_query(none, part, "SELECT x", NULL, 0, NULL, 0, "", &answer, &json, &err));
    f.call = NULL;
    FAILS(DL_INVALID, dl_query(none, view, text, &param, 1, &f, 1, "", &answer, &json, &err));
    WANT(json.release == NULL);
    const char* environ_json =
        "{\"environ\":{\"HOME\":\"/home/c\",\"DEEPLAKE_ROOTS\":\"acme=mem://acme\"}}";
    OK(dl_uri_resolve("deeplake://acme/x", environ_json, &json, &err));
    WANT(contains(&json, "mem://acme/x"));
    OK(dl_uri_root("deeplake://acme/", environ_json, &json, &err));
    WANT(contains(&json, "{\"org\":\"acme\",\"root\":\"mem://acme\"}"));
    OK(dl_uri_orgs(environ_json, &json, &err));
    WANT(contains(&json, "[\"acme\"]"));
    FAILS(DL_INVALID, dl_uri_resolve("deeplake://acme", environ_json, &json, &err));
    OK(dl_query_check_function("mine", &err));
    FAILS(DL_EXISTS, dl_query_check_function("sum", &err));
    OK(dl_query_parameters("SELECT :a + :b WHERE :a", &json, &err));
    WANT(contains(&json, "[\"a\",\"b\"]"));
    FAILS(DL_INVALID, dl_query_parameters("SELECT :a, ?", &json, &err));
    OK(dl_query_functions(&json, &err));
    WANT(contains(&json, "\"COSINE_SIMILARITY\""));
    dl_context gone = {0};
    OK(dl_context_new(0, &gone, &err));
    OK(dl_context_cancel(gone, &err));
    FAILS(DL_CANCELED,
          dl_query(gone, view, "SELECT SUM(x) AS y", NULL, 0, NULL, 0, "", &answer, &json, &err));
    OK(dl_context_close(gone, &err));

    OK(dl_query(none, view, "SELECT x WHERE SUM(x) > 60", NULL, 0, NULL, 0, "", &answer, &json,
                &err));
    WANT(contains(&json, "\"query\""));
    OK(dl_dataset_save_view(none, ds, answer, "large", "", &err));
    FAILS(DL_EXISTS, dl_dataset_save_view(none, ds, answer, "large", "", &err));
    OK(dl_view_close(answer, &err));
    OK(dl_dataset_load_view(none, ds, "large", NULL, 0, NULL, 0, "", &answer, &json, &err));
    WANT(strstr(json.data, "\"query\"") == NULL && contains(&json, "\"uri\""));
    OK(dl_view_len(answer, &n, &err));
    WANT(n == 3);
    OK(dl_view_materialize(none, answer, "mem://copy", "", &err));
    FAILS(DL_EXISTS, dl_view_materialize(none, answer, "mem://copy", "", &err));
    OK(dl_view_close(answer, &err));

    /* Saved with its computed columns: asked again, with the functions still registered. */
    text = "SELECT TWICE(SUM(x)) AS y";
    f.call = twice;
    OK(dl_query(none, view, text, NULL, 0, &f, 1, "", &answer, &json, &err));
    WANT(strstr(json.data, "\"origin\"") == NULL && contains(&json, "\"uri\""));
    OK(dl_dataset_save_view(none, ds, answer, "again", "", &err));
    OK(dl_view_close(answer, &err));
    FAILS(DL_NOT_FOUND,
          dl_dataset_load_view(none, ds, "again", NULL, 0, NULL, 0, "", &answer, &json, &err));
    fails = WITHOUT_WORDS;
    FAILS(DL_RANGE,
          dl_dataset_load_view(none, ds, "again", NULL, 0, &f, 1, "", &answer, &json, &err));
    fails = WELL;
    OK(dl_dataset_load_view(none, ds, "again", NULL, 0, &f, 1, "", &answer, &json, &err));
    WANT(contains(&json, "\"outputs\":[{\"name\":\"y\""));
    OK(dl_view_close(answer, &err));
    /* All rows of another dataset. */
    OK(dl_query(none, view, "SELECT * FROM \"mem://copy\"", NULL, 0, NULL, 0, "", &answer, &json,
                &err));
    WANT(contains(&json, "\"origin\":\"mem://copy\""));
    OK(dl_view_close(answer, &err));
    OK(dl_view_close(view, &err));
    OK(dl_dataset_close(ds, &err));
}

static void versions(const char* uri) {
    dl_dataset ds = make(uri);
    dl_buffer json = {0};
    OK(dl_dataset_create_branch(none, ds, "work", "", &err));
    FAILS(DL_EXISTS, dl_dataset_create_branch(none, ds, "work", "", &err));
    OK(dl_dataset_checkout(none, ds, "work", 0, &err));
    OK(dl_dataset_branches(none, ds, &json, &err));
    WANT(contains(&json, "\"name\":\"work\""));
    OK(dl_dataset_create_tag(none, ds, "v1", "", "the first", &json, &err));
    WANT(contains(&json, "\"message\":\"the first\""));
    OK(dl_dataset_tags(none, ds, &json, &err));
    WANT(contains(&json, "\"name\":\"v1\""));
    FAILS(DL_INVALID, dl_dataset_change_classes(none, ds, "t", "{\"remove\": \"cat\"}", &err));
    OK(dl_dataset_rename_tensor(none, ds, "t", "text", &err));
    OK(dl_dataset_commit(none, ds, "renamed", &json, &err));
    json.release(&json);
    OK(dl_dataset_diff(none, ds, "v1", "", &json, &err));
    WANT(contains(&json, "\"old_name\":\"t\""));
    OK(dl_dataset_checkout(none, ds, "main", 0, &err));
    int32_t merged = -1;
    FAILS(DL_INVALID, dl_dataset_merge(none, ds, "work", "both", "", &merged, &json, &err));
    OK(dl_dataset_merge(none, ds, "work", "ours", "take it", &merged, &json, &err));
    WANT(merged == 1 && contains(&json, "\"message\":\"take it\""));
    OK(dl_dataset_merge(none, ds, "work", "", "", &merged, &json, &err));
    WANT(merged == 0);
    json.release(&json);
    OK(dl_dataset_history(none, ds, 0, 0, &json, &err));
    WANT(contains(&json, "\"change\":\"added\""));
    FAILS(DL_RANGE, dl_dataset_history(none, ds, 1 << 20, 0, &json, &err));
    const int64_t named[] = {1, 0};
    OK(dl_dataset_row_names(none, ds, named, 2, &json, &err));
    WANT(contains(&json, ":1\",\""));
    int32_t done = -1;
    FAILS(DL_NOT_FOUND, dl_dataset_restore(none, ds, "v2", "", &done, &json, &err));
    OK(dl_dataset_restore(none, ds, "v1", "take it back", &done, &json, &err));
    WANT(done == 1 && contains(&json, "\"message\":\"take it back\""));
    OK(dl_dataset_restore(none, ds, "v1", "", &done, &json, &err));
    WANT(done == 0);
    json.release(&json);
    FAILS(DL_INVALID, dl_dataset_revert(none, ds, "main", "both", "", &done, &json, &err));
    OK(dl_dataset_revert(none, ds, "main", "", "", &done, &json, &err));
    WANT(done == 1 && contains(&json, "\"message\":\"revert version"));
    OK(dl_dataset_checkout(none, ds, "v1", 0, &err));
    FAILS(DL_READ_ONLY, dl_dataset_revert(none, ds, "main", "", "", &done, &json, &err));
    OK(dl_dataset_checkout(none, ds, "main", 0, &err));
    OK(dl_dataset_graph(none, ds, 2, 1, &json, &err));
    WANT(contains(&json, "\"parents\""));
    OK(dl_dataset_delete_tensor(none, ds, "text", &err));
    OK(dl_dataset_discard(none, ds, &err));
    OK(dl_dataset_views(none, ds, &json, &err));
    json.release(&json);
    FAILS(DL_NOT_FOUND, dl_dataset_delete_view(none, ds, "no", &err));
    OK(dl_dataset_delete_tag(none, ds, "v1", &err));
    OK(dl_dataset_delete_branch(none, ds, "work", &err));

    dl_rechunk_report rechunked = {0};
    const char* tensors[] = {"x"};
    OK(dl_dataset_rechunk(none, ds, tensors, 1, 0, 1, "", &rechunked, &json, &err));
    WANT(rechunked.rows == ROWS && contains(&json, "\"commit\""));
    FAILS(DL_INVALID, dl_dataset_rechunk(none, ds, NULL, 1, 0, 0, "", &rechunked, &json, &err));
    dl_gc_report removed = {0};
    double age = 0, before = -1;
    int64_t last = 0;
    FAILS(DL_INVALID, dl_dataset_gc(none, ds, &before, NULL, NULL, 1, &removed, &err));
    FAILS(DL_INVALID, dl_dataset_gc(none, ds, &age, &age, &last, 1, &removed, &err));
    OK(dl_dataset_gc(none, ds, &age, NULL, NULL, 1, &removed, &err));
    WANT(removed.commits > 0 && removed.kept > 0);
    OK(dl_dataset_fsck(none, ds, 1, 0, &json, &err));
    WANT(contains(&json, "\"problems\":[]"));
    dl_copy_report copied = {0};
    OK(dl_dataset_copy_to(none, ds, "mem://copied", 0, "", "", &copied, &err));
    WANT(copied.commits == 1 && copied.objects > 0);
    FAILS(DL_EXISTS, dl_dataset_copy(none, uri, "mem://copied", "", &copied, &err));
    dl_progress progress = {0};
    OK(dl_dataset_progress(ds, &progress, &err));
    WANT(progress.items > 0);
    FAILS(DL_INVALID, dl_dataset_progress(ds, NULL, &err));
    OK(dl_dataset_close(ds, &err));
}

/* Threads use and close the same handles. */
static dl_dataset shared;
static dl_view asked;

static void* use(void* unused) {
    for (int i = 0; i < 200; i++) {
        dl_error e;
        dl_view view = {0};
        if (dl_dataset_view(none, shared, &view, &e) == DL_OK) {
            int64_t n = 0;
            dl_view_len(view, &n, &e);
            dl_view_close(view, &e);
        } else if (e.status != DL_CLOSED) {
            fprintf(stderr, "status %d: %s\n", e.status, e.message);
            exit(1);
        }
    }
    return unused;
}

static void* close_asked(void* unused) {
    dl_error e;
    if (dl_view_close(asked, &e) != DL_OK) exit(1);
    return unused;
}

/* A view is closed during a call: either the call is refused, or its answer can be read. */
/* fragment_of runs a task that appends one row, and returns its fragment. */
static char* fragment_of(const char* uri, const char* token, const char* key) {
    dl_dataset ds = {0};
    dl_buffer json = {0};
    OK(dl_task_open(none, uri, token, key, "", &ds, &err));
    int32_t x[WIDTH] = {7, 8, 9};
    int64_t shape[] = {WIDTH};
    dl_sample hole = {.form = DL_FORM_HOLE};
    dl_rows columns[] = {
        {.tensor = "x",
         .n = 1,
         .data = x,
         .bytes = sizeof x,
         .shape = shape,
         .ndim = 1,
         .dtype = DL_INT32},
        {.tensor = "t", .n = 1, .samples = &hole, .samples_n = 1},
    };
    OK(dl_dataset_append(none, ds, columns, 2, 1, &err));
    FAILS(DL_INVALID, dl_dataset_commit(none, ds, "", &json, &err));
    OK(dl_dataset_fragment(none, ds, &json, &err));
    char* out = strdup(json.data);
    json.release(&json);
    FAILS(DL_INVALID, dl_dataset_append(none, ds, columns, 2, 1, &err));
    OK(dl_dataset_close(ds, &err));
    return out;
}

static void distributed(const char* uri) {
    dl_dataset ds = make(uri);
    dl_buffer json = {0}, token = {0};
    const double no_time = 0, minute = 60;
    FAILS(DL_INVALID, dl_dataset_begin_write(none, ds, &no_time, &token, &err));
    FAILS(DL_INVALID, dl_dataset_begin_write(none, ds, &minute, NULL, &err));
    OK(dl_dataset_begin_write(none, ds, &minute, &token, &err));
    FAILS(DL_INVALID, dl_task_open(none, uri, token.data, "", "", &ds, &err));
    FAILS(DL_INVALID, dl_task_open(none, uri, "{}", "a", "", &ds, &err));
    FAILS(DL_INVALID, dl_dataset_fragment(none, ds, &json, &err));
    char* parts[] = {fragment_of(uri, token.data, "a"), fragment_of(uri, token.data, "b"),
                     fragment_of(uri, token.data, "a")};
    const char* list[] = {parts[1], parts[0], parts[2]};
    FAILS(DL_INVALID, dl_dataset_commit_fragments(none, ds, token.data, list, 3, "{\"unknown\": 1}",
                                                  &json, &err));
    FAILS(DL_INVALID, dl_dataset_commit_fragments(none, ds, token.data, NULL, 3, "", &json, &err));
    OK(dl_dataset_commit_fragments(none, ds, token.data, list, 3, "{\"message\": \"two tasks\"}",
                                   &json, &err));
    WANT(contains(&json, "\"version\":2"));
    OK(dl_dataset_commit_fragments(none, ds, token.data, list, 3, "", &json, &err));
    WANT(contains(&json, "\"message\":\"two tasks\""));
    FAILS(DL_CONFLICT, dl_dataset_commit_fragments(none, ds, token.data, list, 1, "", &json, &err));
    OK(dl_dataset_end_write(none, ds, token.data, &err));
    FAILS(DL_RANGE, dl_dataset_rechunk_rows(none, ds, "{\"start\": 5, \"stop\": 99}", &json, &err));
    OK(dl_dataset_rechunk_rows(none, ds, "{\"stop\": 12, \"tensors\": [\"x\"]}", &json, &err));
    WANT(contains(&json, "\"version\":3"));
    OK(dl_dataset_set_info(none, ds, "{\"a\": 1}", &err));
    OK(dl_dataset_commit_once(none, ds, "once", "job 1", &json, &err));
    WANT(contains(&json, "\"version\":4"));
    OK(dl_dataset_set_info(none, ds, "{\"a\": 2}", &err));
    OK(dl_dataset_commit_once(none, ds, "twice", "job 1", &json, &err));
    WANT(contains(&json, "\"message\":\"once\""));
    for (int i = 0; i < 3; i++) free(parts[i]);
    token.release(&token);
    OK(dl_dataset_close(ds, &err));
}

static void asked_and_closed(const char* uri) {
    char text[600];
    snprintf(text, sizeof text, "SELECT x, SUM(x) AS y FROM \"%s\"", uri);
    for (int i = 0; i < 200; i++) {
        dl_view answer = {0}, part = {0};
        dl_buffer json = {0};
        OK(dl_query(none, (dl_view){0}, text, NULL, 0, NULL, 0, "", &asked, &json, &err));
        json.release(&json);
        pthread_t closer;
        WANT(pthread_create(&closer, NULL, close_asked, NULL) == 0);
        dl_status s = dl_view_slice(asked, 0, 2, 1, &part, &err);
        WANT(s == DL_OK || s == DL_CLOSED);
        dl_status q = dl_query(none, asked, "SELECT x, y WHERE y > 5", NULL, 0, NULL, 0, "",
                               &answer, &json, &err);
        WANT(q == DL_OK || q == DL_CLOSED);
        WANT(pthread_join(closer, NULL) == 0);
        dl_view opened[] = {s == DL_OK ? part : (dl_view){0}, q == DL_OK ? answer : (dl_view){0}};
        for (int k = 0; k < 2; k++) {
            if (opened[k].id == 0) continue;
            int64_t first[] = {0};
            dl_batch_export* batch = NULL;
            OK(dl_view_read(none, opened[k], first, 1, "{\"tensors\": [\"x\"]}", NULL, &batch,
                            &err));
            dl_batch_export_free(batch);
            OK(dl_view_close(opened[k], &err));
        }
        if (q == DL_OK) json.release(&json);
    }
}

static void threads(const char* uri) {
    pthread_t all[4];
    shared = make(uri);
    for (int i = 0; i < 4; i++) WANT(pthread_create(&all[i], NULL, use, NULL) == 0);
    OK(dl_dataset_close(shared, &err));
    for (int i = 0; i < 4; i++) WANT(pthread_join(all[i], NULL) == 0);
    asked_and_closed(uri);
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(const char*);
    } cases[] = {{"batches", batches},   {"loader", loader},          {"exports", exports},
                 {"stored", stored},     {"arguments", arguments},    {"queries", queries},
                 {"versions", versions}, {"forked", forked},          {"threads", threads},
                 {"panic", panics},      {"distributed", distributed}};
    for (size_t i = 0; argc == 3 && i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run(argv[2]);
            return 0;
        }
    }
    fprintf(stderr, "usage: abi CASE URI\n");
    return 2;
}
