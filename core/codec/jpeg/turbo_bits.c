//go:build cgo && !nolibjpeg

#include "turbo_bits.h"

#include <stdlib.h>
#include <string.h>

#include <jerror.h>

/* The beginning of libjpeg's struct jpeg_entropy_decoder, which its headers do not show: the same
 * since version 6. Only the pointer to the function is replaced. */
typedef struct {
    void (*start_pass)(j_decompress_ptr cinfo);
    boolean (*decode_mcu)(j_decompress_ptr cinfo, JBLOCKROW* blocks);
} entropy_head;

void dli_bits_take_over(j_decompress_ptr cinfo,
                        boolean (*decode)(j_decompress_ptr cinfo, JBLOCKROW* blocks)) {
    ((entropy_head*)cinfo->entropy)->decode_mcu = decode;
}

int dli_bits_open(dli_huffman* h, j_decompress_ptr cinfo) {
    if (h->window == NULL) {
        h->window = calloc(DLI_HUFFMAN_WINDOW + DLI_HUFFMAN_MCU, 1);
        if (h->window == NULL) return 0;
    }
    h->ahead = cinfo->src->next_input_byte;
    h->file_end = h->ahead + cinfo->src->bytes_in_buffer;
    h->restart = 0;
    dli_bits_begin(h, cinfo);
    return 1;
}

void dli_bits_stop(j_decompress_ptr cinfo) { ERREXIT(cinfo, JERR_CANT_SUSPEND); }

void dli_bits_begin(dli_huffman* h, j_decompress_ptr cinfo) {
    h->buffer = 0;
    h->bits = 0;
    h->next = h->end = h->window;
    h->whole = 0;
    h->until_restart = cinfo->restart_interval;
    memset(h->last_dc, 0, sizeof h->last_dc);
}

void dli_bits_fill(dli_huffman* h) {
    size_t left = (size_t)(h->end - h->next);
    memmove(h->window, h->next, left);
    unsigned char *to = h->window + left, *full = h->window + DLI_HUFFMAN_WINDOW;
    const unsigned char* from = h->ahead;
    while (to < full) {
        size_t most = (size_t)(full - to), there = (size_t)(h->file_end - from);
        if (most > there) most = there;
        const unsigned char* mark = memchr(from, 0xff, most);
        size_t plain = mark != NULL ? (size_t)(mark - from) : most;
        memcpy(to, from, plain);
        to += plain;
        from += plain;
        if (mark == NULL && plain < there) continue; /* the window is full */
        if (mark == NULL || there - plain < 2 || from[1] != 0) {
            h->whole = 1;
            break;
        }
        *to++ = 0xff;
        from += 2;
    }
    h->ahead = from;
    h->next = h->window;
    h->end = to;
}

void dli_bits_pass_restart(dli_huffman* h, j_decompress_ptr cinfo) {
    if (!h->whole) dli_bits_fill(h);
    ptrdiff_t left = (h->end - h->next) * 8 + h->bits;
    if (!h->whole || left >= 8 || h->file_end - h->ahead < 2 ||
        h->ahead[1] != JPEG_RST0 + h->restart)
        dli_bits_stop(cinfo);
    h->ahead += 2;
    h->restart = (h->restart + 1) % 8;
    dli_bits_begin(h, cinfo);
}

void dli_bits_leave(dli_huffman* h, j_decompress_ptr cinfo) {
    while (!h->whole) {
        h->next = h->end;
        dli_bits_fill(h);
    }
    if (h->ahead == h->file_end) dli_bits_stop(cinfo);
    cinfo->src->next_input_byte = h->ahead;
    cinfo->src->bytes_in_buffer = (size_t)(h->file_end - h->ahead);
}
