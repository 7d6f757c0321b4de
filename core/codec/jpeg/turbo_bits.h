/* The bits of a scan, for the decoders of its Huffman codes. */
#ifndef DEEPLAKE_CODEC_JPEG_TURBO_BITS_H
#define DEEPLAKE_CODEC_JPEG_TURBO_BITS_H

#include <string.h>

#include "turbo_huffman.h"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* Reports to cinfo that libjpeg has to decode the file. Does not return. */
void dli_bits_stop(j_decompress_ptr cinfo);

/* Makes libjpeg call decode for each MCU of the scan that it has begun. */
void dli_bits_take_over(j_decompress_ptr cinfo,
                        boolean (*decode)(j_decompress_ptr cinfo, JBLOCKROW* blocks));

/* Opens the scan at whose data cinfo stands. Returns 0 if there is no memory. */
int dli_bits_open(dli_huffman* h, j_decompress_ptr cinfo);

/* Begins the data behind the header of a scan, or behind a restart marker. */
void dli_bits_begin(dli_huffman* h, j_decompress_ptr cinfo);

/* Takes bytes of the file into the window, up to a marker or until it is full. What is not read of
 * it stays. */
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

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
