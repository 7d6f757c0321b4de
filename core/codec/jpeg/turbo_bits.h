/* The bits of a scan, for the decoders of its Huffman codes. */
#ifndef DEEPLAKE_CODEC_JPEG_TURBO_BITS_H
#define DEEPLAKE_CODEC_JPEG_TURBO_BITS_H

#include <string.h>

#include "turbo_huffman.h"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

enum {
    /* Bits of a first coefficient, and of the others, in files of 8 bits a sample. */
    DLI_MOST_DC = 11,
    DLI_MOST_AC = 10,
    /* Of first coefficients: libjpeg allows larger sums, which no file has. */
    DLI_MOST_SUM = 1 << 20,
};

enum { DLI_END = 80 }; /* more coefficients ahead than a block has */

/* The position of coefficient k, in the order of the file, within a block. A run can lead up to 15
 * beyond the last one. In sequential files the end of a block goes DLI_END ahead from there: that
 * coefficient goes to the position of the first one, which is overwritten. */
extern const unsigned char dli_places[63 + 15 + DLI_END + 1];

/* Reports to cinfo that libjpeg has to decode the file. Does not return. */
void dli_bits_stop(j_decompress_ptr cinfo);

/* Makes libjpeg call decode for each MCU of the scan that it has begun. */
void dli_bits_take_over(j_decompress_ptr cinfo,
                        boolean (*decode)(j_decompress_ptr cinfo, JBLOCKROW* blocks));

/* Opens the scan at whose data cinfo stands. Returns 0 if there is no memory. */
int dli_bits_open(dli_huffman* h, j_decompress_ptr cinfo);

/* Makes the codes of a table. Returns 0 for codes that cannot be, 2 if they were made before. */
int dli_codes_make(dli_codes* to, const JHUFF_TBL* source);

/* Finds the symbol of a code that the look-up does not know; 0: there is none. */
unsigned dli_codes_search(const dli_codes* codes, uint64_t buffer);

/* Begins the data behind the header of a scan, or behind a restart marker. */
void dli_bits_begin(dli_huffman* h, j_decompress_ptr cinfo);

/* Takes bytes of the file into the window, up to a marker or until it is full. The others stay. */
void dli_bits_fill(dli_huffman* h);

/* Goes on behind a restart marker, which must come at once, and be the right one. */
void dli_bits_pass_restart(dli_huffman* h, j_decompress_ptr cinfo);

/* Lets libjpeg go on at the marker behind the scan. */
void dli_bits_leave(dli_huffman* h, j_decompress_ptr cinfo);

/* The value of the first so many bits, of which the first one says the sign. */
static inline int value_of(uint64_t buffer, unsigned bits) {
    int64_t negative = ~((int64_t)buffer >> 63);
    return (int)((int64_t)(buffer >> 1 >> (bits ^ 63)) + (negative & (1 - ((int64_t)1 << bits))));
}

static inline uint64_t eight_bytes(const unsigned char* p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* At least 56 bits are in the buffer then. Bytes of which some bits are there already are taken
 * again, to the same place. This is variant 4 of Fabian Giesen's "Reading bits in far too many
 * ways" (2018). */
#define REFILL()                             \
    do {                                     \
        buffer |= eight_bytes(next) >> bits; \
        next += (63 - bits) >> 3;            \
        bits |= 56;                          \
    } while (0)

#define TAKE(symbol)              \
    do {                          \
        buffer <<= (symbol) & 63; \
        bits -= (symbol) & 63;    \
    } while (0)

/* Finds the symbol of the next code: its length << 8 | its byte. */
static inline unsigned dli_codes_find(const dli_codes* codes, uint64_t buffer,
                                      j_decompress_ptr cinfo) {
    unsigned symbol = codes->symbols[buffer >> (64 - DLI_HUFFMAN_AHEAD)];
    if (symbol == 0 && (symbol = dli_codes_search(codes, buffer)) == 0) dli_bits_stop(cinfo);
    return symbol;
}

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
