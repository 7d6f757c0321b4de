//go:build cgo

#include "join.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* The loops are plain, so that the compiler makes vector instructions of them. */
INLINE void one4(uint32_t* restrict d, const uint8_t* restrict a, size_t n, uint32_t base) {
    for (size_t i = 0; i < n; i++) d[i] = base + a[i];
}

INLINE void one8(uint64_t* restrict d, const uint8_t* restrict a, size_t n, uint64_t base) {
    for (size_t i = 0; i < n; i++) d[i] = base + a[i];
}

INLINE void two4(uint32_t* restrict d, const uint8_t* restrict a, const uint8_t* restrict b,
                 size_t n, uint32_t base) {
    for (size_t i = 0; i < n; i++) d[i] = base + (a[i] | (uint32_t)b[i] << 8);
}

INLINE void two8(uint64_t* restrict d, const uint8_t* restrict a, const uint8_t* restrict b,
                 size_t n, uint64_t base) {
    for (size_t i = 0; i < n; i++) d[i] = base + (a[i] | (uint64_t)b[i] << 8);
}

INLINE void join(void* restrict dst, const uint8_t* restrict body, size_t n, int size, int planes,
                 uint64_t base) {
    if (size == 4 && planes == 1) one4(dst, body, n, (uint32_t)base);
    if (size == 8 && planes == 1) one8(dst, body, n, base);
    if (size == 4 && planes == 2) two4(dst, body, body + n, n, (uint32_t)base);
    if (size == 8 && planes == 2) two8(dst, body, body + n, n, base);
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void join_vector(void* restrict dst,
                                                        const uint8_t* restrict body, size_t n,
                                                        int size, int planes, uint64_t base) {
    join(dst, body, n, size, planes, base);
}
#endif

void dli_shuffle_join_plain(void* restrict dst, const uint8_t* restrict body, size_t n, int size,
                            int planes, uint64_t base) {
    join(dst, body, n, size, planes, base);
}

void dli_shuffle_join(void* restrict dst, const uint8_t* restrict body, size_t n, int size,
                      int planes, uint64_t base) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2")) {
        join_vector(dst, body, n, size, planes, base);
        return;
    }
#endif
    join(dst, body, n, size, planes, base);
}
