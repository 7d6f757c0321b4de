/* Huffman decoding of sequential scans, in place of libjpeg-turbo's own: the part of decoding that
 * takes most of the time. It owns the way from the bytes of a scan to coefficients; the headers,
 * the inverse DCT, upsampling and colours stay libjpeg's. It handles the good case alone. At
 * anything else it stops, and libjpeg decodes the file again, so that libjpeg alone judges damage.
 */
#ifndef DEEPLAKE_CODEC_JPEG_TURBO_HUFFMAN_H
#define DEEPLAKE_CODEC_JPEG_TURBO_HUFFMAN_H

#include <stddef.h>
#include <stdint.h>
#include "packed.h"
#include "turbo_abi.h"

/* Whether there is code for x86-64 processors with more instructions than all of them have. The
 * compiler's flag DLI_PORTABLE leaves it out, for tests. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(DLI_PORTABLE)
#define DLI_X86 1
#else
#define DLI_X86 0
#endif

enum {
    DLI_HUFFMAN_AHEAD = 10, /* bits that one look-up sees: nearly all codes, in tables that stay in
                              the first cache */
    DLI_HUFFMAN_WINDOW = 16 << 10,
    /* The most bytes of the blocks of one MCU: 27 bits for each first coefficient, 26 for each
       other; and a look ahead. */
    DLI_HUFFMAN_MCU = D_MAX_BLOCKS_IN_MCU * 216 + 16,
};

/* The codes of a Huffman table. */
typedef struct {
    int made;
    JHUFF_TBL source;
    /* The code at the start of the next DLI_HUFFMAN_AHEAD bits: its length << 8 | its byte; 0: no
     * code, or a longer one. */
    uint16_t symbols[1 << DLI_HUFFMAN_AHEAD];
    /* Codes of length n, of 16 bits with zeroes behind, are below limit[n], those of more bits are
     * not; code c of them is symbol number first[n] + (c >> (16 - n)). */
    uint32_t limit[18];
    int32_t first[17];
} dli_codes;

/* The same for coefficients of sequential files, with the values behind the codes. */
typedef struct {
    dli_codes codes;
    uint64_t symbols[1 << DLI_HUFFMAN_AHEAD]; /* see KNOWN in the .c; 0: no code, or a longer one */
} dli_huffman_table;

/* One block of an MCU. */
typedef struct {
    const dli_codes* dc;
    const dli_huffman_table* ac;
    int component; /* of the scan */
    int dc_only;   /* no other coefficient is needed */
} dli_huffman_block;

/* The decoder of one scan at a time. Before dli_huffman_start all zeroes. */
typedef struct {
    uint64_t buffer;            /* the next bits, from the top */
    unsigned bits;              /* how many of them count */
    const unsigned char* next;  /* the next byte of the window */
    const unsigned char* end;   /* of the bytes in the window */
    const unsigned char* ahead; /* the next byte of the file */
    const unsigned char* file_end;
    int whole; /* all bytes up to a marker are in the window, and ahead is at the marker */
    unsigned until_restart;
    unsigned restart; /* number of the next restart marker */
    size_t mcus;      /* that are left */
    int in_mcu;       /* blocks of an MCU */
    int last_dc[MAX_COMPS_IN_SCAN];
    dli_huffman_block blocks[D_MAX_BLOCKS_IN_MCU];
    /* Of each block of the MCU that was decoded last, a coefficient behind which all are 0, in the
     * order of the file. */
    unsigned char last[D_MAX_BLOCKS_IN_MCU];
    dli_codes dc[NUM_HUFF_TBLS];
    dli_huffman_table ac[NUM_HUFF_TBLS];
    struct {
        dli_codes ac[NUM_HUFF_TBLS];
        const dli_codes* codes; /* of the scan's coefficients but the first */
        unsigned ended;         /* blocks ahead that have no more of them */
        /* Of each block of each component: which coefficients are not 0, in the order of the file.
         */
        uint64_t* filled;
        size_t room;
        size_t start[MAX_COMPONENTS];
        uint64_t* next; /* block of the scan */
        int is_lost;    /* libjpeg has decoded a scan of the file itself */
    } progressive;
    unsigned char* window; /* bytes of the scan, those that only keep markers apart taken out; room
                              for an MCU behind */
} dli_huffman;

/* Describes the image, as far down as its first rows need (0: all), if it is of the kind that is
 * decoded without libjpeg: gray or YCbCr, with chroma as fine as luma, half as wide, or half as
 * wide and high. Else returns 0. components are its components, in the order of blocks in an MCU.
 */
int dli_huffman_describe(j_decompress_ptr cinfo, jpeg_component_info* const* components,
                         dli_jpeg_packed* to, uint32_t rows);

/* Takes over the scan at whose data cinfo stands, after jpeg_start_decompress, if it is one of
 * those that this can decode. cinfo->client_data must point at h. Returns whether it did: 0 leaves
 * everything unchanged. Afterwards libjpeg reports JERR_CANT_SUSPEND where h has to stop. */
int dli_huffman_start(dli_huffman* h, j_decompress_ptr cinfo);

/* Begins the scan at whose data cinfo stands, after jpeg_read_header, for dli_huffman_mcu. Returns
 * 0 for an image that cannot be decoded so, else describes it. */
int dli_huffman_begin(dli_huffman* h, j_decompress_ptr cinfo, dli_jpeg_packed* image);

/* Decodes the next MCU into its blocks, row after row, which are all 0 before. rows NULL: their
 * coefficients are not wanted. Where h has to stop, cinfo's error JERR_CANT_SUSPEND says so. */
void dli_huffman_mcu(dli_huffman* h, j_decompress_ptr cinfo, JBLOCKROW* rows);

/* Reports whether all MCUs are decoded and the end of the image follows. */
int dli_huffman_ended(const dli_huffman* h);

/* Decodes the scan at whose data cinfo stands, after jpeg_read_header, to packed coefficients in
 * dst, of which the address is a multiple of 8. Returns how many of its room bytes they take. 0:
 * the image does not fit, is of a kind that the device does not finish, or is damaged; an error of
 * cinfo says the same. Only MCUs of which the first rows of the image are made are packed; rows 0:
 * all. */
size_t dli_huffman_pack(dli_huffman* h, j_decompress_ptr cinfo, unsigned char* dst, size_t room,
                        uint32_t rows);

/* Reports whether dli_huffman_pack packs files with this header. */
int dli_huffman_packs(j_decompress_ptr cinfo);

/* Frees what h holds. */
void dli_huffman_free(dli_huffman* h);

#endif
