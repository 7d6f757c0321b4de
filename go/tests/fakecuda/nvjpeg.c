/* nvJPEG for tests. It decodes nothing: a file becomes fake_cuda_pixel. A file with the comment
 * "refuse" is refused. There is a hardware engine if FAKE_NVJPEG_HARDWARE is set. That one works on
 * a stream of its own, which waits for no other, as on an H200. */
#define _GNU_SOURCE
#include "fake.h"

#include <stdlib.h>
#include <string.h>

enum { INVALID_PARAMETER = 2, BAD_JPEG = 3, ARCH_MISMATCH = 7, HARDWARE = 3 };

typedef struct {
    context* of;
    bool live;
} handle;

typedef struct {
    handle* of;
    int count, format;
    bool live;
    struct stream* own; /* NULL: it decodes in the order of the caller's stream */
} state;

static int handles, states;

int fake_nvjpeg_left(void) { return handles + states; }

void fake_clear_nvjpeg(void) { handles = states = 0; }

int nvjpegCreateEx(int backend, void* device, void* pinned, unsigned flags, handle** out) {
    int code = fake_enter("nvjpegCreateEx", false);
    if (code != OK) return code;
    if (device != NULL || pinned != NULL || flags != 0)
        fake_violation("nvjpegCreateEx: allocators or flags");
    if (backend == HARDWARE && getenv("FAKE_NVJPEG_HARDWARE") == NULL)
        return fake_leave(ARCH_MISMATCH);
    *out = calloc(1, sizeof **out); /* never freed: its use afterwards is noted */
    **out = (handle){fake_current(), true};
    handles++;
    return fake_leave(OK);
}

static bool usable(handle* h, const char* call) {
    if (h != NULL && h->live && h->of == fake_current()) return true;
    fake_violation("%s: no such handle, or in another context", call);
    return false;
}

int nvjpegDestroy(handle* h) {
    int code = fake_enter("nvjpegDestroy", false);
    if (code != OK) return code;
    if (!usable(h, "nvjpegDestroy")) return fake_leave(INVALID_PARAMETER);
    h->live = false;
    handles--;
    return fake_leave(OK);
}

int nvjpegJpegStateCreate(handle* h, state** out) {
    int code = fake_enter("nvjpegJpegStateCreate", false);
    if (code != OK) return code;
    if (!usable(h, "nvjpegJpegStateCreate")) return fake_leave(INVALID_PARAMETER);
    *out = calloc(1, sizeof **out);
    **out = (state){.of = h, .live = true};
    if (getenv("FAKE_NVJPEG_HARDWARE") != NULL) (*out)->own = fake_own_stream();
    states++;
    return fake_leave(OK);
}

int nvjpegJpegStateDestroy(state* s) {
    int code = fake_enter("nvjpegJpegStateDestroy", false);
    if (code != OK) return code;
    if (!s->live || !s->of->live) fake_violation("nvjpegJpegStateDestroy: after its handle");
    s->live = false;
    if (s->own != NULL) fake_drop_stream(s->own);
    s->own = NULL;
    states--;
    return fake_leave(OK);
}

int nvjpegDecodeBatchedInitialize(handle* h, state* s, int count, int threads, int format) {
    int code = fake_enter("nvjpegDecodeBatchedInitialize", false);
    if (code != OK) return code;
    if (!usable(h, "nvjpegDecodeBatchedInitialize") || count < 1 || threads < 1 ||
        (format != 2 && format != 5))
        return fake_leave(INVALID_PARAMETER);
    s->count = count;
    s->format = format;
    return fake_leave(OK);
}

/* Finds the size of a file. Returns 0 for one that is refused. */
static int read_header(const unsigned char* p, size_t size, unsigned* width, unsigned* height) {
    for (size_t at = 2; at + 9 < size && p[at] == 0xff && p[at + 1] != 0xda;
         at += 2 + ((size_t)p[at + 2] << 8 | p[at + 3])) {
        if (p[at + 1] == 0xfe && memcmp(p + at + 4, "refuse", 6) == 0) return 0;
        if (p[at + 1] == 0xc0) {
            *height = (unsigned)p[at + 5] << 8 | p[at + 6];
            *width = (unsigned)p[at + 7] << 8 | p[at + 8];
            return 1;
        }
    }
    return 0;
}

typedef struct {
    unsigned char* channel[4];
    size_t pitch[4];
} image;

int nvjpegDecodeBatched(handle* h, state* s, const unsigned char* const* files, const size_t* sizes,
                        image* images, void* stream) {
    int code = fake_enter("nvjpegDecodeBatched", false);
    if (code != OK) return code;
    if (!usable(h, "nvjpegDecodeBatched") || !s->live) return fake_leave(INVALID_PARAMETER);
    if (s->count == 0) fake_violation("nvjpegDecodeBatched: before its initialization");
    for (int i = 0; i < s->count && code == OK; i++) {
        unsigned width = 0, height = 0, channels = s->format == 5 ? 3 : 1;
        if (!read_header(files[i], sizes[i], &width, &height)) return fake_leave(BAD_JPEG);
        if (images[i].pitch[0] != (size_t)width * channels ||
            !fake_device_memory((uintptr_t)images[i].channel[0],
                                (size_t)width * channels * height)) {
            fake_violation("nvjpegDecodeBatched: file %d, %u x %u, to rows of %zu bytes", i, height,
                           width, images[i].pitch[0]);
            return fake_leave(INVALID_PARAMETER);
        }
        code = fake_push_decode(s->own != NULL ? s->own : stream, files[i], sizes[i],
                                images[i].channel[0], width * channels, height);
    }
    if (s->own != NULL && code == OK) code = fake_await(stream, s->own);
    return fake_leave(code);
}
