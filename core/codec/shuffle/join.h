/* Planes of bytes to numbers: the part of decoding that Go's compiler makes slow code of. */
#ifndef DEEPLAKE_CODEC_SHUFFLE_JOIN_H
#define DEEPLAKE_CODEC_SHUFFLE_JOIN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* Writes n numbers of size bytes, 4 or 8, whose low bytes lie in planes, 1 or 2, one after the
 * other, and adds base to each. dst is aligned to size. */
void dli_shuffle_join(void* restrict dst, const uint8_t* restrict body, size_t n, int size,
                      int planes, uint64_t base);

/* The same without AVX2. */
void dli_shuffle_join_plain(void* restrict dst, const uint8_t* restrict body, size_t n, int size,
                            int planes, uint64_t base);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
