/* Which libjpeg the C code is written for: libjpeg-turbo 1.5 or newer, with the binary interface of
 * libjpeg 6.2, 7 or 8. tools/toolchain.py compiles this to learn whether the library of a machine
 * will do; it prints the messages below. A build leaves libjpeg out with the tag nolibjpeg. */
#ifndef DEEPLAKE_CODEC_JPEG_TURBO_ABI_H
#define DEEPLAKE_CODEC_JPEG_TURBO_ABI_H

#include <stdio.h>

#include <jpeglib.h>

#if !defined(LIBJPEG_TURBO_VERSION)
#error \
    "libjpeg is not libjpeg-turbo, want libjpeg-turbo 1.5 or newer (IJG's libjpeg decodes no parts of images)"
#elif !defined(LIBJPEG_TURBO_VERSION_NUMBER) || LIBJPEG_TURBO_VERSION_NUMBER < 1005000
#error "libjpeg-turbo is older than 1.5, which decodes no parts of images"
#elif JPEG_LIB_VERSION != 62 && JPEG_LIB_VERSION != 70 && JPEG_LIB_VERSION != 80
#error "libjpeg has an unknown binary interface, want JPEG_LIB_VERSION 62, 70 or 80"
#endif

/* From version 7 of the interface on, blocks may be scaled to other heights than widths.
 * libjpeg-turbo scales both alike. */
#if JPEG_LIB_VERSION >= 70
#define DLI_SCALED_SIZE(component) ((component)->DCT_h_scaled_size)
#else
#define DLI_SCALED_SIZE(component) ((component)->DCT_scaled_size)
#endif

/* Whether the beginning of struct jpeg_entropy_decoder, which no header shows, is known: it is the
 * same in libjpeg-turbo 1.5 to 3. In later ones libjpeg decodes Huffman codes itself. */
#define DLI_KNOWN_ENTROPY (LIBJPEG_TURBO_VERSION_NUMBER < 4000000)

#include "turbo.h"

/* What became of a struct that libjpeg would not create, whose message is in place:
 * DLI_JPEG_UNSUPPORTED, with a message that says so, where the library that runs has another binary
 * interface than the headers of the build. message has JMSG_LENGTH_MAX bytes. */
#if defined(__GNUC__)
__attribute__((visibility("hidden")))
#endif
dli_jpeg_status dli_jpeg_refused(j_common_ptr cinfo, char* message);

#endif
