/* Inner loops that Go's compiler does not vectorise. Nothing here is exported from the library that
 * is built of it. */
#ifndef DEEPLAKE_ARRAY_KERNEL_H
#define DEEPLAKE_ARRAY_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* Element types, as the dtypes of core/tensor count them. */
enum {
    DLI_U8 = 2,
    DLI_U16,
    DLI_U32,
    DLI_U64,
    DLI_I8,
    DLI_I16,
    DLI_I32,
    DLI_I64,
    DLI_F32 = 12,
    DLI_F64
};

/* Comparisons. The last two have NaN equal to itself and above all numbers. */
enum { DLI_EQ, DLI_LT, DLI_LE, DLI_EQ_TOTAL, DLI_LT_TOTAL };

/* Which side is a single value. */
enum { DLI_COLUMNS, DLI_RIGHT, DLI_LEFT };

/* The measures of two vectors. */
enum { DLI_DOT, DLI_COSINE, DLI_L1, DLI_L2, DLI_LINF, DLI_UNEQUAL };

/* Whether the loops are made for the processor that this runs on. */
int dli_compute_ready(void);

/* dst[i] = a[i] op b[i], or of one value. Returns 0 where there is no such loop. */
int dli_compute_compare(int type, int op, int side, uint8_t* dst, const void* a, const void* b,
                        size_t n);

/* Sums n values: whole numbers, or float64 with the rounding error in lost. */
int dli_compute_sum(int type, const void* a, size_t n, int64_t* whole, double* sum, double* lost);

/* The least or greatest of n > 0 values without NaN in out; returns 0 where there is no loop, 2
 * where there was NaN. */
int dli_compute_extreme(int type, int most, const void* a, size_t n, void* out);

/* Rows of d elements measured against rows of b, step elements apart (0: all against one). Types:
 * float32 or float64 a with b of the same type, float32 a with float64 b: in dst; int8 or uint8
 * both: in whole. DLI_UNEQUAL is always in whole. DLI_COSINE gives the products and, n entries
 * further, the product of each row of a with itself. DLI_L2 gives the squares of distances; for
 * bytes it gives the same as DLI_COSINE. Returns 0 if there is no such loop. */
int dli_compute_measure(int what, int type, int type_b, const void* a, const void* b, size_t step,
                        size_t n, size_t d, double* dst, int64_t* whole);

/* Takes rows from both halves alternately: two runs of memory are read faster than one, by a
 * quarter with small pages. */
#define DLI_TURN(k, n) ((k) % 2 == 0 ? (k) / 2 : ((n) + 1) / 2 + (k) / 2)

/* A row needs no exact value if its float32 value is beyond at + s * l. l is the length that the
 * pass found (1 of distances), and slope = s * |s|. Beyond is above, or below. */
typedef struct {
    double at, slope;
    int above;
} dli_compute_limit;

/* Like dli_compute_measure of float32 rows and one float64 b, for DLI_DOT, DLI_COSINE or DLI_L2,
 * except for rows beyond a limit. These get an infinity beyond it (squares of distances below it
 * get 0). rough is b as float32, with zeros up to a multiple of 32. */
int dli_compute_near(int what, const float* a, const double* b, const float* rough, size_t n,
                     size_t d, const dli_compute_limit* limit, double* dst);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
