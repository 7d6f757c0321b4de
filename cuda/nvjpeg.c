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
    for (int i = 0; i < DLI_NVJPEG_DECODERS; i++)
        for (int k = 0; k < 2 && code == 0; k++)
            code = n->call.state_create(n->handle, &n->decoders[i].states[k]);
    if (code != 0) dli_nvjpeg_close(n);
    return code;
}

static void free_lists(dli_nvjpeg_decoder* d) {
    free(d->images);
    free(d->data);
    free(d->sizes);
}

void dli_nvjpeg_close(dli_nvjpeg* n) {
    for (int i = 0; i < DLI_NVJPEG_DECODERS; i++) {
        dli_nvjpeg_decoder* d = &n->decoders[i];
        for (int k = 0; k < 2; k++)
            if (d->states[k] != NULL) n->call.state_destroy(d->states[k]);
        free_lists(d);
    }
    if (n->handle != NULL) n->call.destroy(n->handle);
    memset(n, 0, sizeof *n);
}

static int reserve(dli_nvjpeg_decoder* d, size_t count) {
    if (d->room >= count) return 0;
    free_lists(d);
    d->images = calloc(count, sizeof *d->images);
    d->data = calloc(count, sizeof *d->data);
    d->sizes = calloc(count, sizeof *d->sizes);
    d->room = d->images && d->data && d->sizes ? count : 0;
    return d->room == 0 ? ALLOCATOR_FAILURE : 0;
}

/* Decodes the files of one number of channels. */
static int decode_alike(dli_nvjpeg* n, dli_nvjpeg_decoder* d, const dli_nvjpeg_file* files,
                        size_t count, uint32_t channels, void* stream) {
    int k = channels == 3, used = 0;
    for (size_t i = 0; i < count; i++) {
        const dli_nvjpeg_file* f = &files[i];
        if (f->channels != channels) continue;
        d->data[used] = f->data;
        d->sizes[used] = f->size;
        memset(&d->images[used], 0, sizeof d->images[used]);
        d->images[used].channel[0] = (unsigned char*)(uintptr_t)f->pixels;
        d->images[used].pitch[0] = (size_t)f->width * channels;
        used++;
    }
    if (used == 0) return 0;
    if (d->counts[k] != used) {
        d->counts[k] = 0;
        int code = n->call.batch_initialize(n->handle, d->states[k], used, 1,
                                            k ? OUTPUT_RGB_INTERLEAVED : OUTPUT_Y);
        if (code != 0) return code;
        d->counts[k] = used;
    }
    return n->call.batch_decode(n->handle, d->states[k], d->data, d->sizes, d->images, stream);
}

int dli_nvjpeg_decode(dli_nvjpeg* n, int decoder, const dli_nvjpeg_file* files, size_t count,
                      void* stream) {
    dli_nvjpeg_decoder* d = &n->decoders[decoder];
    if (count > INT_MAX) return ALLOCATOR_FAILURE;
    int code = reserve(d, count);
    if (code == 0) code = decode_alike(n, d, files, count, 1, stream);
    if (code == 0) code = decode_alike(n, d, files, count, 3, stream);
    /* What a state holds after a failure is not known. */
    if (code != 0) d->counts[0] = d->counts[1] = 0;
    return code;
}
