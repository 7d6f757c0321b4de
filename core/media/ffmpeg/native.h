/* Decoding by a libavcodec that was found at run time. The functions of FFmpeg come in a table, and
 * nothing is linked. Results are 0 or an error of FFmpeg, which is negative. */
#ifndef DEEPLAKE_MEDIA_FFMPEG_NATIVE_H
#define DEEPLAKE_MEDIA_FFMPEG_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* The functions, in the order of the names in library.go. Pointers to structures are void*. */
typedef struct {
    unsigned (*codec_version)(void);
    void* (*find_decoder)(const char* name);
    void* (*alloc_context)(const void* codec);
    void (*free_context)(void** context);
    int (*open)(void* context, const void* codec, void** options);
    int (*send_packet)(void* context, const void* packet);
    int (*receive_frame)(void* context, void* frame);
    void (*flush_buffers)(void* context);
    void* (*parameters_alloc)(void);
    void (*parameters_free)(void** parameters);
    int (*parameters_from_context)(void* parameters, const void* context);
    int (*parameters_to_context)(void* context, const void* parameters);
    void* (*packet_alloc)(void);
    void (*packet_free)(void** packet);
    void (*packet_unref)(void* packet);
    int (*new_packet)(void* packet, int size);
    void* (*frame_alloc)(void);
    void (*frame_free)(void** frame);
    void (*frame_unref)(void* frame);
    int (*frame_get_buffer)(void* frame, int align);
    void* (*mallocz)(size_t size);
    const void* (*opt_find)(void* object, const char* name, const char* unit, int flags,
                            int search);
    int (*opt_set_int)(void* object, const char* name, int64_t value, int flags);
    int (*opt_set)(void* object, const char* name, const char* value, int flags);
    int (*get_pix_fmt)(const char* name);
    const char* (*get_pix_fmt_name)(int format);
    int (*strerror)(int code, char* text, size_t size);
    int (*log_get_level)(void);
    void (*log_set_level)(int level);
    const char* (*version_info)(void);
} dli_ffmpeg_calls;

/* The colors that a stream states, by the numbers of FFmpeg. */
enum {
    DLI_FFMPEG_MATRIX,
    DLI_FFMPEG_RANGE,
    DLI_FFMPEG_PRIMARIES,
    DLI_FFMPEG_TRANSFER,
    DLI_FFMPEG_SITE,
    DLI_FFMPEG_COLORS,
};

/* A library: its functions, and where a context has its colors. */
typedef struct {
    dli_ffmpeg_calls calls;
    int colors[DLI_FFMPEG_COLORS];
} dli_ffmpeg_library;

typedef struct dli_ffmpeg_decoder dli_ffmpeg_decoder;

/* The settings of a new decoder. */
typedef struct {
    const char* codec; /* FFmpeg's name of the decoder */
    const unsigned char* setup;
    size_t setup_size;
    int64_t max_pixels;
    int reorder; /* frames that a frame may wait for; negative: the stream says it */
    int threads; /* that decode frames; each but the first one holds a frame back */
} dli_ffmpeg_options;

/* A frame; pointers are valid until the next call with its decoder. */
typedef struct {
    const unsigned char* data[4];
    int stride[4];
    int width, height, format;
    int64_t time;
    int colors[DLI_FFMPEG_COLORS];
} dli_ffmpeg_frame;

/* The results of functions beside FFmpeg's errors. */
enum {
    DLI_FFMPEG_OK = 0,
    DLI_FFMPEG_MORE = 1,       /* wants more packets */
    DLI_FFMPEG_NO_DECODER = 2, /* the library has no decoder of that name */
};

/* Compares the places of fields with those of the library, and finds those of colors. Returns NULL,
 * or the name of the structure that differs. */
const char* dli_ffmpeg_check(dli_ffmpeg_library* l);

/* Silences the log of the library, unless the process has set its level. */
void dli_ffmpeg_quiet(const dli_ffmpeg_calls* calls);

int dli_ffmpeg_open(const dli_ffmpeg_library* l, const dli_ffmpeg_options* options,
                    dli_ffmpeg_decoder** out);
void dli_ffmpeg_close(dli_ffmpeg_decoder* d);

/* Sends a packet, of which FFmpeg gets a copy. */
int dli_ffmpeg_send(dli_ffmpeg_decoder* d, const unsigned char* data, size_t size, int64_t time);

/* Says that no more packets come. */
int dli_ffmpeg_drain(dli_ffmpeg_decoder* d);

/* Takes the next frame out. */
int dli_ffmpeg_receive(dli_ffmpeg_decoder* d, dli_ffmpeg_frame* out);

/* Forgets all packets and frames; a drained decoder takes packets again. */
void dli_ffmpeg_flush(dli_ffmpeg_decoder* d);

/* The name of a format of pixels, NULL for none. */
const char* dli_ffmpeg_format(const dli_ffmpeg_calls* calls, int format);

/* Writes the text of an error, with a 0 at its end. */
void dli_ffmpeg_text(const dli_ffmpeg_calls* calls, int code, char* text, size_t size);

/* The version of libavcodec, and that of FFmpeg as a text. */
unsigned dli_ffmpeg_version(const dli_ffmpeg_calls* calls);
const char* dli_ffmpeg_release(const dli_ffmpeg_calls* calls);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
