//go:build cgo && !nolibjpeg

#include "turbo.h"

#include <limits.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "turbo_abi.h"

#include <jerror.h>

#include "turbo_convert.h"
#include "turbo_pixels.h"
#include "turbo_progressive.h"

/* The plain setjmp saves the signal mask on some systems, which costs a system call an image. */
#if defined(_WIN32)
#define SET_JUMP(env) setjmp(env)
#define LONG_JUMP(env) longjmp(env, 1)
#else
#define SET_JUMP(env) _setjmp(env)
#define LONG_JUMP(env) _longjmp(env, 1)
#endif

enum {
    BATCH_ROWS = 4, /* as many as libjpeg ever gives at once */
};

struct dli_jpeg_decoder {
    dli_huffman huffman; /* first: cinfo.client_data is this struct */
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    int created;
    int max_scans;
    int plain;   /* libjpeg decodes Huffman codes itself in all files */
    int accepts; /* damage that libjpeg warns of is no error */
    int alone;   /* and in this file */
    int quick;   /* our own code does, and has begun to */
    int scan;    /* number of the scan that it was offered last */
    dli_pixels pixels;
    dli_jpeg_tally tally;
    dli_jpeg_status status;
    JHUFF_TBL dc[2], ac[2]; /* the standard tables, for files without their own */
    unsigned char* rows;    /* BATCH_ROWS rows of an image that is converted on the way to dst */
    size_t rows_size;
    unsigned char* part; /* pixels of the last region */
    size_t part_size;
    char message[JMSG_LENGTH_MAX];
};

dli_jpeg_status dli_jpeg_refused(j_common_ptr cinfo, char* message) {
    /* Codes of messages differ from interface to interface, texts do not. */
    char text[JMSG_LENGTH_MAX];
    snprintf(text, sizeof text, "%s", message);
    int foreign = strstr(text, "library version") != NULL ||
                  strstr(text, "parameter struct mismatch") != NULL;
    if (!foreign)
        return cinfo->err->msg_code == JERR_OUT_OF_MEMORY ? DLI_JPEG_MEMORY : DLI_JPEG_INTERNAL;
    snprintf(message, JMSG_LENGTH_MAX,
             "this machine's libjpeg is not the one of the build (%.60s); %s", text,
             "install libjpeg-turbo of that version, or build here");
    return DLI_JPEG_UNSUPPORTED;
}

static dli_jpeg_status classify(int code) {
    switch (code) {
        case JERR_BAD_PRECISION:
#if JPEG_LIB_VERSION < 70
        case JERR_ARITH_NOTIMPL:
#endif
        case JERR_SOF_UNSUPPORTED:
        case JERR_CCIR601_NOTIMPL:
        case JERR_FRACT_SAMPLE_NOTIMPL:
        case JERR_CONVERSION_NOTIMPL:
        case JERR_NOTIMPL:
        case JERR_IMAGE_TOO_BIG:
        case JERR_WIDTH_OVERFLOW:
            return DLI_JPEG_UNSUPPORTED;
        case JERR_OUT_OF_MEMORY:
        case JERR_NO_BACKING_STORE:
            return DLI_JPEG_MEMORY;
        case JERR_BAD_LIB_VERSION:
        case JERR_BAD_STRUCT_SIZE:
        case JERR_BAD_STATE:
            return DLI_JPEG_INTERNAL;
        default:
            return DLI_JPEG_CORRUPT;
    }
}

static void on_error(j_common_ptr cinfo) {
    dli_jpeg_decoder* d = cinfo->client_data;
    cinfo->err->format_message(cinfo, d->message);
    d->status = d->created ? classify(cinfo->err->msg_code) : dli_jpeg_refused(cinfo, d->message);
    LONG_JUMP(d->escape);
}

/* libjpeg warns about damaged data and goes on with grey blocks: here the first such warning ends
 * the decoding, unless damage is accepted. Four warnings do not touch pixels and occur in files
 * that cameras and tools write: bytes between segments, an unknown JFIF revision or Adobe
 * transform, and zeroes where a sequential scan states its band. */
static void on_message(j_common_ptr cinfo, int level) {
    if (level >= 0) return; /* a trace */
    switch (cinfo->err->msg_code) {
        case JWRN_EXTRANEOUS_DATA:
        case JWRN_JFIF_MAJOR:
        case JWRN_ADOBE_XFORM:
        case JWRN_NOT_SEQUENTIAL:
            return;
    }
    dli_jpeg_decoder* d = cinfo->client_data;
    if (!d->accepts) on_error(cinfo);
}

static void fail(dli_jpeg_decoder* d, dli_jpeg_status status, const char* message) {
    snprintf(d->message, sizeof d->message, "%s", message);
    d->status = status;
    LONG_JUMP(d->escape);
}

/* Notes that our own code decodes the file. */
static void began(dli_jpeg_decoder* d) {
    d->tally.quick += !d->quick;
    d->quick = 1;
}

/* libjpeg calls this at least once a row of blocks while it reads scans, and before it reads a
 * scan. */
static void on_progress(j_common_ptr cinfo) {
    dli_jpeg_decoder* d = cinfo->client_data;
    if (d->cinfo.input_scan_number > d->max_scans)
        fail(d, DLI_JPEG_CORRUPT,
             "more scans than jpegtran writes; save the file again as a baseline JPEG");
    if (d->alone || d->cinfo.input_scan_number == d->scan) return;
    d->scan = d->cinfo.input_scan_number;
    if (dli_progressive_scan(&d->huffman, &d->cinfo)) began(d);
}

dli_jpeg_decoder* dli_jpeg_decoder_new(int plain) {
    dli_jpeg_decoder* d = calloc(1, sizeof *d);
    if (d == NULL) return NULL;
    d->plain = plain;
    d->cinfo.err = jpeg_std_error(&d->errors);
    d->cinfo.client_data = d;
    d->errors.error_exit = on_error;
    d->errors.emit_message = on_message;
    d->progress.progress_monitor = on_progress;
    return d;
}

void dli_jpeg_decoder_free(dli_jpeg_decoder* d) {
    if (d == NULL) return;
    jpeg_destroy_decompress(&d->cinfo); /* nothing to do before create */
    free(d->rows);
    dli_huffman_free(&d->huffman);
    dli_pixels_free(&d->pixels);
    free(d->part);
    free(d);
}

void dli_jpeg_accept_damage(dli_jpeg_decoder* d, int accept) { d->accepts = accept; }

dli_jpeg_tally dli_jpeg_tally_of(const dli_jpeg_decoder* d) { return d->tally; }

const char* dli_jpeg_message(const dli_jpeg_decoder* d) { return d->message; }

/* libjpeg keeps all coefficients of a file of several scans, 128 bytes for a block, and each block
 * takes a bit of the file at least: a file that is too short for its blocks is refused before they
 * get memory. */
static void check_blocks(dli_jpeg_decoder* d, size_t size) {
    struct jpeg_decompress_struct* cinfo = &d->cinfo;
    if (!jpeg_has_multiple_scans(cinfo)) return;
    double blocks = 0;
    for (int i = 0; i < cinfo->num_components; i++)
        blocks +=
            (double)cinfo->comp_info[i].width_in_blocks * cinfo->comp_info[i].height_in_blocks;
    if (blocks > 8 * (double)size)
        fail(d, DLI_JPEG_CORRUPT, "the file is too short for its pixels");
}

/* Coefficients of a progressive image take two bytes a sample of the padded planes. The limit is
 * that and 64 MiB; it replaces the value of the environment variable JPEGMEM. */
static long memory_limit(const struct jpeg_decompress_struct* cinfo) {
    double w = cinfo->image_width + 8.0 * cinfo->max_h_samp_factor;
    double h = cinfo->image_height + 8.0 * cinfo->max_v_samp_factor;
    double limit = 2 * w * h * cinfo->num_components + (64 << 20);
    return limit < (double)(LONG_MAX / 2) ? (long)limit : LONG_MAX / 2;
}

/* Takes the standard Huffman tables from a compressor. An error jumps out and loses no more than
 * its memory. */
static void learn_tables(dli_jpeg_decoder* d) {
    struct jpeg_compress_struct c;
    memset(&c, 0, sizeof c);
    c.err = &d->errors;
    c.client_data = d;
    jpeg_create_compress(&c);
    c.in_color_space = JCS_RGB;
    c.input_components = 3;
    jpeg_set_defaults(&c);
    for (int i = 0; i < 2; i++) {
        d->dc[i] = *c.dc_huff_tbl_ptrs[i];
        d->ac[i] = *c.ac_huff_tbl_ptrs[i];
    }
    jpeg_destroy_compress(&c);
}

/* Whether the library that runs is libjpeg-turbo: another with the same binary interface has other
 * private structs. Its messages carry its copyright. */
static int is_turbo(const struct jpeg_error_mgr* errors) {
    for (int i = 0; i <= errors->last_jpeg_message; i++) {
        const char* text = errors->jpeg_message_table[i];
        if (text != NULL &&
            (strstr(text, "libjpeg-turbo") != NULL || strstr(text, "Commander") != NULL))
            return 1;
    }
    return 0;
}

static void create(dli_jpeg_decoder* d) {
    if (!is_turbo(&d->errors)) d->plain = 1;
    learn_tables(d);
    jpeg_create_decompress(&d->cinfo);
    d->cinfo.progress = &d->progress;
    for (int i = 0; i < 2; i++) {
        d->cinfo.dc_huff_tbl_ptrs[i] = jpeg_alloc_huff_table((j_common_ptr)&d->cinfo);
        d->cinfo.ac_huff_tbl_ptrs[i] = jpeg_alloc_huff_table((j_common_ptr)&d->cinfo);
    }
    d->created = 1;
}

/* Makes a table that no decoder accepts. */
static void spoil(JHUFF_TBL* table) {
    if (table != NULL) memset(table->bits, 0xff, sizeof table->bits);
}

/* libjpeg keeps tables from file to file, so that a file may come without: here the pixels of a
 * file must not depend on the one before. Files without Huffman tables get the standard ones, as in
 * Motion JPEG; a missing quantization table is left with a first value of 0, which no file may
 * have, and found by check_tables. */
static void reset_tables(dli_jpeg_decoder* d) {
    struct jpeg_decompress_struct* cinfo = &d->cinfo;
    for (int i = 0; i < NUM_HUFF_TBLS; i++) {
        if (i < 2) {
            *cinfo->dc_huff_tbl_ptrs[i] = d->dc[i];
            *cinfo->ac_huff_tbl_ptrs[i] = d->ac[i];
        } else {
            spoil(cinfo->dc_huff_tbl_ptrs[i]);
            spoil(cinfo->ac_huff_tbl_ptrs[i]);
        }
    }
    for (int i = 0; i < NUM_QUANT_TBLS; i++)
        if (cinfo->quant_tbl_ptrs[i] != NULL) cinfo->quant_tbl_ptrs[i]->quantval[0] = 0;
}

/* Finds a component without a scan or a quantization table, once all scans that the pixels need
 * were read. Where damage is accepted, a component may have no scan: libjpeg takes it as gray. A
 * missing table is refused always: its values are those of another file. */
static void check_tables(dli_jpeg_decoder* d) {
    for (int i = 0; i < d->cinfo.num_components; i++) {
        const JQUANT_TBL* table =
            d->cinfo.comp_info[i].quant_table; /* that of the component's first scan */
        if (table == NULL ? !d->accepts : table->quantval[0] == 0)
            fail(d, DLI_JPEG_CORRUPT, "a colour component has no scan or no quantization table");
    }
}

static void read_header(dli_jpeg_decoder* d, const unsigned char* src, size_t size) {
    struct jpeg_decompress_struct* cinfo = &d->cinfo;
    if (!d->created) create(d);
    reset_tables(d);
    d->scan = 0;
    if (size > ULONG_MAX) fail(d, DLI_JPEG_UNSUPPORTED, "file is too large");
    jpeg_mem_src(cinfo, src, (unsigned long)size);
    jpeg_read_header(cinfo, TRUE);
    if (cinfo->data_precision != 8) fail(d, DLI_JPEG_UNSUPPORTED, "samples do not have 8 bits");
    if (cinfo->arith_code) fail(d, DLI_JPEG_UNSUPPORTED, "arithmetic coding is not built in");
    check_blocks(d, size);
    cinfo->mem->max_memory_to_use = memory_limit(cinfo);
}

static void start(dli_jpeg_decoder* d, dli_jpeg_want want, int fast) {
    struct jpeg_decompress_struct* cinfo = &d->cinfo;
    if (cinfo->num_components == 4)
        cinfo->out_color_space = JCS_CMYK;
    else if (cinfo->num_components == 1 && want != DLI_JPEG_RGB)
        cinfo->out_color_space = JCS_GRAYSCALE;
    else
        cinfo->out_color_space = JCS_RGB;
    cinfo->dct_method = fast ? JDCT_IFAST : JDCT_ISLOW;
    /* Also where speed counts: without it libjpeg-turbo merges upsampling and colour conversion,
     * and then some of its versions (2.1.5, 4:2:2) write the rows that jpeg_skip_scanlines skips
     * over the stack. */
    cinfo->do_fancy_upsampling = TRUE;
    jpeg_start_decompress(cinfo);
    if (!d->alone && dli_huffman_start(&d->huffman, cinfo)) began(d);
}

/* Decodes an area without libjpeg, if the file is of a kind for that. Returns whether it did. */
static int decode_quickly(dli_jpeg_decoder* d, dli_pixels_area area, int to) {
    struct jpeg_decompress_struct* cinfo = &d->cinfo;
    if (d->alone || cinfo->num_components != to) return 0;
    const int scans = jpeg_has_multiple_scans(cinfo);
    if (!(scans ? dli_pixels_begin_scans(&d->pixels, cinfo, &area)
                : dli_pixels_begin(&d->pixels, &d->huffman, cinfo, &area)))
        return 0;
    began(d);
    d->tally.whole++;
    if (scans) {
        jvirt_barray_ptr* coefficients = jpeg_read_coefficients(cinfo);
        check_tables(d);
        dli_pixels_read_scans(&d->pixels, cinfo, coefficients);
    } else {
        dli_pixels_read(&d->pixels, &d->huffman, cinfo);
    }
    return 1;
}

/* Reads up to max rows to consecutive rows of stride bytes and returns how many came. */
static JDIMENSION read_rows(dli_jpeg_decoder* d, unsigned char* to, size_t stride, JDIMENSION max) {
    JSAMPROW rows[BATCH_ROWS];
    if (max > BATCH_ROWS) max = BATCH_ROWS;
    for (JDIMENSION i = 0; i < max; i++) rows[i] = to + i * stride;
    JDIMENSION n = jpeg_read_scanlines(&d->cinfo, rows, max);
    if (n == 0) fail(d, DLI_JPEG_INTERNAL, "decoder gave no row");
    return n;
}

/* Reads rows up to number end. */
static void read_converted(dli_jpeg_decoder* d, unsigned char* dst, int to, JDIMENSION end) {
    struct jpeg_decompress_struct* cinfo = &d->cinfo;
    size_t width = cinfo->output_width, stride = width * cinfo->output_components;
    if (d->rows_size < BATCH_ROWS * stride) {
        free(d->rows);
        d->rows_size = 0;
        d->rows = malloc(BATCH_ROWS * stride);
        if (d->rows == NULL) fail(d, DLI_JPEG_MEMORY, "out of memory");
        d->rows_size = BATCH_ROWS * stride;
    }
    while (cinfo->output_scanline < end) {
        JDIMENSION n = read_rows(d, d->rows, stride, end - cinfo->output_scanline);
        for (JDIMENSION i = 0; i < n; i++, dst += width * to)
            dli_convert(dst, d->rows + i * stride, width, cinfo->output_components, to);
    }
}

static void read_direct(dli_jpeg_decoder* d, unsigned char* dst, JDIMENSION end) {
    struct jpeg_decompress_struct* cinfo = &d->cinfo;
    size_t stride = (size_t)cinfo->output_width * cinfo->output_components;
    while (cinfo->output_scanline < end) {
        JDIMENSION n = read_rows(d, dst, stride, end - cinfo->output_scanline);
        if (cinfo->output_components == 4) dli_invert(dst, n * stride);
        dst += n * stride;
    }
}

static int channels(const dli_jpeg_decoder* d, dli_jpeg_want want) {
    return want == DLI_JPEG_AS_STORED ? d->cinfo.num_components : (int)want;
}

/* Compares the size of the file with the caller's memory. */
static void check_shape(dli_jpeg_decoder* d, const dli_jpeg_shape* shape, int to) {
    if (d->cinfo.image_width != shape->width || d->cinfo.image_height != shape->height ||
        (unsigned)to != shape->channels)
        fail(d, DLI_JPEG_SIZE, "output shape does not fit the image");
}

/* Ends a file that was not read to its end. */
static void give_up(dli_jpeg_decoder* d) {
    if (d->created)
        jpeg_abort_decompress(&d->cinfo);
    else
        jpeg_destroy_decompress(&d->cinfo);
}

/* src is the caller's. */
static void forget_source(dli_jpeg_decoder* d) {
    if (!d->created || d->cinfo.src == NULL) return;
    d->cinfo.src->next_input_byte = NULL;
    d->cinfo.src->bytes_in_buffer = 0;
}

static void begin(dli_jpeg_decoder* d, int max_scans) {
    d->status = DLI_JPEG_OK;
    d->max_scans = max_scans;
    d->alone = d->plain || d->accepts;
    d->quick = 0;
}

/* Reports whether a file is to be decoded again, by libjpeg alone, which decides on damage. */
static int repeat(dli_jpeg_decoder* d) {
    if (d->status == DLI_JPEG_OK || !d->quick) return 0;
    d->tally.repeated++;
    d->status = DLI_JPEG_OK;
    d->alone = 1;
    d->quick = 0;
    return 1;
}

static void decode_whole(dli_jpeg_decoder* d, const dli_jpeg_item* it, dli_jpeg_want want) {
    if (SET_JUMP(d->escape) == 0) {
        read_header(d, it->src, it->src_size);
        int to = channels(d, want);
        check_shape(d, &it->shape, to);
        if ((unsigned long long)it->dst_size !=
            (unsigned long long)d->cinfo.image_height * d->cinfo.image_width * to)
            fail(d, DLI_JPEG_SIZE, "output size does not fit the image");
        dli_pixels_area all = {.width = it->shape.width, .height = it->shape.height, .to = it->dst};
        all.stride = (size_t)all.width * to;
        if (decode_quickly(d, all, to)) {
            jpeg_abort_decompress(&d->cinfo);
        } else {
            start(d, want, 0);
            if (d->cinfo.output_components == to)
                read_direct(d, it->dst, d->cinfo.output_height);
            else
                read_converted(d, it->dst, to, d->cinfo.output_height);
            check_tables(d);
            if (d->accepts)
                jpeg_abort_decompress(&d->cinfo);
            else
                jpeg_finish_decompress(&d->cinfo); /* up to the end marker: a cut file is found */
        }
    } else {
        give_up(d);
    }
    forget_source(d);
}

static dli_jpeg_status decode_item(dli_jpeg_decoder* d, const dli_jpeg_item* it, dli_jpeg_want want,
                                   int max_scans) {
    begin(d, max_scans);
    do decode_whole(d, it, want);
    while (repeat(d));
    return d->status;
}

dli_jpeg_status dli_jpeg_decode(dli_jpeg_decoder* d, const unsigned char* src, size_t src_size,
                                unsigned char* dst, size_t dst_size, dli_jpeg_shape shape,
                                dli_jpeg_want want, int max_scans) {
    dli_jpeg_item it = {src, src_size, dst, dst_size, shape};
    return decode_item(d, &it, want, max_scans);
}

size_t dli_jpeg_decode_run(dli_jpeg_decoder* d, const dli_jpeg_item* items, size_t count,
                           dli_jpeg_want want, int max_scans, dli_jpeg_status* status) {
    *status = DLI_JPEG_OK;
    for (size_t i = 0; i < count; i++) {
        *status = decode_item(d, &items[i], want, max_scans);
        if (*status != DLI_JPEG_OK) return i;
    }
    return count;
}

size_t dli_jpeg_pack(dli_jpeg_decoder* d, const unsigned char* src, size_t src_size,
                     dli_jpeg_shape shape, dli_jpeg_want want, unsigned char* dst, size_t room,
                     uint32_t rows) {
    size_t volatile size = 0; /* kept across the jump */
    begin(d, 1);
    if (!d->plain && SET_JUMP(d->escape) == 0) {
        read_header(d, src, src_size);
        check_shape(d, &shape, channels(d, want));
        size = dli_huffman_pack(&d->huffman, &d->cinfo, dst, room, rows);
    }
    give_up(d);
    forget_source(d);
    return size;
}

int dli_jpeg_packs(dli_jpeg_decoder* d, const unsigned char* src, size_t src_size,
                   dli_jpeg_shape shape, dli_jpeg_want want) {
    int volatile packs = 0; /* kept across the jump */
    begin(d, 1);
    if (!d->plain && SET_JUMP(d->escape) == 0) {
        read_header(d, src, src_size);
        check_shape(d, &shape, channels(d, want));
        packs = dli_huffman_packs(&d->cinfo);
    }
    give_up(d);
    forget_source(d);
    return packs;
}

/* The pixels at the sides of what libjpeg is told to decode are interpolated as those at the sides
 * of an image are: so it is told to decode this much more on either side. */
enum { MARGIN = 2 };

static int is_within(const dli_jpeg_part* p, JDIMENSION w, JDIMENSION h) {
    return p->width >= 1 && p->height >= 1 && p->x <= w && p->width <= w - p->x && p->y <= h &&
           p->height <= h - p->y;
}

/* Narrows the decoding to the columns of the region and skips to its first row. Returns the first
 * column that comes. */
static JDIMENSION aim(dli_jpeg_decoder* d, const dli_jpeg_part* p) {
    struct jpeg_decompress_struct* cinfo = &d->cinfo;
    JDIMENSION w = cinfo->output_width, h = cinfo->output_height;
    if (!is_within(p, w, h)) fail(d, DLI_JPEG_SIZE, "the region is not within the image");
    JDIMENSION from = p->x > MARGIN ? p->x - MARGIN : 0;
    JDIMENSION to = w - p->x - p->width > MARGIN ? p->x + p->width + MARGIN : w;
    /* Where scans are missing, libjpeg smooths blocks by their neighbours: it needs all columns. */
    if (!d->accepts && (from > 0 || to < w)) {
        JDIMENSION width = to - from;
        jpeg_crop_scanline(cinfo, &from, &width);
    }
    if (d->accepts) from = 0;
    if (from > p->x || cinfo->output_width < p->x - from + p->width)
        fail(d, DLI_JPEG_INTERNAL, "decoder gave other columns than those of the region");
    if (p->y > 0 && jpeg_skip_scanlines(cinfo, p->y) != p->y)
        fail(d, DLI_JPEG_INTERNAL, "decoder skipped too few rows");
    return from;
}

/* Makes room for the rows of a region. */
static void reserve_part(dli_jpeg_decoder* d, size_t size) {
    if (d->part_size >= size) return;
    free(d->part);
    d->part_size = 0;
    d->part = malloc(size);
    if (d->part == NULL) fail(d, DLI_JPEG_MEMORY, "out of memory");
    d->part_size = size;
}

static void decode_region(dli_jpeg_decoder* d, const dli_jpeg_part* p, dli_jpeg_want want,
                          dli_jpeg_pixels* out) {
    if (SET_JUMP(d->escape) == 0) {
        read_header(d, p->src, p->src_size);
        d->cinfo.scale_num = 1;
        d->cinfo.scale_denom = p->shrink;
        int to = channels(d, want);
        check_shape(d, &p->shape, to);
        JDIMENSION from = p->x & ~1u;
        dli_pixels_area area = {from, p->y, p->width + (p->x - from), p->height};
        size_t stride = (size_t)area.width * to;
        if (p->shrink == 1 && !p->fast && is_within(p, p->shape.width, p->shape.height)) {
            reserve_part(d, stride * p->height);
            area.to = d->part;
            area.stride = stride;
        }
        if (area.to == NULL || !decode_quickly(d, area, to)) {
            start(d, want, p->fast);
            from = aim(d, p);
            stride = (size_t)d->cinfo.output_width * to;
            reserve_part(d, stride * p->height);
            if (d->cinfo.output_components == to)
                read_direct(d, d->part, p->y + p->height);
            else
                read_converted(d, d->part, to, p->y + p->height);
            check_tables(d);
        }
        size_t left = (size_t)(p->x - from) * to;
        *out = (dli_jpeg_pixels){d->part + left, stride * p->height - left, stride};
    }
    give_up(d);
    forget_source(d);
}

dli_jpeg_status dli_jpeg_decode_part(dli_jpeg_decoder* d, const dli_jpeg_part* p,
                                     dli_jpeg_want want, int max_scans, dli_jpeg_pixels* out) {
    begin(d, max_scans);
    do decode_region(d, p, want, out);
    while (repeat(d));
    return d->status;
}

static dli_jpeg_status hand_over(dli_jpeg_decoder* d, const dli_jpeg_part* p,
                                 const dli_jpeg_pixels* out) {
    int32_t width = (int32_t)p->width, height = (int32_t)p->height,
            channels = (int32_t)p->shape.channels;
    switch (p->take(p->arg, out->pix, out->size, out->stride, width, height, channels)) {
        case 0:
            return DLI_JPEG_OK;
        case 1:
            snprintf(d->message, sizeof d->message, "the receiver of the pixels is out of memory");
            return DLI_JPEG_MEMORY;
        default:
            snprintf(d->message, sizeof d->message,
                     "the receiver wants other pixels than those of the region");
            return DLI_JPEG_INTERNAL;
    }
}

size_t dli_jpeg_decode_parts(dli_jpeg_decoder* d, const dli_jpeg_part* parts, size_t count,
                             dli_jpeg_want want, int max_scans, dli_jpeg_status* status) {
    *status = DLI_JPEG_OK;
    for (size_t i = 0; i < count; i++) {
        const dli_jpeg_part* p = &parts[i];
        dli_jpeg_pixels out = {NULL, 0, 0};
        *status = dli_jpeg_decode_part(d, p, want, max_scans, &out);
        if (*status == DLI_JPEG_OK) *status = hand_over(d, p, &out);
        if (*status != DLI_JPEG_OK) return i;
    }
    return count;
}
