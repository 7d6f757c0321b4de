//go:build cgo

/* Loops that gcc and clang turn into vectors: over whole columns, or over rows with eight sums side
 * by side. On x86-64 they are compiled for AVX2 and chosen at run time. Elsewhere they use the
 * baseline of the processor. */
#include "kernel.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define VECTOR __attribute__((target("avx2,fma")))
int dli_compute_ready(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
#define VECTOR
int dli_compute_ready(void) { return 1; }
#endif

/* gcc 12 vectorizes two sums at once only in a loop of their own. */
#if defined(__GNUC__)
#define ALONE __attribute__((noinline))
#else
#define ALONE
#endif

#define LOOP(name, T, expression)                                                                 \
    VECTOR static void name##_cc(uint8_t* restrict dst, const T* restrict a, const T* restrict b, \
                                 size_t n) {                                                      \
        for (size_t i = 0; i < n; i++) {                                                          \
            T x = a[i], y = b[i];                                                                 \
            dst[i] = expression;                                                                  \
        }                                                                                         \
    }                                                                                             \
    VECTOR static void name##_cv(uint8_t* restrict dst, const T* restrict a, const T* b,          \
                                 size_t n) {                                                      \
        T y = *b;                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                          \
            T x = a[i];                                                                           \
            dst[i] = expression;                                                                  \
        }                                                                                         \
    }                                                                                             \
    VECTOR static void name##_vc(uint8_t* restrict dst, const T* a, const T* restrict b,          \
                                 size_t n) {                                                      \
        T x = *a;                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                          \
            T y = b[i];                                                                           \
            dst[i] = expression;                                                                  \
        }                                                                                         \
    }

#define LOOPS(T)            \
    LOOP(eq_##T, T, x == y) \
    LOOP(lt_##T, T, x < y)  \
    LOOP(le_##T, T, x <= y)

typedef float f32;
typedef double f64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;

LOOPS(u8)
LOOPS(u16)
LOOPS(u32)
LOOPS(u64)
LOOPS(i8)
LOOPS(i16)
LOOPS(i32)
LOOPS(i64)
LOOPS(f32)
LOOPS(f64)
LOOP(eqt_f32, f32, (x == y) | ((x != x) & (y != y)))
LOOP(ltt_f32, f32, (x < y) | ((y != y) & (x == x)))
LOOP(eqt_f64, f64, (x == y) | ((x != x) & (y != y)))
LOOP(ltt_f64, f64, (x < y) | ((y != y) & (x == x)))

#define SIDES(name, T)                                   \
    switch (side) {                                      \
        case DLI_COLUMNS:                                \
            name##_cc(dst, (const T*)a, (const T*)b, n); \
            return 1;                                    \
        case DLI_RIGHT:                                  \
            name##_cv(dst, (const T*)a, (const T*)b, n); \
            return 1;                                    \
        default:                                         \
            name##_vc(dst, (const T*)a, (const T*)b, n); \
            return 1;                                    \
    }

#define WHOLE(T)             \
    switch (op) {            \
        case DLI_EQ_TOTAL:   \
        case DLI_EQ:         \
            SIDES(eq_##T, T) \
        case DLI_LT_TOTAL:   \
        case DLI_LT:         \
            SIDES(lt_##T, T) \
        case DLI_LE:         \
            SIDES(le_##T, T) \
    }                        \
    return 0;

#define FLOAT(T)              \
    switch (op) {             \
        case DLI_EQ_TOTAL:    \
            SIDES(eqt_##T, T) \
        case DLI_LT_TOTAL:    \
            SIDES(ltt_##T, T) \
    }                         \
    WHOLE(T)

int dli_compute_compare(int type, int op, int side, uint8_t* dst, const void* a, const void* b,
                        size_t n) {
    switch (type) {
        case DLI_U8:
            WHOLE(u8)
        case DLI_U16:
            WHOLE(u16)
        case DLI_U32:
            WHOLE(u32)
        case DLI_U64:
            WHOLE(u64)
        case DLI_I8:
            WHOLE(i8)
        case DLI_I16:
            WHOLE(i16)
        case DLI_I32:
            WHOLE(i32)
        case DLI_I64:
            WHOLE(i64)
        case DLI_F32:
            FLOAT(f32)
        case DLI_F64:
            FLOAT(f64)
    }
    return 0;
}

#define SUM(T)                                             \
    VECTOR static int64_t sum_##T(const T* a, size_t n) {  \
        int64_t s = 0;                                     \
        for (size_t i = 0; i < n; i++) s += (int64_t)a[i]; \
        return s;                                          \
    }

SUM(u8)
SUM(u16)
SUM(u32)
SUM(i8)
SUM(i16)
SUM(i32)

enum { LANES = 16, HALF = 8 };

VECTOR static void sum_f32(const f32* a, size_t n, double* sum, double* lost) {
    double s[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) s[k] += (double)a[i + k];
    for (; i < n; i++) s[0] += (double)a[i];
    double t = 0;
    for (int k = 0; k < LANES; k++) t += s[k];
    *sum = t;
    *lost = 0;
}

VECTOR static void sum_f64(const f64* a, size_t n, double* sum, double* lost) {
    double s[LANES] = {0}, e[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            double x = s[k], y = a[i + k], t = x + y, v = t - x;
            s[k] = t;
            e[k] += (x - (t - v)) + (y - v);
        }
    double total = 0, rest = 0;
    for (int k = 0; k < LANES; k++) {
        double x = total, y = s[k], t = x + y, v = t - x;
        total = t;
        rest += e[k] + ((x - (t - v)) + (y - v));
    }
    for (; i < n; i++) {
        double x = total, y = a[i], t = x + y, v = t - x;
        total = t;
        rest += (x - (t - v)) + (y - v);
    }
    *sum = total;
    *lost = rest;
}

int dli_compute_sum(int type, const void* a, size_t n, int64_t* whole, double* sum, double* lost) {
    switch (type) {
        case DLI_U8:
            *whole = sum_u8(a, n);
            return 1;
        case DLI_U16:
            *whole = sum_u16(a, n);
            return 1;
        case DLI_U32:
            *whole = sum_u32(a, n);
            return 1;
        case DLI_I8:
            *whole = sum_i8(a, n);
            return 1;
        case DLI_I16:
            *whole = sum_i16(a, n);
            return 1;
        case DLI_I32:
            *whole = sum_i32(a, n);
            return 1;
        case DLI_F32:
            sum_f32(a, n, sum, lost);
            return 1;
        case DLI_F64:
            sum_f64(a, n, sum, lost);
            return 1;
    }
    return 0;
}

#define EXTREME(T)                                                                                 \
    VECTOR static int extreme_##T(int most, const T* a, size_t n, T* out) {                        \
        T x = a[0];                                                                                \
        T best[LANES];                                                                             \
        for (int k = 0; k < LANES; k++) best[k] = x;                                               \
        size_t i = 0;                                                                              \
        if (most) {                                                                                \
            for (; i + LANES <= n; i += LANES)                                                     \
                for (int k = 0; k < LANES; k++) best[k] = a[i + k] > best[k] ? a[i + k] : best[k]; \
            for (; i < n; i++) best[0] = a[i] > best[0] ? a[i] : best[0];                          \
            for (int k = 0; k < LANES; k++) x = best[k] > x ? best[k] : x;                         \
        } else {                                                                                   \
            for (; i + LANES <= n; i += LANES)                                                     \
                for (int k = 0; k < LANES; k++) best[k] = a[i + k] < best[k] ? a[i + k] : best[k]; \
            for (; i < n; i++) best[0] = a[i] < best[0] ? a[i] : best[0];                          \
            for (int k = 0; k < LANES; k++) x = best[k] < x ? best[k] : x;                         \
        }                                                                                          \
        *out = x;                                                                                  \
        return 1;                                                                                  \
    }

EXTREME(u8)
EXTREME(u16)
EXTREME(u32)
EXTREME(u64)
EXTREME(i8)
EXTREME(i16)
EXTREME(i32)
EXTREME(i64)
EXTREME(f32)
EXTREME(f64)

#define NANS(T)                                             \
    VECTOR static int nans_##T(const T* a, size_t n) {      \
        int any = 0;                                        \
        for (size_t i = 0; i < n; i++) any |= a[i] != a[i]; \
        return any;                                         \
    }

NANS(f32)
NANS(f64)

int dli_compute_extreme(int type, int most, const void* a, size_t n, void* out) {
    switch (type) {
        case DLI_U8:
            return extreme_u8(most, a, n, out);
        case DLI_U16:
            return extreme_u16(most, a, n, out);
        case DLI_U32:
            return extreme_u32(most, a, n, out);
        case DLI_U64:
            return extreme_u64(most, a, n, out);
        case DLI_I8:
            return extreme_i8(most, a, n, out);
        case DLI_I16:
            return extreme_i16(most, a, n, out);
        case DLI_I32:
            return extreme_i32(most, a, n, out);
        case DLI_I64:
            return extreme_i64(most, a, n, out);
        case DLI_F32:
            return nans_f32(a, n) ? 2 : extreme_f32(most, a, n, out);
        case DLI_F64:
            return nans_f64(a, n) ? 2 : extreme_f64(most, a, n, out);
    }
    return 0;
}

/* One row: LANES sums side by side, so that the next product need not wait for the last. */
#define ROW(name, TA, TB, expression)                                      \
    VECTOR static inline double name(const TA* a, const TB* b, size_t d) { \
        double s[LANES] = {0}, t = 0;                                      \
        size_t i = 0;                                                      \
        for (; i + LANES <= d; i += LANES)                                 \
            for (int k = 0; k < LANES; k++) {                              \
                double x = (double)a[i + k], y = (double)b[i + k];         \
                s[k] += expression;                                        \
            }                                                              \
        for (; i < d; i++) {                                               \
            double x = (double)a[i], y = (double)b[i];                     \
            s[0] += expression;                                            \
        }                                                                  \
        for (int k = 0; k < LANES; k++) t += s[k];                         \
        return t;                                                          \
    }

#define MEASURES(pair, TA, TB)                                                                     \
    VECTOR static ALONE double dot_self_##pair(const TA* a, const TB* b, size_t d, double* self) { \
        double s[HALF] = {0}, q[HALF] = {0}, t = 0, u = 0;                                         \
        size_t i = 0;                                                                              \
        for (; i + HALF <= d; i += HALF)                                                           \
            for (int k = 0; k < HALF; k++) {                                                       \
                double x = (double)a[i + k], y = (double)b[i + k];                                 \
                s[k] += x * y;                                                                     \
                q[k] += x * x;                                                                     \
            }                                                                                      \
        for (; i < d; i++) {                                                                       \
            double x = (double)a[i], y = (double)b[i];                                             \
            t += x * y;                                                                            \
            u += x * x;                                                                            \
        }                                                                                          \
        for (int k = 0; k < HALF; k++) t += s[k], u += q[k];                                       \
        *self = u;                                                                                 \
        return t;                                                                                  \
    }                                                                                              \
    ROW(dot_##pair, TA, TB, x* y)                                                                  \
    ROW(l1_##pair, TA, TB, fabs(x - y))                                                            \
    ROW(l2_##pair, TA, TB, (x - y) * (x - y))                                                      \
    VECTOR static inline double linf_##pair(const TA* a, const TB* b, size_t d) {                  \
        double s[LANES] = {0}, t = 0;                                                              \
        size_t i = 0;                                                                              \
        for (; i + LANES <= d; i += LANES)                                                         \
            for (int k = 0; k < LANES; k++) {                                                      \
                double x = fabs((double)a[i + k] - (double)b[i + k]);                              \
                s[k] = x > s[k] ? x : s[k];                                                        \
            }                                                                                      \
        for (; i < d; i++) {                                                                       \
            double x = fabs((double)a[i] - (double)b[i]);                                          \
            s[0] = x > s[0] ? x : s[0];                                                            \
        }                                                                                          \
        for (int k = 0; k < LANES; k++) t = s[k] > t ? s[k] : t;                                   \
        double sum = l1_##pair(a, b, d); /* it is NaN where a difference is */                     \
        return sum != sum ? sum : t;                                                               \
    }                                                                                              \
    VECTOR static int64_t unequal_##pair(const TA* a, const TB* b, size_t d) {                     \
        int64_t s = 0;                                                                             \
        for (size_t i = 0; i < d; i++) s += (double)a[i] != (double)b[i];                          \
        return s;                                                                                  \
    }                                                                                              \
    VECTOR static int measure_##pair(int what, const TA* a, const TB* b, size_t step, size_t n,    \
                                     size_t d, double* dst, int64_t* whole) {                      \
        for (size_t k = 0; k < n; k++) {                                                           \
            size_t r = DLI_TURN(k, n);                                                             \
            const TA* x = a + r * d;                                                               \
            const TB* y = b + r * step;                                                            \
            switch (what) {                                                                        \
                case DLI_DOT:                                                                      \
                    dst[r] = dot_##pair(x, y, d);                                                  \
                    break;                                                                         \
                case DLI_COSINE:                                                                   \
                    dst[r] = dot_self_##pair(x, y, d, &dst[n + r]);                                \
                    break;                                                                         \
                case DLI_L1:                                                                       \
                    dst[r] = l1_##pair(x, y, d);                                                   \
                    break;                                                                         \
                case DLI_L2:                                                                       \
                    dst[r] = l2_##pair(x, y, d);                                                   \
                    break;                                                                         \
                case DLI_LINF:                                                                     \
                    dst[r] = linf_##pair(x, y, d);                                                 \
                    break;                                                                         \
                case DLI_UNEQUAL:                                                                  \
                    whole[r] = unequal_##pair(x, y, d);                                            \
                    break;                                                                         \
                default:                                                                           \
                    return 0;                                                                      \
            }                                                                                      \
        }                                                                                          \
        return 1;                                                                                  \
    }

MEASURES(ff, f32, f32)
MEASURES(fd, f32, f64)
MEASURES(dd, f64, f64)

/* Sums of bytes stay in 32 bits while these cannot overflow. */
#define BYTES(name, T, expression)                                        \
    VECTOR static inline int64_t name(const T* a, const T* b, size_t d) { \
        int64_t s = 0;                                                    \
        for (size_t at = 0; at < d; at += 16384) {                        \
            size_t end = d - at < 16384 ? d : at + 16384;                 \
            int32_t s32 = 0;                                              \
            for (size_t i = at; i < end; i++) {                           \
                int16_t x = a[i], y = b[i];                               \
                s32 += expression;                                        \
            }                                                             \
            s += s32;                                                     \
        }                                                                 \
        return s;                                                         \
    }

#define WHOLES(T)                                                                          \
    BYTES(dot_##T, T, x* y)                                                                \
    BYTES(l1_##T, T, (x > y ? x - y : y - x))                                              \
    BYTES(unequal_##T, T, (x != y))                                                        \
    VECTOR static inline int64_t linf_##T(const T* a, const T* b, size_t d) {              \
        int16_t s = 0;                                                                     \
        for (size_t i = 0; i < d; i++) {                                                   \
            int16_t x = a[i], y = b[i], z = x > y ? x - y : y - x;                         \
            s = z > s ? z : s;                                                             \
        }                                                                                  \
        return s;                                                                          \
    }                                                                                      \
    VECTOR static int measure_##T(int what, const T* a, const T* b, size_t step, size_t n, \
                                  size_t d, int64_t* whole) {                              \
        for (size_t r = 0; r < n; r++, a += d, b += step) switch (what) {                  \
                case DLI_DOT:                                                              \
                    whole[r] = dot_##T(a, b, d);                                           \
                    break;                                                                 \
                case DLI_COSINE:                                                           \
                case DLI_L2:                                                               \
                    whole[r] = dot_##T(a, b, d);                                           \
                    whole[n + r] = dot_##T(a, a, d);                                       \
                    break;                                                                 \
                case DLI_L1:                                                               \
                    whole[r] = l1_##T(a, b, d);                                            \
                    break;                                                                 \
                case DLI_LINF:                                                             \
                    whole[r] = linf_##T(a, b, d);                                          \
                    break;                                                                 \
                case DLI_UNEQUAL:                                                          \
                    whole[r] = unequal_##T(a, b, d);                                       \
                    break;                                                                 \
                default:                                                                   \
                    return 0;                                                              \
            }                                                                              \
        return 1;                                                                          \
    }

WHOLES(i8)
WHOLES(u8)

int dli_compute_measure(int what, int type, int type_b, const void* a, const void* b, size_t step,
                        size_t n, size_t d, double* dst, int64_t* whole) {
    if (type == DLI_F32 && type_b == DLI_F32) return measure_ff(what, a, b, step, n, d, dst, whole);
    if (type == DLI_F32 && type_b == DLI_F64) return measure_fd(what, a, b, step, n, d, dst, whole);
    if (type == DLI_F64 && type_b == DLI_F64) return measure_dd(what, a, b, step, n, d, dst, whole);
    if (type == DLI_I8 && type_b == DLI_I8) return measure_i8(what, a, b, step, n, d, whole);
    if (type == DLI_U8 && type_b == DLI_U8) return measure_u8(what, a, b, step, n, d, whole);
    return 0;
}
