//go:build cgo && !nolibjpeg

#include "turbo_bits.h"

#include <stdlib.h>
#include <string.h>

#include <jerror.h>

#if DLI_KNOWN_ENTROPY

/* The result of a look-up: a symbol and the code before it, or two that follow each other.
 *   bits 0 to 7    how many bits they take, the values behind them included
 *   bits 8 to 14   how many coefficients the first goes ahead
 *   bits 40 to 47  how many bits the first takes
 *   bit 15         KNOWN: its value is there too, in bits 16 to 31, and maybe a second: bits 32 to
 * 38 say how many coefficients that goes ahead, 0 where there is none, and bits 48 to 63 are its
 * value else bits 16 to 19 say how many bits the value has, 20 to 24 how many the code has */
enum { KNOWN = 1 << 15 };

static inline unsigned ahead(uint64_t symbol) { return symbol >> 8 & 127; }
static inline unsigned value_bits(uint64_t symbol) { return symbol >> 16 & 15; }
static inline unsigned code_bits(uint64_t symbol) { return symbol >> 20 & 31; }
static inline unsigned second_ahead(uint64_t symbol) { return symbol >> 32 & 127; }
static inline unsigned first_bits(uint64_t symbol) { return symbol >> 40 & 255; }

/* The meaning of a symbol; 0 for one that files of 8 bits do not have. */
static uint64_t meaning(unsigned symbol) {
    unsigned length = symbol >> 8, run = symbol >> 4 & 15, bits = symbol & 15, far = run + 1;
    if (bits > DLI_MOST_AC) return 0;
    if (bits == 0) far = run == 15 ? 16 : DLI_END;
    return (length + bits) | far << 8 | bits << 16 | length << 20 | (uint64_t)(length + bits) << 40;
}

/* Fills the entries of the look-up that begin with a code, with left bits over for the value behind
 * it. */
static void enter(uint64_t* to, unsigned left, uint64_t means) {
    unsigned bits = value_bits(means);
    int known = means != 0 && bits <= left &&
                (bits > 0 || ahead(means) == DLI_END); /* not zeroes in a row */
    unsigned values = known ? bits : 0;
    for (uint32_t value = 0; value < 1u << values; value++) {
        if (known) {
            uint64_t buffer = bits > 0 ? (uint64_t)value << (64 - bits) : 0;
            means = (means & ~(uint64_t)0xffff8000) | KNOWN |
                    (uint64_t)(uint16_t)value_of(buffer, bits) << 16;
        }
        for (uint32_t rest = 0; rest < 1u << (left - values); rest++) *to++ = means;
    }
}

/* Puts what follows a known symbol beside it, where a look-up sees all of it. */
static void pair(dli_huffman_table* t) {
    for (uint32_t i = 0; i < 1u << DLI_HUFFMAN_AHEAD;) {
        uint64_t symbol = t->symbols[i];
        unsigned bits = first_bits(symbol);
        if ((symbol & KNOWN) == 0) {
            i++;
            continue;
        }
        uint32_t run = 1u << (DLI_HUFFMAN_AHEAD - bits);
        for (uint32_t rest = 0; ahead(symbol) != DLI_END && rest < run;) {
            uint64_t next = t->symbols[rest << bits];
            unsigned more = first_bits(next);
            if ((next & KNOWN) == 0 || bits + more > DLI_HUFFMAN_AHEAD) {
                rest++;
                continue;
            }
            uint64_t two =
                symbol + more + ((uint64_t)ahead(next) << 32) + ((next >> 16 & 0xffff) << 48);
            for (uint32_t end = rest + (run >> more); rest < end; rest++)
                t->symbols[i + rest] = two;
        }
        i += run;
    }
}

/* Makes a table, unless it is made. Returns 0 for codes that cannot be. */
static int make(dli_huffman_table* t, const JHUFF_TBL* source) {
    int how = dli_codes_make(&t->codes, source);
    if (how != 1) return how;
    memset(t->symbols, 0, sizeof t->symbols);
    for (uint32_t at = 0; at < 1u << DLI_HUFFMAN_AHEAD;) {
        unsigned symbol = t->codes.symbols[at], length = symbol >> 8;
        if (length == 0) {
            at++;
            continue;
        }
        enter(&t->symbols[at], DLI_HUFFMAN_AHEAD - length, meaning(symbol));
        at += 1u << (DLI_HUFFMAN_AHEAD - length);
    }
    pair(t);
    return 1;
}

/* Reports whether a table has symbols of first coefficients alone. */
static int is_for_dc(const JHUFF_TBL* table) {
    unsigned count = 0;
    for (int length = 1; length <= 16; length++) count += table->bits[length];
    for (unsigned i = 0; i < count && i < 256; i++)
        if (table->huffval[i] > 15) return 0;
    return 1;
}

/* Finds the meaning of a code that the look-up does not know. */
static uint64_t find(const dli_huffman_table* t, uint64_t buffer) {
    unsigned symbol = dli_codes_search(&t->codes, buffer);
    return symbol != 0 ? meaning(symbol) : 0;
}

#define LOOK_UP(table) (table)->symbols[buffer >> (64 - DLI_HUFFMAN_AHEAD)]

_Static_assert(5 * DLI_HUFFMAN_AHEAD <= 56, "five known symbols fit into what a refill gives");

void dli_huffman_mcu(dli_huffman* h, j_decompress_ptr cinfo, JBLOCKROW* rows) {
    if (cinfo->restart_interval != 0) {
        if (h->until_restart == 0) dli_bits_pass_restart(h, cinfo);
        h->until_restart--;
    }
    if (!h->whole && h->end - h->next < DLI_HUFFMAN_MCU) dli_bits_fill(h);
    uint64_t buffer = h->buffer;
    unsigned bits = h->bits;
    const unsigned char* next = h->next;
    for (int i = 0; i < h->in_mcu; i++) {
        const dli_huffman_block* b = &h->blocks[i];
        REFILL();
        unsigned first = dli_codes_find(b->dc, buffer, cinfo), size = first & 255;
        TAKE(first >> 8);
        int dc = h->last_dc[b->component] += value_of(buffer, size);
        TAKE(size);
        REFILL();
        if (size > DLI_MOST_DC || dc > DLI_MOST_SUM || dc < -DLI_MOST_SUM) dli_bits_stop(cinfo);
        uint64_t s;
        const dli_huffman_table* ac = b->ac;
        const unsigned char* place = dli_places;
        if (rows != NULL && !b->dc_only) {
            JCOEFPTR block = (JCOEFPTR)rows[i];
            do {
#pragma GCC unroll 5
                for (int n = 0; n < 5; n++) { /* known ones take DLI_HUFFMAN_AHEAD bits at most */
                    s = LOOK_UP(ac);
                    if ((s & KNOWN) == 0) goto other;
                    place += ahead(s);
                    const unsigned char* second = place + second_ahead(s);
                    block[*second] =
                        (JCOEF)(s >> 48); /* where there is none, or the block ends before it, */
                    block[*place] = (JCOEF)(s >> 16); /* this is written over it */
                    if (second >= dli_places + 63) {
                        /* Which of both ends the block is as good as random: no branch. */
                        const unsigned ended = -(unsigned)(place >= dli_places + 63);
                        const unsigned taken = first_bits(s) & ended | (unsigned)s & ~ended;
                        place += second_ahead(s) & ~ended;
                        TAKE(taken);
                        goto done;
                    }
                    place = second;
                    TAKE(s);
                }
                REFILL();
                continue;
            other:
                REFILL();
                if (s == 0 && (s = find(ac, buffer)) == 0) dli_bits_stop(cinfo);
                place += ahead(s);
                if (value_bits(s) != 0)
                    block[*place] = (JCOEF)value_of(buffer << code_bits(s), value_bits(s));
                TAKE(s);
                REFILL();
            } while (place < dli_places + 63);
        done:
            block[0] = (JCOEF)dc;
            h->last[i] =
                (unsigned char)(place < dli_places + DLI_END ? 63 : place - dli_places - DLI_END);
        } else {
            if (rows != NULL) (*rows[i])[0] = (JCOEF)dc;
            do {
                for (int n = 0; n < 2 && place < dli_places + 63; n++) {
                    s = LOOK_UP(ac);
                    if (s == 0 && (s = find(ac, buffer)) == 0) dli_bits_stop(cinfo);
                    place += ahead(s);
                    if (place >= dli_places + 63)
                        s = first_bits(s);
                    else
                        place += second_ahead(s);
                    TAKE(s);
                }
                REFILL();
            } while (place < dli_places + 63);
        }
    }
    if ((h->end - next) * 8 + (ptrdiff_t)bits < 0) dli_bits_stop(cinfo); /* behind the end */
    h->buffer = buffer;
    h->bits = bits;
    h->next = next;
    if (--h->mcus == 0) dli_bits_leave(h, cinfo);
}

static boolean decode_mcu(j_decompress_ptr cinfo, JBLOCKROW* rows) {
    dli_huffman_mcu(cinfo->client_data, cinfo, rows);
    return TRUE;
}

/* Prepares for the scan at whose data cinfo stands. Returns 0 for one that is libjpeg's. */
static int begin_scan(dli_huffman* h, j_decompress_ptr cinfo) {
    if (cinfo->progressive_mode || cinfo->arith_code || cinfo->data_precision != 8 ||
        cinfo->comps_in_scan != cinfo->num_components)
        return 0;
    for (int i = 0; i < cinfo->comps_in_scan; i++) {
        unsigned dc = (unsigned)cinfo->cur_comp_info[i]->dc_tbl_no,
                 ac = (unsigned)cinfo->cur_comp_info[i]->ac_tbl_no;
        if (dc >= NUM_HUFF_TBLS || ac >= NUM_HUFF_TBLS || cinfo->dc_huff_tbl_ptrs[dc] == NULL ||
            cinfo->ac_huff_tbl_ptrs[ac] == NULL || !is_for_dc(cinfo->dc_huff_tbl_ptrs[dc]) ||
            !dli_codes_make(&h->dc[dc], cinfo->dc_huff_tbl_ptrs[dc]) ||
            !make(&h->ac[ac], cinfo->ac_huff_tbl_ptrs[ac]))
            return 0;
    }
    return dli_bits_open(h, cinfo);
}

/* Describes a block of an MCU that belongs to component n of the scan. */
static dli_huffman_block block_of(dli_huffman* h, j_decompress_ptr cinfo, int n, int dc_only) {
    const jpeg_component_info* c = cinfo->cur_comp_info[n];
    return (dli_huffman_block){&h->dc[c->dc_tbl_no], &h->ac[c->ac_tbl_no], n, dc_only};
}

int dli_huffman_start(dli_huffman* h, j_decompress_ptr cinfo) {
    if (cinfo->blocks_in_MCU > D_MAX_BLOCKS_IN_MCU || !begin_scan(h, cinfo)) return 0;
    h->in_mcu = cinfo->blocks_in_MCU;
    for (int i = 0; i < h->in_mcu; i++) {
        int n = cinfo->MCU_membership[i];
        h->blocks[i] = block_of(h, cinfo, n, DLI_SCALED_SIZE(cinfo->cur_comp_info[n]) == 1);
    }
    h->mcus = (size_t)cinfo->MCUs_per_row * cinfo->MCU_rows_in_scan;
    dli_bits_take_over(cinfo, decode_mcu);
    return 1;
}

/* ---- Without libjpeg behind the header ---- */

static uint32_t parts(uint32_t n, uint32_t size) { return (n + size - 1) / size; }

int dli_huffman_describe(j_decompress_ptr cinfo, jpeg_component_info* const* components,
                         dli_jpeg_packed* to, uint32_t rows) {
    const jpeg_component_info* c = components[0];
    int colors = cinfo->num_components == 3;
    if (!colors && (cinfo->num_components != 1 || cinfo->jpeg_color_space != JCS_GRAYSCALE) ||
        colors && cinfo->jpeg_color_space != JCS_YCbCr)
        return 0;
    memset(to, 0, sizeof *to);
    to->width = cinfo->image_width;
    to->height = cinfo->image_height;
    to->components = (uint8_t)cinfo->num_components;
    to->h = colors ? (uint8_t)c->h_samp_factor : 1;
    to->v = colors ? (uint8_t)c->v_samp_factor : 1;
    if (to->h > 2 || to->v > to->h) return 0;
    for (int i = 0; i < cinfo->num_components; i++) {
        c = components[i];
        if (i > 0 && (c->h_samp_factor != 1 || c->v_samp_factor != 1)) return 0;
        if ((unsigned)c->quant_tbl_no >= NUM_QUANT_TBLS) return 0;
        /* A component keeps the table that it has at its first scan. */
        const JQUANT_TBL* table =
            c->quant_table != NULL ? c->quant_table : cinfo->quant_tbl_ptrs[c->quant_tbl_no];
        if (table == NULL || table->quantval[0] == 0) return 0;
        for (int k = 0; k < 64; k++) to->steps[i][k] = table->quantval[dli_places[k]];
    }
    to->across = parts(to->width, 8u * to->h);
    to->down = parts(to->height, 8u * to->v);
    if (rows != 0) {
        /* Chroma of the last rows is interpolated with the row below, as libjpeg reads it. */
        if (to->v == 2) rows = (rows - 1) / 2 * 2 + 4;
        uint32_t down = parts(rows, 8u * to->v);
        if (down < to->down) to->down = down;
    }
    uint64_t blocks = (uint64_t)to->across * to->down * (to->h * to->v + (colors ? 2 : 0));
    to->blocks = (uint32_t)blocks;
    return blocks == to->blocks;
}

/* The same for an image of one scan. */
static int describe(j_decompress_ptr cinfo, dli_jpeg_packed* to, uint32_t rows) {
    return cinfo->comps_in_scan == cinfo->num_components &&
           dli_huffman_describe(cinfo, cinfo->cur_comp_info, to, rows);
}

/* Begins the scan of an image that describe knows. */
static int begin_image(dli_huffman* h, j_decompress_ptr cinfo, const dli_jpeg_packed* image) {
    if (!begin_scan(h, cinfo)) return 0;
    h->in_mcu = 0;
    for (int i = 0; i < image->components; i++)
        for (int k = i == 0 ? image->h * image->v : 1; k > 0; k--)
            h->blocks[h->in_mcu++] = block_of(h, cinfo, i, 0);
    return 1;
}

int dli_huffman_begin(dli_huffman* h, j_decompress_ptr cinfo, dli_jpeg_packed* image) {
    if (!describe(cinfo, image, 0) || !begin_image(h, cinfo, image)) return 0;
    h->mcus = (size_t)image->across * image->down;
    return 1;
}

int dli_huffman_ended(const dli_huffman* h) {
    const unsigned char* marker = h->ahead;
    while (h->file_end - marker > 2 && marker[1] == 0xff) marker++; /* may stand before a marker */
    return h->mcus == 0 && h->file_end - marker >= 2 && marker[1] == JPEG_EOI;
}

/* ---- Packing ---- */

enum {
    MOST_ENTRIES = 2 * 63 + 2, /* that a block takes, and two that are written beyond it */
    MOST_KNOWN = 511,          /* a value of one entry */
};

/* Appends a value that may need two entries. */
static inline uint16_t* append(uint16_t* to, size_t k, int value) {
    int first = value > MOST_KNOWN ? MOST_KNOWN : value < -MOST_KNOWN ? -MOST_KNOWN : value;
    *to++ = (uint16_t)(k << 10 | ((unsigned)first & 1023));
    if (value != first) *to++ = (uint16_t)(k << 10 | ((unsigned)(value - first) & 1023));
    return to;
}

/* Decodes one block behind its first coefficient, as decode_mcu does. Returns the end of its
 * entries; NULL for a code that does not exist. */
static inline uint16_t* pack_block(const dli_huffman_table* ac, uint16_t* to, uint64_t* buffer_,
                                   unsigned* bits_, const unsigned char** next_) {
    uint64_t buffer = *buffer_, s;
    unsigned bits = *bits_;
    const unsigned char* next = *next_;
    size_t k = 0;
    do {
#pragma GCC unroll 5
        for (int n = 0; n < 5; n++) {
            s = LOOK_UP(ac);
            if ((s & KNOWN) == 0) goto other;
            k += ahead(s);
            size_t second = k + second_ahead(s);
            to[0] = (uint16_t)(k << 10 | (s >> 16 & 1023));
            to[1] = (uint16_t)(second << 10 | (s >> 48 & 1023));
            if (second >= 63) {
                /* The block ends with the first or the second. An end of block leads DLI_END ahead,
                 * a run beyond the block less. */
                size_t last = k >= 63 ? k : second;
                if (last > 63 && last < DLI_END) return NULL;
                to += (k <= 63) + (second <= 63 && second > k);
                if (k >= 63) s = first_bits(s);
                TAKE(s);
                goto done;
            }
            to += 1 + (second > k);
            k = second;
            TAKE(s);
        }
        REFILL();
        continue;
    other:
        REFILL();
        if (s == 0 && (s = find(ac, buffer)) == 0) return NULL;
        k += ahead(s);
        if (value_bits(s) != 0 && k > 63) return NULL;
        if (value_bits(s) != 0) to = append(to, k, value_of(buffer << code_bits(s), value_bits(s)));
        TAKE(s);
        REFILL();
    } while (k < 63);
done:
    *buffer_ = buffer;
    *bits_ = bits;
    *next_ = next;
    return to;
}

size_t dli_huffman_pack(dli_huffman* h, j_decompress_ptr cinfo, unsigned char* dst, size_t room,
                        uint32_t rows) {
    dli_jpeg_packed head;
    if (!describe(cinfo, &head, rows) || !begin_image(h, cinfo, &head)) return 0;
    size_t before = sizeof head + (size_t)head.blocks * sizeof(dli_jpeg_block);
    if (room < before) return 0;
    dli_jpeg_block* block = (dli_jpeg_block*)(dst + sizeof head);
    uint16_t *entries = (uint16_t*)(dst + before), *to = entries;
    int in_mcu = h->in_mcu;
    size_t most = (room - before) / 2;
    for (size_t left = (size_t)head.across * head.down; left > 0; left--) {
        if (most - (size_t)(to - entries) < (size_t)in_mcu * MOST_ENTRIES) return 0;
        if (cinfo->restart_interval != 0) {
            if (h->until_restart == 0) dli_bits_pass_restart(h, cinfo);
            h->until_restart--;
        }
        if (!h->whole && h->end - h->next < DLI_HUFFMAN_MCU) dli_bits_fill(h);
        uint64_t buffer = h->buffer;
        unsigned bits = h->bits;
        const unsigned char* next = h->next;
        for (int i = 0; i < in_mcu; i++, block++) {
            const dli_huffman_block* b = &h->blocks[i];
            REFILL();
            unsigned first = dli_codes_find(b->dc, buffer, cinfo), size = first & 255;
            if (size > DLI_MOST_DC) return 0;
            TAKE(first >> 8);
            int dc = h->last_dc[b->component] += value_of(buffer, size);
            TAKE(size);
            REFILL();
            /* Values that no picture has are left to libjpeg, whose versions differ there. */
            int64_t level = (int64_t)dc * head.steps[b->component][0];
            if (dc != (int16_t)dc || level > 8191 || level < -8191) return 0;
            uint16_t* end = pack_block(b->ac, to, &buffer, &bits, &next);
            if (end == NULL) return 0;
            *block = (dli_jpeg_block){(uint32_t)(to - entries), (int16_t)dc, (uint16_t)(end - to)};
            to = end;
        }
        if ((h->end - next) * 8 + (ptrdiff_t)bits < 0) return 0;
        h->buffer = buffer;
        h->bits = bits;
        h->next = next;
    }
    if (rows == 0) {
        dli_bits_leave(h, cinfo);
        if (h->file_end - h->ahead < 2 || h->ahead[1] != JPEG_EOI) return 0;
    }
    head.entries = (uint32_t)(to - entries);
    memcpy(dst, &head, sizeof head);
    return (size_t)((unsigned char*)to - dst);
}

int dli_huffman_packs(j_decompress_ptr cinfo) {
    dli_jpeg_packed head;
    return !cinfo->progressive_mode && !cinfo->arith_code && cinfo->data_precision == 8 &&
           describe(cinfo, &head, 0);
}

#else

int dli_huffman_packs(j_decompress_ptr cinfo) {
    (void)cinfo;
    return 0;
}

int dli_huffman_start(dli_huffman* h, j_decompress_ptr cinfo) {
    (void)h;
    (void)cinfo;
    return 0;
}

int dli_huffman_begin(dli_huffman* h, j_decompress_ptr cinfo, dli_jpeg_packed* image) {
    (void)h;
    (void)cinfo;
    (void)image;
    return 0;
}

void dli_huffman_mcu(dli_huffman* h, j_decompress_ptr cinfo, JBLOCKROW* rows) {
    (void)h;
    (void)cinfo;
    (void)rows;
}

int dli_huffman_ended(const dli_huffman* h) {
    (void)h;
    return 0;
}

int dli_huffman_describe(j_decompress_ptr cinfo, jpeg_component_info* const* components,
                         dli_jpeg_packed* to, uint32_t rows) {
    (void)cinfo;
    (void)components;
    (void)to;
    (void)rows;
    return 0;
}

size_t dli_huffman_pack(dli_huffman* h, j_decompress_ptr cinfo, unsigned char* dst, size_t room,
                        uint32_t rows) {
    (void)h;
    (void)cinfo;
    (void)dst;
    (void)room;
    (void)rows;
    return 0;
}

#endif

void dli_huffman_free(dli_huffman* h) {
    free(h->window);
    free(h->progressive.filled);
}
