//go:build cgo && !nolibjpeg

/* Source: ITU-T T.81, annex G. */
#include "turbo_progressive.h"

#include <stdlib.h>
#include <string.h>

#include "turbo_bits.h"

#if DLI_KNOWN_ENTROPY

enum {
    /* What one MCU can take: a code of 16 bits and 14 behind it for each coefficient, or one bit
     * for each; and a look ahead. */
    MCU = 64 * 4 + D_MAX_BLOCKS_IN_MCU * 4 + 16,
};

/* The first n bits of the buffer, at most 15. */
static inline unsigned first_of(uint64_t buffer, unsigned n) {
    return (unsigned)(buffer >> 1 >> (63 - n));
}

#define BEGIN_MCU()                      \
    dli_huffman* h = cinfo->client_data; \
    begin_mcu(h, cinfo);                 \
    uint64_t buffer = h->buffer;         \
    unsigned bits = h->bits;             \
    const unsigned char* next = h->next

#define END_MCU()                                                                                 \
    do {                                                                                          \
        if ((h->end - next) * 8 + (ptrdiff_t)bits < 0) dli_bits_stop(cinfo); /* behind the end */ \
        h->buffer = buffer;                                                                       \
        h->bits = bits;                                                                           \
        h->next = next;                                                                           \
        if (--h->mcus == 0) dli_bits_leave(h, cinfo);                                             \
        return TRUE;                                                                              \
    } while (0)

static void begin_mcu(dli_huffman* h, j_decompress_ptr cinfo) {
    if (cinfo->restart_interval != 0) {
        if (h->until_restart == 0) {
            dli_bits_pass_restart(h, cinfo);
            h->progressive.ended = 0;
        }
        h->until_restart--;
    }
    if (!h->whole && h->end - h->next < MCU) dli_bits_fill(h);
}

static boolean first_dc(j_decompress_ptr cinfo, JBLOCKROW* rows) {
    BEGIN_MCU();
    for (int i = 0; i < cinfo->blocks_in_MCU; i++) {
        int n = cinfo->MCU_membership[i];
        REFILL();
        unsigned s = dli_codes_find(&h->dc[cinfo->cur_comp_info[n]->dc_tbl_no], buffer, cinfo);
        TAKE(s >> 8);
        if ((s &= 255) > DLI_MOST_DC) dli_bits_stop(cinfo);
        int dc = h->last_dc[n] += value_of(buffer, s);
        TAKE(s);
        if (dc > DLI_MOST_SUM || dc < -DLI_MOST_SUM) dli_bits_stop(cinfo);
        (*rows[i])[0] = (JCOEF)((uint32_t)dc << cinfo->Al);
    }
    END_MCU();
}

static boolean more_dc(j_decompress_ptr cinfo, JBLOCKROW* rows) {
    BEGIN_MCU();
    REFILL();
    for (int i = 0; i < cinfo->blocks_in_MCU; i++) {
        if (buffer >> 63) (*rows[i])[0] |= (JCOEF)(1 << cinfo->Al);
        TAKE(1);
    }
    END_MCU();
}

/* Notes that coefficient k of a block is not 0. Damaged runs lead beyond the last one. */
static inline uint64_t bit_of(int k) { return (uint64_t)1 << (k < DCTSIZE2 ? k : DCTSIZE2 - 1); }

static boolean first_ac(j_decompress_ptr cinfo, JBLOCKROW* rows) {
    BEGIN_MCU();
    uint64_t* filled = h->progressive.next++;
    if (h->progressive.ended > 0) {
        h->progressive.ended--;
        END_MCU();
    }
    JCOEFPTR block = *rows[0];
    for (int k = cinfo->Ss; k <= cinfo->Se; k++) {
        REFILL();
        unsigned s = dli_codes_find(h->progressive.codes, buffer, cinfo), run = s >> 4 & 15;
        TAKE(s >> 8);
        s &= 15;
        if (s != 0) {
            if (s > DLI_MOST_AC) dli_bits_stop(cinfo);
            k += (int)run;
            JCOEF value = (JCOEF)(value_of(buffer, s) * (1 << cinfo->Al));
            block[dli_places[k]] = value;
            if (value != 0) *filled |= bit_of(k); /* of a wild one no bit may be left */
            TAKE(s);
        } else if (run == 15) {
            k += 15;
        } else { /* this block ends here, and so do as many that follow */
            h->progressive.ended = (1u << run) - 1 + first_of(buffer, run);
            TAKE(run);
            break;
        }
    }
    END_MCU();
}

/* Adds a bit of magnitude to the coefficients of a set, for each one that the file has. */
#define REFINE(set)                                                       \
    for (uint64_t todo = (set); todo != 0;) {                             \
        if (bits < 32) REFILL();                                          \
        int n = 0;                                                        \
        uint64_t ahead = buffer;                                          \
        for (; n < 32 && todo != 0; n++, ahead <<= 1, todo &= todo - 1) { \
            JCOEF* c = &block[dli_places[__builtin_ctzll(todo)]];         \
            int value = *c, sign = value >> 31;                           \
            int adds = (int)(ahead >> 63) & ((value & plus) == 0);        \
            *c = (JCOEF)(value + (((plus ^ sign) - sign) & -adds));       \
        }                                                                 \
        TAKE(n);                                                          \
    }

/* Returns the bit of a set that comes behind n others; 0: it has fewer. */
typedef uint64_t nth(uint64_t set, unsigned n);

static inline uint64_t nth_plain(uint64_t set, unsigned n) {
    for (; n > 0; n--) set &= set - 1;
    return set & -set;
}

/* Adds a bit to the coefficients of a block that are not 0, and finds new ones of that bit alone.
 */
static inline __attribute__((always_inline)) boolean more_ac_by(nth* nth_of, j_decompress_ptr cinfo,
                                                                JBLOCKROW* rows) {
    BEGIN_MCU();
    JCOEFPTR block = *rows[0];
    const int plus = 1 << cinfo->Al, end = cinfo->Se;
    uint64_t* filled = h->progressive.next++;
    const uint64_t all = ~(uint64_t)0 >> (DCTSIZE2 - 1 - end) & ~(uint64_t)0 << cinfo->Ss;
    const uint64_t old = *filled & all;
    uint64_t left = all; /* positions that follow */
    int k = cinfo->Ss;
    while (h->progressive.ended == 0 && k <= end) {
        REFILL();
        unsigned s = dli_codes_find(h->progressive.codes, buffer, cinfo), run = s >> 4 & 15;
        TAKE(s >> 8);
        int value = 0;
        if ((s & 15) != 0) {
            if ((s & 15) != 1) dli_bits_stop(cinfo);
            value = buffer >> 63 ? plus : -plus;
            TAKE(1);
        } else if (run != 15) {
            h->progressive.ended = (1u << run) + first_of(buffer, run);
            TAKE(run);
            break;
        }
        /* The next one comes behind as many zeroes; if there are fewer, behind the band. */
        const uint64_t here = nth_of(left & ~old, run);
        REFINE(left & old & (here - 1));
        k = here != 0 ? __builtin_ctzll(here) : end + 1;
        if (value != 0) {
            block[dli_places[k]] = (JCOEF)value;
            *filled |= bit_of(k);
        }
        k++;
        left = here != 0 ? left & ~(here | (here - 1)) : 0;
    }
    if (h->progressive.ended > 0) {
        REFINE(left & old);
        h->progressive.ended--;
    }
    END_MCU();
}

static boolean more_ac(j_decompress_ptr cinfo, JBLOCKROW* rows) {
    return more_ac_by(nth_plain, cinfo, rows);
}

#if DLI_X86

#include <immintrin.h>

#define VECTOR __attribute__((target("bmi,bmi2")))

VECTOR static inline uint64_t nth_bmi2(uint64_t set, unsigned n) {
    return _pdep_u64((uint64_t)1 << n, set);
}

VECTOR static boolean more_ac_bmi2(j_decompress_ptr cinfo, JBLOCKROW* rows) {
    return more_ac_by(nth_bmi2, cinfo, rows);
}

/* The first Zen processors take a hundred cycles and more for the instruction. */
static int has_bmi2(void) {
    return __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("znver1") &&
           !__builtin_cpu_is("znver2");
}

#else

#define more_ac_bmi2 more_ac

static int has_bmi2(void) { return 0; }

#endif

/* Makes the tables of the scan; 0: libjpeg decodes it. */
static int make_tables(dli_huffman* h, j_decompress_ptr cinfo) {
    for (int i = 0; i < cinfo->comps_in_scan; i++) {
        const jpeg_component_info* c = cinfo->cur_comp_info[i];
        int is_dc = cinfo->Ss == 0;
        unsigned n = (unsigned)(is_dc ? c->dc_tbl_no : c->ac_tbl_no);
        if (n >= NUM_HUFF_TBLS) return 0;
        JHUFF_TBL* source = is_dc ? cinfo->dc_huff_tbl_ptrs[n] : cinfo->ac_huff_tbl_ptrs[n];
        dli_codes* to = is_dc ? &h->dc[n] : &h->progressive.ac[n];
        if (source == NULL || !dli_codes_make(to, source)) return 0;
        h->progressive.codes = to;
    }
    return 1;
}

/* Makes room for the sets of all blocks, at the first scan. */
static int reserve(dli_huffman* h, j_decompress_ptr cinfo) {
    size_t blocks = 0;
    for (int i = 0; i < cinfo->num_components; i++) {
        const jpeg_component_info* c = &cinfo->comp_info[i];
        h->progressive.start[i] = blocks;
        blocks += (size_t)c->width_in_blocks * c->height_in_blocks;
    }
    if (h->progressive.room < blocks) {
        free(h->progressive.filled);
        h->progressive.room = 0;
        h->progressive.filled = malloc(blocks * sizeof(uint64_t));
        if (h->progressive.filled == NULL) return 0;
        h->progressive.room = blocks;
    }
    memset(h->progressive.filled, 0, blocks * sizeof(uint64_t));
    return 1;
}

/* Prepares for the scan; 0: libjpeg decodes it. */
static int prepare(dli_huffman* h, j_decompress_ptr cinfo) {
    int is_dc = cinfo->Ss == 0, is_first = cinfo->Ah == 0;
    if (!cinfo->progressive_mode || cinfo->arith_code || cinfo->data_precision != 8 ||
        cinfo->blocks_in_MCU > D_MAX_BLOCKS_IN_MCU)
        return 0;
    if ((is_first || !is_dc) && !make_tables(h, cinfo)) return 0;
    if (!is_dc)
        h->progressive.next =
            h->progressive.filled + h->progressive.start[cinfo->cur_comp_info[0]->component_index];
    return dli_bits_open(h, cinfo);
}

int dli_progressive_scan(dli_huffman* h, j_decompress_ptr cinfo) {
    if (cinfo->input_scan_number == 1) h->progressive.is_lost = !reserve(h, cinfo);
    /* What libjpeg decodes of a scan is not known here, and the next scans depend on it. */
    if (h->progressive.is_lost || (h->progressive.is_lost = !prepare(h, cinfo))) return 0;
    h->progressive.ended = 0;
    h->mcus = (size_t)cinfo->MCUs_per_row * cinfo->MCU_rows_in_scan;
    if (cinfo->Ss == 0)
        dli_bits_take_over(cinfo, cinfo->Ah == 0 ? first_dc : more_dc);
    else if (cinfo->Ah == 0)
        dli_bits_take_over(cinfo, first_ac);
    else
        dli_bits_take_over(cinfo, has_bmi2() ? more_ac_bmi2 : more_ac);
    return 1;
}

#else

int dli_progressive_scan(dli_huffman* h, j_decompress_ptr cinfo) {
    (void)h;
    (void)cinfo;
    return 0;
}

#endif
