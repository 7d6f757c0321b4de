/* The inner loops from coefficients to pixels, for processors with AVX2: inverse DCT, upsampling
 * and colours. Every sample equals that of libjpeg-turbo's accurate integer transform and smooth
 * ("fancy") upsampling on such processors. This file knows nothing of files and images. */
#ifndef DEEPLAKE_CODEC_JPEG_TURBO_VECTOR_H
#define DEEPLAKE_CODEC_JPEG_TURBO_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* The compiler's flag DLI_PORTABLE leaves the loops out, for tests. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(DLI_PORTABLE)
#define DLI_VECTOR_BUILT 1
#else
#define DLI_VECTOR_BUILT 0
#endif

enum {
    DLI_VECTOR_PIXELS = 32, /* that the loops take at a time: they read as far beyond a row */
    DLI_SPARSE_LAST = 9,    /* coefficients up to this one lie in the first 4 rows and columns */
    /* A dequantized first row has smaller magnitudes in all pictures. libjpeg-turbo wraps larger
     * ones or lets them saturate, by what else is in the block. */
    DLI_MOST_LEVEL = 8191,
};

/* Reports whether this processor can run the loops. */
int dli_vector_usable(void);

/* A block of coefficients, row after row, and the place of its samples. */
typedef struct {
    int16_t* coefficients; /* 64 */
    const int16_t* steps;  /* their quantization */
    unsigned char* to;     /* 8 rows of 8 samples */
    size_t stride;         /* bytes from row to row */
} dli_vector_block;

/* Kinds of blocks: of one coefficient, of those in the first 4 rows and columns, others. */
typedef enum { DLI_FLAT, DLI_SPARSE, DLI_FULL, DLI_KINDS } dli_vector_kind;

/* The kind of a block whose coefficients behind number last are 0, in the order of the file. */
static inline dli_vector_kind dli_vector_kind_of(unsigned last) {
    return (dli_vector_kind)((last > 0) + (last > DLI_SPARSE_LAST));
}

/* The kind of a block, by its coefficients. */
dli_vector_kind dli_vector_look(const int16_t* coefficients);

/* Transforms n blocks, an even number, and clears their coefficients. With sparse, all are
 * of that kind. Returns 0 if a value of a first row is beyond DLI_MOST_LEVEL. */
int dli_vector_transform(const dli_vector_block* blocks, size_t n, int sparse);

/* The same for n blocks that are flat. */
int dli_vector_flat(const dli_vector_block* blocks, size_t n);

/* Puts n samples of a row of chroma into 16 bits each: near, or near * 3 + far where far is not
 * NULL. to[-1] and to[n] become equal to their neighbours. */
void dli_vector_widen(uint16_t* to, const unsigned char* near, const unsigned char* far, size_t n);

/* Makes n RGB pixels of as many samples of luma, and half as many of chroma as dli_vector_widen
 * gives them; one more on either side is read. sums: they are sums of two rows. */
void dli_vector_rgb_half(unsigned char* to, const unsigned char* luma, const uint16_t* cb,
                         const uint16_t* cr, size_t n, int sums);

/* Makes n RGB pixels of as many samples of each kind. */
void dli_vector_rgb(unsigned char* to, const unsigned char* luma, const unsigned char* cb,
                    const unsigned char* cr, size_t n);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
