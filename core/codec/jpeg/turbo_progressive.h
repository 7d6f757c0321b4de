/* Huffman decoding of the scans of progressive files, in place of libjpeg-turbo's own. libjpeg
 * keeps the coefficients, reads what lies between scans, and checks that scans fit together. */
#ifndef DEEPLAKE_CODEC_JPEG_TURBO_PROGRESSIVE_H
#define DEEPLAKE_CODEC_JPEG_TURBO_PROGRESSIVE_H

#include "turbo_huffman.h"

/* Takes over the scan that libjpeg has begun, and read nothing of, if it is one of a progressive
 * file. cinfo->client_data must point at h. Returns whether it did. Where h has to stop afterwards,
 * cinfo's error JERR_CANT_SUSPEND says so. */
int dli_progressive_scan(dli_huffman* h, j_decompress_ptr cinfo);

#endif
