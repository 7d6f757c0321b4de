/* Packed coefficients: an image between Huffman decoding, which the CPU does, and the inverse DCT,
 * which a device does. The layout is shared by C, Go and the kernels of cuda/kernels. It stays
 * within one process: numbers are in the order of the machine.
 *
 *     dli_jpeg_packed   the image
 *     dli_jpeg_block    one for each block, in the order of the file: MCU after MCU
 *     uint16_t          entries: the coefficients of a block but the first, in the order of the
 * file
 *
 * An entry has the number of its coefficient in the zigzag order of the file in the upper 6 bits, a
 * value of two's complement in the lower 10. Entries of one coefficient add up: values beyond 10
 * bits take two. */
#ifndef DEEPLAKE_CODEC_JPEG_PACKED_H
#define DEEPLAKE_CODEC_JPEG_PACKED_H

#include <stdint.h>

typedef struct {
    uint32_t start; /* of its entries, among those of the image */
    int16_t dc;     /* the first coefficient */
    uint16_t count; /* of entries */
} dli_jpeg_block;

typedef struct {
    uint32_t width, height; /* in pixels */
    uint32_t across, down;  /* MCUs; down may end before the image does */
    uint32_t blocks, entries;
    uint8_t components;    /* 1: gray, 3: Y, Cb, Cr */
    uint8_t h, v;          /* blocks of the first component in an MCU: 1x1, 2x1, 2x2 */
    uint8_t reserved[5];   /* 0 */
    uint16_t steps[3][64]; /* quantization, in zigzag order */
} dli_jpeg_packed;

#endif
