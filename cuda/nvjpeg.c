#include "device.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { ALLOCATOR_FAILURE = 5 };                    /* nvjpegStatus_t */
enum { GPU_HYBRID = 2, HARDWARE = 3 };             /* nvjpegBackend_t */
enum { OUTPUT_Y = 2, OUTPUT_RGB_INTERLEAVED = 5 }; /* nvjpegOutputFormat_t */

int dli_nvjpeg_open(dli_nvjpeg* n, const dli_nvjpeg_calls* calls) {
    n->call = *calls;
    int code = n->call.create(HARDWARE, NULL, NULL, 0, &n->handle);
    if (code != 0) code = n->call.create(GPU_HYBRID, NULL, NULL, 0, &n->handle);
    for (int i = 0; i < 2 && code == 0; i++) code = n->call.state_create(n->handle, &n->states[i]);
    if (code != 0) dli_nvjpeg_close(n);
    return code;
}

void dli_nvjpeg_close(dli_nvjpeg* n) {
    for (int i = 0; i < 2; i++)
        if (n->states[i] != NULL) n->call.state_destroy(n->states[i]);
    if (n->handle != NULL) n->call.destroy(n->handle);
    free(n->images);
    free(n->data);
    free(n->sizes);
    memset(n, 0, sizeof *n);
}

static int reserve(dli_nvjpeg* n, size_t count) {
    if (n->room >= count) return 0;
    free(n->images);
    free(n->data);
    free(n->sizes);
    n->images = calloc(count, sizeof *n->images);
    n->data = calloc(count, sizeof *n->data);
    n->sizes = calloc(count, sizeof *n->sizes);
    n->room = n->images && n->data && n->sizes ? count : 0;
    return n->room == 0 ? ALLOCATOR_FAILURE : 0;
}

/* Decodes the files of one number of channels. */
static int decode_alike(dli_nvjpeg* n, const dli_nvjpeg_file* files, size_t count,
                        uint32_t channels, void* stream) {
    int k = channels == 3, used = 0;
    for (size_t i = 0; i < count; i++) {
        const dli_nvjpeg_file* f = &files[i];
        if (f->channels != channels) continue;
        n->data[used] = f->data;
        n->sizes[used] = f->size;
        memset(&n->images[used], 0, sizeof n->images[used]);
        n->images[used].channel[0] = (unsigned char*)(uintptr_t)f->pixels;
        n->images[used].pitch[0] = (size_t)f->width * channels;
        used++;
    }
    if (used == 0) return 0;
    if (n->counts[k] != used) {
        n->counts[k] = 0;
        int code = n->call.batch_initialize(n->handle, n->states[k], used, 1,
                                            k ? OUTPUT_RGB_INTERLEAVED : OUTPUT_Y);
        if (code != 0) return code;
        n->counts[k] = used;
    }
    return n->call.batch_decode(n->handle, n->states[k], n->data, n->sizes, n->images, stream);
}

int dli_nvjpeg_decode(dli_nvjpeg* n, const dli_nvjpeg_file* files, size_t count, void* stream) {
    if (count > INT_MAX) return ALLOCATOR_FAILURE;
    int code = reserve(n, count);
    if (code == 0) code = decode_alike(n, files, count, 1, stream);
    if (code == 0) code = decode_alike(n, files, count, 3, stream);
    /* What a state holds after a failure is not known. */
    if (code != 0) n->counts[0] = n->counts[1] = 0;
    return code;
}
