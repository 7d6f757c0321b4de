/* From the bits of one scan, or the coefficients of several, to RGB or gray pixels, in place of
 * libjpeg-turbo's own pipeline: inverse DCT, upsampling and colours, one row of MCUs after the
 * other, which stays in the caches. It owns the samples of that row; turbo_huffman.h owns the bits,
 * turbo_vector.h the arithmetic. It handles the usual kinds of image alone, and leaves the others
 * to libjpeg. */
#ifndef DEEPLAKE_CODEC_JPEG_TURBO_PIXELS_H
#define DEEPLAKE_CODEC_JPEG_TURBO_PIXELS_H

#include "turbo_huffman.h"
#include "turbo_vector.h"

/* The pixels that are wanted, and their place. */
typedef struct {
    unsigned x, y, width, height; /* within the image; x is even */
    unsigned char* to;
    size_t stride; /* bytes from row to row */
} dli_pixels_area;

enum {
    DLI_PIXELS_MCU = 6,  /* blocks of an MCU, of the kinds handled */
    DLI_PIXELS_RUN = 48, /* blocks that are decoded before they are transformed */
};

/* Blocks of one kind, and room for one that makes their number even. */
typedef struct {
    size_t count;
    dli_vector_block blocks[DLI_PIXELS_RUN + 1];
} dli_pixels_list;

/* The decoder of one image at a time. Before dli_pixels_begin all zeroes. */
typedef struct {
    dli_jpeg_packed image;
    dli_pixels_area area;
    unsigned left, right, top, bottom; /* the MCUs that the area needs */
    unsigned row;                      /* the next row of pixels */
    /* Samples of a row of MCUs, below the last row of those before. */
    unsigned char *luma, *chroma[2];
    size_t luma_stride, chroma_stride;
    uint16_t* wide[2]; /* a row of chroma for dli_vector_rgb_half */
    unsigned char* memory;
    size_t size;
    dli_pixels_list lists[DLI_KINDS];
    unsigned char unused[64];          /* the samples of a block that makes a number even */
    _Alignas(16) int16_t steps[3][64]; /* quantization, row after row */
    /* All 0 before they are decoded; the last one stays so. */
    _Alignas(16) int16_t coefficients[DLI_PIXELS_RUN + 1][64];
} dli_pixels;

/* Begins an image, of which the header is read, for an area. Returns 0 for one that is libjpeg's,
 * and leaves cinfo unchanged then. */
int dli_pixels_begin(dli_pixels* p, dli_huffman* h, j_decompress_ptr cinfo,
                     const dli_pixels_area* area);

/* The same for an image of several scans. */
int dli_pixels_begin_scans(dli_pixels* p, j_decompress_ptr cinfo, const dli_pixels_area* area);

/* Decodes the pixels of the area. Where it has to stop, cinfo's error JERR_CANT_SUSPEND says so:
 * then libjpeg has to decode the file. Data below the area is not read. */
void dli_pixels_read(dli_pixels* p, dli_huffman* h, j_decompress_ptr cinfo);

/* The same for an image of several scans, from its coefficients, which are lost. All components
 * have quantization tables. */
void dli_pixels_read_scans(dli_pixels* p, j_decompress_ptr cinfo, jvirt_barray_ptr* coefficients);

/* Frees what p holds. */
void dli_pixels_free(dli_pixels* p);

#endif
