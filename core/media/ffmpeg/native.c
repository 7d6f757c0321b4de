//go:build cgo && linux

#include "native.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Places of fields that are the same in libavcodec 58 to 63. */
enum {
    FRAME_DATA = 0,
    FRAME_STRIDE = 64,
    FRAME_WIDTH = 104,
    FRAME_HEIGHT = 108,
    FRAME_FORMAT = 116,
    FRAME_TIME = 136,
    PACKET_TIME = 8,
    PACKET_DECODE_TIME = 16,
    PACKET_DATA = 24,
    PACKET_SIZE = 32,
    PARAMETERS_TYPE = 0,
    PARAMETERS_CODEC = 4,
    PARAMETERS_SETUP = 16,
    PARAMETERS_SETUP_SIZE = 24,
    CODEC_TYPE = 16,
    CODEC_ID = 20,
    OPTION_PLACE = 16,
};

enum {
    PADDING = 64, /* zeros behind all input */
    END = -('E' | 'O' << 8 | 'F' << 16 | ' ' << 24),
    LOG_QUIET = -8,
    LOG_INFO = 32,
};

#define NO_TIME INT64_MIN

static void* at(void* object, int place) { return (char*)object + place; }

static int int_at(void* object, int place) {
    int n;
    memcpy(&n, at(object, place), sizeof n);
    return n;
}

static int64_t long_at(void* object, int place) {
    int64_t n;
    memcpy(&n, at(object, place), sizeof n);
    return n;
}

static unsigned char* pointer_at(void* object, int place) {
    unsigned char* p;
    memcpy(&p, at(object, place), sizeof p);
    return p;
}

static void set_int(void* object, int place, int n) { memcpy(at(object, place), &n, sizeof n); }

/* ---- Checks ---- */

/* Lets the library allocate a picture, and checks the fields that it sets. */
static int frame_fits(const dli_ffmpeg_calls* c) {
    enum { WIDTH = 322, HEIGHT = 66 };
    void* f = c->frame_alloc();
    if (f == NULL) return 0;
    int fits = long_at(f, FRAME_TIME) == NO_TIME && int_at(f, FRAME_FORMAT) == -1 &&
               int_at(f, FRAME_WIDTH) == 0 && int_at(f, FRAME_HEIGHT) == 0 &&
               pointer_at(f, FRAME_DATA) == NULL && int_at(f, FRAME_STRIDE) == 0;
    if (fits) {
        set_int(f, FRAME_WIDTH, WIDTH);
        set_int(f, FRAME_HEIGHT, HEIGHT);
        set_int(f, FRAME_FORMAT, c->get_pix_fmt("yuv420p10le"));
        fits = c->frame_get_buffer(f, 32) == 0;
    }
    for (int i = 0; fits && i < 8; i++) {
        unsigned char* data = pointer_at(f, FRAME_DATA + 8 * i);
        const int stride = int_at(f, FRAME_STRIDE + 4 * i);
        const int row = i == 0 ? 2 * WIDTH : WIDTH;
        if (i < 3) {
            fits = data != NULL && stride >= row && stride < 4 * WIDTH;
            /* The last row is ours to write. */
            if (fits) memset(data + (size_t)stride * ((i == 0 ? HEIGHT : HEIGHT / 2) - 1), 1, row);
        } else {
            fits = data == NULL && stride == 0;
        }
    }
    c->frame_free(&f);
    return fits;
}

static int packet_fits(const dli_ffmpeg_calls* c) {
    enum { SIZE = 1003 };
    void* p = c->packet_alloc();
    if (p == NULL) return 0;
    int fits = long_at(p, PACKET_TIME) == NO_TIME && long_at(p, PACKET_DECODE_TIME) == NO_TIME &&
               pointer_at(p, PACKET_DATA) == NULL && int_at(p, PACKET_SIZE) == 0;
    fits = fits && c->new_packet(p, SIZE) == 0 && int_at(p, PACKET_SIZE) == SIZE &&
           pointer_at(p, PACKET_DATA) != NULL && long_at(p, PACKET_TIME) == NO_TIME;
    if (fits) memset(pointer_at(p, PACKET_DATA), 1, SIZE);
    c->packet_free(&p);
    return fits;
}

/* Takes the parameters of a context, which has those of its codec. */
static int parameters_fit(const dli_ffmpeg_calls* c) {
    void* codec = c->find_decoder("mjpeg");
    if (codec == NULL) codec = c->find_decoder("h264");
    if (codec == NULL) return 0;
    void* context = c->alloc_context(codec);
    void* p = c->parameters_alloc();
    int fits = context != NULL && p != NULL && int_at(p, PARAMETERS_TYPE) == -1 &&
               c->parameters_from_context(p, context) >= 0 &&
               int_at(p, PARAMETERS_TYPE) == int_at(codec, CODEC_TYPE) &&
               int_at(p, PARAMETERS_CODEC) == int_at(codec, CODEC_ID) &&
               pointer_at(p, PARAMETERS_SETUP) == NULL && int_at(p, PARAMETERS_SETUP_SIZE) == 0;
    if (p != NULL) c->parameters_free(&p);
    if (context != NULL) c->free_context(&context);
    return fits;
}

/* Finds the colors of contexts: an option tells the place of its field. */
static int find_colors(dli_ffmpeg_library* l) {
    static const char* const names[] = {"colorspace", "color_range", "color_primaries", "color_trc",
                                        "chroma_sample_location"};
    enum { FAR = 1 << 14 };
    const dli_ffmpeg_calls* c = &l->calls;
    void* context = c->alloc_context(NULL);
    int fits = context != NULL;
    for (int i = 0; fits && i < DLI_FFMPEG_COLORS; i++) {
        const void* option = c->opt_find(context, names[i], NULL, 0, 0);
        const int place = option == NULL ? 0 : int_at((void*)option, OPTION_PLACE);
        fits = place > 0 && place < FAR && place % (int)sizeof(int) == 0;
        for (int value = 3; fits && value > 0; value--)
            fits =
                c->opt_set_int(context, names[i], value, 0) == 0 && int_at(context, place) == value;
        l->colors[i] = place;
    }
    if (context != NULL) c->free_context(&context);
    return fits;
}

const char* dli_ffmpeg_check(dli_ffmpeg_library* l) {
    if (!frame_fits(&l->calls)) return "AVFrame";
    if (!packet_fits(&l->calls)) return "AVPacket";
    if (!parameters_fit(&l->calls)) return "AVCodecParameters";
    if (!find_colors(l)) return "AVOption";
    return NULL;
}

void dli_ffmpeg_quiet(const dli_ffmpeg_calls* c) {
    if (c->log_get_level() == LOG_INFO) c->log_set_level(LOG_QUIET);
}

/* ---- Decoders ---- */

struct dli_ffmpeg_decoder {
    dli_ffmpeg_calls calls;
    int colors[DLI_FFMPEG_COLORS];
    void* context;
    void* packet;
    void* frame;
};

/* Gives the context its codec and setup. */
static int configure(dli_ffmpeg_decoder* d, const void* codec, const dli_ffmpeg_options* options) {
    const dli_ffmpeg_calls* c = &d->calls;
    void* p = c->parameters_alloc();
    if (p == NULL) return -ENOMEM;
    int status = c->parameters_from_context(p, d->context);
    if (status >= 0 && options->setup_size > 0) {
        unsigned char* setup = options->setup_size > INT_MAX - PADDING
                                   ? NULL
                                   : c->mallocz(options->setup_size + PADDING);
        if (setup == NULL) {
            status = -ENOMEM;
        } else { /* parameters_free frees it */
            memcpy(setup, options->setup, options->setup_size);
            memcpy(at(p, PARAMETERS_SETUP), &setup, sizeof setup);
            set_int(p, PARAMETERS_SETUP_SIZE, (int)options->setup_size);
        }
    }
    if (status >= 0) status = c->parameters_to_context(d->context, p);
    c->parameters_free(&p);
    if (status >= 0) status = c->opt_set_int(d->context, "threads", options->threads, 0);
    if (status >= 0) status = c->opt_set_int(d->context, "max_pixels", options->max_pixels, 0);
    if (status >= 0) status = c->opt_set(d->context, "flags", "+unaligned", 0);
    if (status >= 0 && options->reorder >= 0)
        status = c->opt_set_int(d->context, "has_b_frames", options->reorder, 0);
    if (status >= 0) status = c->open(d->context, codec, NULL);
    return status < 0 ? status : DLI_FFMPEG_OK;
}

int dli_ffmpeg_open(const dli_ffmpeg_library* l, const dli_ffmpeg_options* options,
                    dli_ffmpeg_decoder** out) {
    const dli_ffmpeg_calls* calls = &l->calls;
    const void* codec = calls->find_decoder(options->codec);
    if (codec == NULL) return DLI_FFMPEG_NO_DECODER;
    dli_ffmpeg_decoder* d = calloc(1, sizeof *d);
    if (d == NULL) return -ENOMEM;
    d->calls = *calls;
    memcpy(d->colors, l->colors, sizeof d->colors);
    d->context = calls->alloc_context(codec);
    d->packet = calls->packet_alloc();
    d->frame = calls->frame_alloc();
    int status = -ENOMEM;
    if (d->context != NULL && d->packet != NULL && d->frame != NULL)
        status = configure(d, codec, options);
    if (status != DLI_FFMPEG_OK) {
        dli_ffmpeg_close(d);
        return status;
    }
    *out = d;
    return DLI_FFMPEG_OK;
}

void dli_ffmpeg_close(dli_ffmpeg_decoder* d) {
    if (d->frame != NULL) d->calls.frame_free(&d->frame);
    if (d->packet != NULL) d->calls.packet_free(&d->packet);
    if (d->context != NULL) d->calls.free_context(&d->context);
    free(d);
}

int dli_ffmpeg_send(dli_ffmpeg_decoder* d, const unsigned char* data, size_t size, int64_t time) {
    const dli_ffmpeg_calls* c = &d->calls;
    if (size == 0 || size > INT_MAX - PADDING) return -EINVAL;
    c->frame_unref(d->frame);
    int status = c->new_packet(d->packet, (int)size);
    if (status < 0) return status;
    memcpy(pointer_at(d->packet, PACKET_DATA), data, size);
    memcpy(at(d->packet, PACKET_TIME), &time, sizeof time);
    status = c->send_packet(d->context, d->packet);
    c->packet_unref(d->packet);
    return status;
}

int dli_ffmpeg_drain(dli_ffmpeg_decoder* d) {
    d->calls.frame_unref(d->frame);
    const int status = d->calls.send_packet(d->context, NULL);
    return status == END ? DLI_FFMPEG_OK : status;
}

int dli_ffmpeg_receive(dli_ffmpeg_decoder* d, dli_ffmpeg_frame* out) {
    const dli_ffmpeg_calls* c = &d->calls;
    const int status = c->receive_frame(d->context, d->frame);
    if (status == -EAGAIN || status == END) return DLI_FFMPEG_MORE;
    if (status < 0) return status;
    for (int i = 0; i < 4; i++) {
        out->data[i] = pointer_at(d->frame, FRAME_DATA + 8 * i);
        out->stride[i] = int_at(d->frame, FRAME_STRIDE + 4 * i);
    }
    out->width = int_at(d->frame, FRAME_WIDTH);
    out->height = int_at(d->frame, FRAME_HEIGHT);
    out->format = int_at(d->frame, FRAME_FORMAT);
    out->time = long_at(d->frame, FRAME_TIME);
    for (int i = 0; i < DLI_FFMPEG_COLORS; i++) out->colors[i] = int_at(d->context, d->colors[i]);
    return DLI_FFMPEG_OK;
}

void dli_ffmpeg_flush(dli_ffmpeg_decoder* d) {
    d->calls.frame_unref(d->frame);
    d->calls.flush_buffers(d->context);
}

/* ---- Texts ---- */

const char* dli_ffmpeg_format(const dli_ffmpeg_calls* c, int format) {
    return c->get_pix_fmt_name(format);
}

void dli_ffmpeg_text(const dli_ffmpeg_calls* c, int code, char* text, size_t size) {
    c->strerror(code, text, size);
}

unsigned dli_ffmpeg_version(const dli_ffmpeg_calls* c) { return c->codec_version(); }

const char* dli_ffmpeg_release(const dli_ffmpeg_calls* c) { return c->version_info(); }
