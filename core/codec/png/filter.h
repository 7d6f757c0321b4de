/* Row filters of PNG, undone: the part of decoding that Go's compiler makes slow code of. */
#ifndef DEEPLAKE_CODEC_PNG_FILTER_H
#define DEEPLAKE_CODEC_PNG_FILTER_H

#include <stddef.h>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* Bytes behind the rows, and behind the row above them, that may be read. */
enum { DLI_PNG_SLACK = 8 };

/* Undoes the filters of count rows in place. Each is a byte that names the filter, and size bytes;
 * above has size bytes, zeroes for the first row of an image. A pixel has 1 to 8 bytes. Returns how
 * many rows it has undone: fewer than count if the filter of the next one does not exist. */
size_t dli_png_unfilter(unsigned char* rows, size_t count, size_t size, const unsigned char* above,
                        size_t pixel);

/* The same without vector instructions. */
size_t dli_png_unfilter_plain(unsigned char* rows, size_t count, size_t size,
                              const unsigned char* above, size_t pixel);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
