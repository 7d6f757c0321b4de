//go:build cgo

/* Rejects rows of a search without their exact value: a float32 pass over each row bounds its
 * float64 value. */
#include "kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define VECTOR __attribute__((target("avx2,fma")))
#else
#define VECTOR
#endif

#include <math.h>
#include <string.h>

/* Eight numbers at once, at any address of a float. With shorter registers the compiler takes
 * several. */
typedef float wide __attribute__((vector_size(32)));
typedef float half __attribute__((vector_size(16)));

enum { WIDE = 8, ROUGH = 4 * WIDE };

VECTOR static inline wide load(const float* a) {
    wide v;
    memcpy(&v, a, sizeof v);
    return v;
}

/* vector_near.go relies on this count: a term goes through at most d / ROUGH + 1 additions, three
 * more here, and then float64. */
VECTOR static inline double total(wide s0, wide s1, wide s2, wide s3) {
    wide s = (s0 + s1) + (s2 + s3);
    half low, high;
    memcpy(&low, &s, sizeof low);
    memcpy(&high, (const char*)&s + sizeof low, sizeof high);
    low += high;
    return ((double)low[0] + (double)low[1]) + ((double)low[2] + (double)low[3]);
}

/* Four sums side by side, so that an addition need not wait for the last. */
typedef struct {
    wide a, b, c, d;
} sums;

VECTOR static inline void add_squares(sums* s, const float* a, const float* b) {
    wide x = load(a) - load(b), y = load(a + WIDE) - load(b + WIDE);
    wide z = load(a + 2 * WIDE) - load(b + 2 * WIDE), w = load(a + 3 * WIDE) - load(b + 3 * WIDE);
    s->a += x * x;
    s->b += y * y;
    s->c += z * z;
    s->d += w * w;
}

VECTOR static inline void add_products(sums* s, sums* q, const float* a, const float* b) {
    wide x = load(a), y = load(a + WIDE), z = load(a + 2 * WIDE), w = load(a + 3 * WIDE);
    s->a += x * load(b);
    s->b += y * load(b + WIDE);
    s->c += z * load(b + 2 * WIDE);
    s->d += w * load(b + 3 * WIDE);
    q->a += x * x;
    q->b += y * y;
    q->c += z * z;
    q->d += w * w;
}

/* Copies the last elements of a row, fewer than ROUGH, and zeros after them, as in b. */
VECTOR static inline const float* last(const float* a, size_t n, float* out) {
    memset(out, 0, ROUGH * sizeof *out);
    memcpy(out, a, n * sizeof *out);
    return out;
}

VECTOR static inline double rough_square(const float* a, const float* b, size_t d) {
    float end[ROUGH];
    sums s = {{0}, {0}, {0}, {0}};
    size_t i = 0;
    for (; i + ROUGH <= d; i += ROUGH) add_squares(&s, a + i, b + i);
    if (i < d) add_squares(&s, last(a + i, d - i, end), b + i);
    return total(s.a, s.b, s.c, s.d);
}

VECTOR static inline double rough_dot(const float* a, const float* b, size_t d, double* self) {
    float end[ROUGH];
    sums s = {{0}, {0}, {0}, {0}}, q = s;
    size_t i = 0;
    for (; i + ROUGH <= d; i += ROUGH) add_products(&s, &q, a + i, b + i);
    if (i < d) add_products(&s, &q, last(a + i, d - i, end), b + i);
    *self = total(q.a, q.b, q.c, q.d);
    return total(s.a, s.b, s.c, s.d);
}

/* Squares of lengths below this are useless: products may have underflowed. */
static const double least = 0x1p-80;

/* Reports whether a row is surely beyond the limit. Infinity and NaN never are. */
VECTOR static inline int beyond(const dli_compute_limit* l, double v, double self) {
    double t = v - l->at;
    t = t < 0 ? -(t * t) : t * t;
    if (!(l->above ? t > l->slope * self : t < l->slope * self)) return 0;
    return v - v == 0 && self - self == 0 && self > least;
}

VECTOR int dli_compute_near(int what, const float* a, const double* b, const float* rough, size_t n,
                            size_t d, const dli_compute_limit* limit, double* dst) {
    if (what != DLI_DOT && what != DLI_COSINE && what != DLI_L2) return 0;
    for (size_t k = 0; k < n; k++) {
        size_t r = DLI_TURN(k, n);
        const float* row = a + r * d;
        double self = 1,
               v = what == DLI_L2 ? rough_square(row, rough, d) : rough_dot(row, rough, d, &self);
        double exact[2] = {limit->above ? HUGE_VAL : what == DLI_L2 ? 0 : -HUGE_VAL, 1};
        if (!beyond(limit, v, self) &&
            !dli_compute_measure(what, DLI_F32, DLI_F64, row, b, 0, 1, d, exact, NULL))
            return 0;
        dst[r] = exact[0];
        if (what == DLI_COSINE) dst[n + r] = exact[1];
    }
    return 1;
}
