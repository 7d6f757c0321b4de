/* The few calls that the Go side makes into libjpeg. Nothing here is exported from the library that
 * is built of it. */
#ifndef DEEPLAKE_CODEC_JPEG_TURBO_H
#define DEEPLAKE_CODEC_JPEG_TURBO_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

typedef enum {
    DLI_JPEG_OK = 0,
    DLI_JPEG_CORRUPT = 1,
    DLI_JPEG_UNSUPPORTED = 2,
    DLI_JPEG_SIZE = 3,    /* the output buffer does not fit the image */
    DLI_JPEG_MEMORY = 4,  /* malloc failed */
    DLI_JPEG_INTERNAL = 5 /* header and library disagree, or a wrong call */
} dli_jpeg_status;

/* What Decode delivers: the channels of the file, or always as many as the value says. */
typedef enum { DLI_JPEG_AS_STORED = 0, DLI_JPEG_GRAY = 1, DLI_JPEG_RGB = 3 } dli_jpeg_want;

/* A decompressor that is reused from image to image, by one thread at a time. */
typedef struct dli_jpeg_decoder dli_jpeg_decoder;

/* NULL when there is no memory. The caller frees it. With plain it leaves all to libjpeg. */
dli_jpeg_decoder* dli_jpeg_decoder_new(int plain);
void dli_jpeg_decoder_free(dli_jpeg_decoder* d);

/* Says whether damage of the data is accepted from now on: libjpeg then decodes the file alone, and
 * fills in gray. Damage that it cannot pass over stays DLI_JPEG_CORRUPT, as do all limits. */
void dli_jpeg_accept_damage(dli_jpeg_decoder* d, int accept);

/* The size of a file as the caller knows it: a file of another size is DLI_JPEG_SIZE. channels are
 * those that are delivered. */
typedef struct {
    unsigned width, height, channels;
} dli_jpeg_shape;

/* Decodes a whole file into dst, which must have exactly height * width * channels bytes. max_scans
 * bounds the passes of a progressive file. After a failure dst is undefined, the decoder can be
 * used again, and dli_jpeg_message says why. Neither src nor dst is kept. */
dli_jpeg_status dli_jpeg_decode(dli_jpeg_decoder* d, const unsigned char* src, size_t src_size,
                                unsigned char* dst, size_t dst_size, dli_jpeg_shape shape,
                                dli_jpeg_want want, int max_scans);

/* One file and the place for its pixels. */
typedef struct {
    const unsigned char* src;
    size_t src_size;
    unsigned char* dst;
    size_t dst_size;
    dli_jpeg_shape shape;
} dli_jpeg_item;

/* Decodes items in order, each as dli_jpeg_decode would, until one fails. Returns how many were
 * decoded; status says what became of the next one. */
size_t dli_jpeg_decode_run(dli_jpeg_decoder* d, const dli_jpeg_item* items, size_t count,
                           dli_jpeg_want want, int max_scans, dli_jpeg_status* status);

/* Decodes the Huffman codes of a whole file alone, to the packed coefficients of packed.h. dst is a
 * multiple of 8. Returns how many of its room bytes they take. 0: the file must be decoded whole,
 * which also reports damage. Small pictures of many coefficients may not fit into room.
 * Only coefficients of the first rows are packed, and nothing behind them is read; rows 0: all. */
size_t dli_jpeg_pack(dli_jpeg_decoder* d, const unsigned char* src, size_t src_size,
                     dli_jpeg_shape shape, dli_jpeg_want want, unsigned char* dst, size_t room,
                     uint32_t rows);

/* Reports whether a file is of the kind that dli_jpeg_pack packs, by its header. */
int dli_jpeg_packs(dli_jpeg_decoder* d, const unsigned char* src, size_t src_size,
                   dli_jpeg_shape shape, dli_jpeg_want want);

/* Receives the pixels of a region: size bytes in rows of stride, valid until it returns. 0: done,
 * 1: out of memory, 2: other pixels are wanted. */
typedef int (*dli_jpeg_take)(void* arg, const unsigned char* pix, size_t size, size_t stride,
                             int32_t width, int32_t height, int32_t channels);

/* One file and the part of its image that is wanted, in pixels of the image shrunk by 1, 2, 4 or 8.
 */
typedef struct {
    const unsigned char* src;
    size_t src_size;
    dli_jpeg_shape shape; /* of the whole image in the file */
    unsigned x, y, width, height, shrink;
    int fast; /* quicker inverse DCT, other pixels */
    dli_jpeg_take take;
    void* arg;
} dli_jpeg_part;

/* Decodes the regions in order, into memory of the decoder, and hands each over, until one fails.
 * Returns how many were handed over; status says what became of the next one. Nothing below a
 * region is read. */
size_t dli_jpeg_decode_parts(dli_jpeg_decoder* d, const dli_jpeg_part* parts, size_t count,
                             dli_jpeg_want want, int max_scans, dli_jpeg_status* status);

/* Pixels that stay until the next call. */
typedef struct {
    const unsigned char* pix;
    size_t size, stride;
} dli_jpeg_pixels;

/* The same for one, which leaves the pixels in out. */
dli_jpeg_status dli_jpeg_decode_part(dli_jpeg_decoder* d, const dli_jpeg_part* part,
                                     dli_jpeg_want want, int max_scans, dli_jpeg_pixels* out);

const char* dli_jpeg_message(const dli_jpeg_decoder* d);

/* Counts of a decoder: the files in which our Huffman decoder began, those of them in which our
 * inverse DCT did, and those that libjpeg decoded again. */
typedef struct {
    size_t quick, whole, repeated;
} dli_jpeg_tally;

dli_jpeg_tally dli_jpeg_tally_of(const dli_jpeg_decoder* d);

/* What an encoder made. data is the caller's, to be freed with free; NULL after a failure. */
typedef struct {
    unsigned char* data;
    size_t size;
    char message[200]; /* JMSG_LENGTH_MAX */
} dli_jpeg_output;

/* Encodes channels (1 gray, 3 RGB) interleaved 8-bit samples as a baseline file. */
dli_jpeg_status dli_jpeg_encode(const unsigned char* pix, int width, int height, int channels,
                                int quality, int h_sample, int v_sample, dli_jpeg_output* out);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
