//go:build cgo && !nolibjpeg

#include "turbo_bits.h"

#include <stdlib.h>
#include <string.h>

#include <jerror.h>

const unsigned char dli_places[63 + 15 + DLI_END + 1] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33,
    40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36,
    29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
    47, 55, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
};

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

int dli_codes_make(dli_codes* to, const JHUFF_TBL* source) {
    if (to->made && memcmp(to->source.bits, source->bits, sizeof source->bits) == 0 &&
        memcmp(to->source.huffval, source->huffval, sizeof source->huffval) == 0)
        return 2;
    to->made = 0;
    to->source = *source;
    memset(to->symbols, 0, sizeof to->symbols);
    uint32_t code = 0, number = 0;
    for (unsigned length = 1; length <= 16; length++, code <<= 1) {
        unsigned count = source->bits[length];
        /* No code is all ones. */
        if (count > 0 && code + count >= 1u << length || number + count > 256) return 0;
        to->first[length] = (int32_t)number - (int32_t)code;
        for (; count > 0; count--, code++, number++) {
            if (length > DLI_HUFFMAN_AHEAD) continue;
            unsigned left = DLI_HUFFMAN_AHEAD - length;
            uint16_t* symbols = &to->symbols[code << left];
            for (uint32_t rest = 0; rest < 1u << left; rest++)
                symbols[rest] = (uint16_t)(length << 8 | source->huffval[number]);
        }
        to->limit[length] = code << (16 - length);
    }
    to->limit[17] = UINT32_MAX;
    to->made = 1;
    return 1;
}

unsigned dli_codes_search(const dli_codes* codes, uint64_t buffer) {
    uint32_t code = (uint32_t)(buffer >> 48);
    unsigned length = 1;
    while (code >= codes->limit[length]) length++;
    if (length > 16) return 0;
    int32_t number = codes->first[length] + (int32_t)(code >> (16 - length));
    return length << 8 | codes->source.huffval[number & 255];
}

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
