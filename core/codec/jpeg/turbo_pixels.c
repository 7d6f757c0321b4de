//go:build cgo && !nolibjpeg

#include "turbo_pixels.h"

#include <stdlib.h>
#include <string.h>

#include <jerror.h>

#if DLI_VECTOR_BUILT

enum {
    SIDE = 8, /* of a block */
    /* Where chroma is half as fine, pixels at the sides of an area are interpolated with those
     * beside it. */
    MARGIN = 2,
    /* Bytes behind the samples of a row, which the loops may read and write, and before them. */
    SLACK = 2 * DLI_VECTOR_PIXELS,
};

static unsigned at_most(unsigned n, unsigned most) { return n < most ? n : most; }

/* Finds the MCUs along one side that an area needs, with so many blocks of luma each. */
static void range_of(unsigned at, unsigned length, unsigned whole, unsigned blocks, unsigned* first,
                     unsigned* end) {
    const unsigned size = SIDE * blocks, margin = blocks == 2 ? MARGIN : 0;
    *first = (at > margin ? at - margin : 0) / size;
    *end = (at_most(whole - at - length, margin) + at + length + size - 1) / size;
}

/* Makes room for a row of MCUs. */
static int reserve(dli_pixels* p) {
    const size_t columns = (size_t)(p->right - p->left) * SIDE;
    p->luma_stride = columns * p->image.h + SLACK;
    p->chroma_stride = columns + SLACK;
    const size_t luma = p->luma_stride * (SIDE * p->image.v + 1),
                 chroma = p->chroma_stride * (SIDE + 1), wide = SLACK + p->chroma_stride;
    const size_t size = luma + 2 * chroma + 2 * wide * sizeof(uint16_t);
    if (p->size < size) {
        free(p->memory);
        p->size = 0;
        p->memory = calloc(size, 1);
        if (p->memory == NULL) return 0;
        p->size = size;
    }
    p->wide[0] = (uint16_t*)p->memory + SLACK;
    p->wide[1] = p->wide[0] + wide;
    p->luma = p->memory + 2 * wide * sizeof(uint16_t);
    p->chroma[0] = p->luma + luma;
    p->chroma[1] = p->chroma[0] + chroma;
    return 1;
}

/* Prepares for an area of the image. */
static int begin(dli_pixels* p, const dli_pixels_area* area) {
    const dli_jpeg_packed* image = &p->image;
    if (image->h == 2 && image->width <= 4) return 0; /* libjpeg repeats their chroma */
    p->area = *area;
    p->row = area->y;
    range_of(area->x, area->width, image->width, image->h, &p->left, &p->right);
    range_of(area->y, area->height, image->height, image->v, &p->top, &p->bottom);
    if (!reserve(p)) return 0;
    memset(p->coefficients, 0, sizeof p->coefficients);
    for (int kind = 0; kind < DLI_KINDS; kind++) p->lists[kind].count = 0;
    return 1;
}

static void set_steps(int16_t* to, const JQUANT_TBL* table) {
    for (int k = 0; k < DCTSIZE2; k++) to[k] = (int16_t)table->quantval[k];
}

int dli_pixels_begin(dli_pixels* p, dli_huffman* h, j_decompress_ptr cinfo,
                     const dli_pixels_area* area) {
    if (!dli_vector_usable() || !dli_huffman_begin(h, cinfo, &p->image) || !begin(p, area))
        return 0;
    for (int i = 0; i < p->image.components; i++)
        set_steps(p->steps[i], cinfo->quant_tbl_ptrs[cinfo->cur_comp_info[i]->quant_tbl_no]);
    return 1;
}

int dli_pixels_begin_scans(dli_pixels* p, j_decompress_ptr cinfo, const dli_pixels_area* area) {
    jpeg_component_info* components[MAX_COMPONENTS];
    for (int i = 0; i < cinfo->num_components; i++) components[i] = &cinfo->comp_info[i];
    return dli_vector_usable() && dli_huffman_describe(cinfo, components, &p->image, 0) &&
           begin(p, area);
}

/* Lists a block. Kinds follow each other at random: branches would be guessed wrong. */
static void list(dli_pixels* p, dli_vector_block block, dli_vector_kind kind) {
    dli_pixels_list* to = &p->lists[kind];
    to->blocks[to->count++] = block;
}

/* Transforms the blocks of a list. */
static int transform(dli_pixels* p, dli_vector_kind kind) {
    dli_pixels_list* l = &p->lists[kind];
    if (l->count % 2 == 1)
        l->blocks[l->count++] =
            (dli_vector_block){p->coefficients[DLI_PIXELS_RUN], p->steps[0], p->unused, SIDE};
    int ok = dli_vector_transform(l->blocks, l->count, kind == DLI_SPARSE);
    l->count = 0;
    return ok;
}

static int transform_listed(dli_pixels* p) {
    dli_pixels_list* flat = &p->lists[DLI_FLAT];
    int ok = dli_vector_flat(flat->blocks, flat->count);
    flat->count = 0;
    ok &= transform(p, DLI_SPARSE);
    return ok & transform(p, DLI_FULL);
}

/* Where the samples of block i of an MCU go, and how they are quantized. */
typedef struct {
    unsigned char* to;
    size_t stride, step; /* to the row below, to the next MCU */
    const int16_t* steps;
} plane;

/* Describes the blocks of the first MCU. */
static void aim(dli_pixels* p, plane* planes) {
    const int across = p->image.h, in_luma = across * p->image.v;
    for (int i = 0; i < in_luma; i++) {
        size_t x = (size_t)(i % across) * SIDE, y = 1 + (size_t)(i / across) * SIDE;
        planes[i] = (plane){p->luma + y * p->luma_stride + x, p->luma_stride,
                            (size_t)SIDE * (size_t)across, p->steps[0]};
    }
    for (int i = 1; i < p->image.components; i++)
        planes[in_luma + i - 1] =
            (plane){p->chroma[i - 1] + p->chroma_stride, p->chroma_stride, SIDE, p->steps[i]};
}

/* Decodes a row of MCUs into the samples. Those behind the area are read too, as libjpeg does: what
 * counts as damage is the same then. */
static int decode_row(dli_pixels* p, dli_huffman* h, j_decompress_ptr cinfo) {
    const int in_mcu = h->in_mcu;
    plane planes[DLI_PIXELS_MCU];
    aim(p, planes);
    int ok = 1, next = 0;
    for (unsigned x = 0; x < p->left; x++) dli_huffman_mcu(h, cinfo, NULL);
    for (unsigned x = 0; x < p->right - p->left; x++) {
        JBLOCKROW rows[DLI_PIXELS_MCU];
        for (int i = 0; i < in_mcu; i++) rows[i] = (JBLOCKROW)p->coefficients[next + i];
        dli_huffman_mcu(h, cinfo, rows);
        for (int i = 0; i < in_mcu; i++) {
            const plane* to = &planes[i];
            list(p, (dli_vector_block){*rows[i], to->steps, to->to + x * to->step, to->stride},
                 dli_vector_kind_of(h->last[i]));
        }
        next += in_mcu;
        if (next + in_mcu > DLI_PIXELS_RUN) {
            ok &= transform_listed(p);
            next = 0;
        }
    }
    for (unsigned x = p->right; x < p->image.across; x++) dli_huffman_mcu(h, cinfo, NULL);
    return ok & transform_listed(p);
}

/* Transforms a row of MCUs into the samples, from the coefficients of all scans. */
static int transform_row(dli_pixels* p, j_decompress_ptr cinfo, jvirt_barray_ptr* coefficients,
                         unsigned strip) {
    plane planes[DLI_PIXELS_MCU], *to = planes;
    aim(p, planes);
    int ok = 1;
    unsigned listed = 0;
    for (int i = 0; i < p->image.components; i++) {
        const unsigned across = i == 0 ? p->image.h : 1, down = i == 0 ? p->image.v : 1;
        JBLOCKARRAY rows = cinfo->mem->access_virt_barray((j_common_ptr)cinfo, coefficients[i],
                                                          strip * down, down, TRUE);
        for (unsigned y = 0; y < down; y++, to += across) {
            for (unsigned x = p->left * across; x < p->right * across; x++) {
                int16_t* block = rows[y][x];
                unsigned char* samples = to->to + (x - p->left * across) * SIDE;
                list(p, (dli_vector_block){block, to->steps, samples, to->stride},
                     dli_vector_look(block));
                if (++listed % DLI_PIXELS_RUN == 0) ok &= transform_listed(p);
            }
        }
    }
    return ok & transform_listed(p);
}

/* Makes a row of RGB pixels where chroma has half as many columns. near and far are the rows of
 * chroma between which it lies. */
static void make_half(dli_pixels* p, unsigned char* to, const unsigned char* luma, unsigned near,
                      unsigned far) {
    const unsigned columns = (p->image.width + 1) / 2;
    const unsigned x = p->area.x / 2, end = (p->area.x + p->area.width + 1) / 2;
    const unsigned from = x > 0 ? x - 1 : 0, until = at_most(end + 1, columns);
    const int sums = p->image.v == 2;
    for (int i = 0; i < 2; i++) {
        const unsigned char* samples = p->chroma[i] + from - p->left * SIDE;
        dli_vector_widen(p->wide[i], samples + near * p->chroma_stride,
                         sums ? samples + far * p->chroma_stride : NULL, until - from);
    }
    dli_vector_rgb_half(to, luma, p->wide[0] + (x - from), p->wide[1] + (x - from), p->area.width,
                        sums);
}

/* Makes a row of pixels. The samples are those of row number strip of MCUs. */
static void make_row(dli_pixels* p, unsigned row, unsigned strip) {
    const dli_jpeg_packed* image = &p->image;
    unsigned char* to = p->area.to + (row - p->area.y) * p->area.stride;
    const unsigned first = strip * SIDE * image->v; /* the samples have the row above it first */
    const unsigned x = p->area.x - p->left * SIDE * image->h;
    const unsigned char* luma = p->luma + (row + 1 - first) * p->luma_stride + x;
    if (image->components == 1) {
        memcpy(to, luma, p->area.width);
    } else if (image->h == 1) {
        const size_t at = (row + 1 - first) * p->chroma_stride + x;
        dli_vector_rgb(to, luma, p->chroma[0] + at, p->chroma[1] + at, p->area.width);
    } else if (image->v == 1) {
        make_half(p, to, luma, row + 1 - first, row + 1 - first);
    } else {
        const unsigned rows = (image->height + 1) / 2, above = strip * SIDE;
        unsigned near = row / 2, far = row % 2 == 1 ? near + 1 : near > 0 ? near - 1 : near;
        if (far == rows) far = near;
        make_half(p, to, luma, near + 1 - above, far + 1 - above);
    }
}

/* Makes the pixels whose samples are there once row number strip of MCUs is. */
static void make_rows(dli_pixels* p, unsigned strip) {
    const dli_jpeg_packed* image = &p->image;
    const unsigned end = p->area.y + p->area.height, rows = SIDE * image->v;
    /* The last row of samples waits for the chroma of the next MCUs. */
    const unsigned waiting = image->v == 2 && strip + 1 < p->bottom ? 1 : 0;
    const unsigned ready = at_most(end, (strip + 1) * rows - waiting);
    for (; p->row < ready; p->row++) make_row(p, p->row, strip);
    if (image->v < 2) return;
    memcpy(p->luma, p->luma + rows * p->luma_stride, p->luma_stride);
    for (int i = 0; i < 2; i++)
        memcpy(p->chroma[i], p->chroma[i] + SIDE * p->chroma_stride, p->chroma_stride);
}

void dli_pixels_read(dli_pixels* p, dli_huffman* h, j_decompress_ptr cinfo) {
    const dli_jpeg_packed* image = &p->image;
    for (size_t n = (size_t)p->top * image->across; n > 0; n--) dli_huffman_mcu(h, cinfo, NULL);
    for (unsigned strip = p->top; strip < p->bottom; strip++) {
        if (!decode_row(p, h, cinfo)) ERREXIT(cinfo, JERR_CANT_SUSPEND);
        make_rows(p, strip);
    }
    const int is_whole = p->area.width == image->width && p->area.height == image->height;
    if (is_whole && !dli_huffman_ended(h)) ERREXIT(cinfo, JERR_CANT_SUSPEND);
}

/* Reports whether scans are missing: libjpeg smooths such images. */
static int is_incomplete(j_decompress_ptr cinfo) {
    if (!cinfo->progressive_mode) return 0;
    for (int i = 0; i < cinfo->num_components; i++)
        for (int k = 0; k < DCTSIZE2; k++)
            if (cinfo->coef_bits[i][k] != 0) return 1;
    return 0;
}

void dli_pixels_read_scans(dli_pixels* p, j_decompress_ptr cinfo, jvirt_barray_ptr* coefficients) {
    if (is_incomplete(cinfo)) ERREXIT(cinfo, JERR_CANT_SUSPEND);
    for (int i = 0; i < p->image.components; i++)
        set_steps(p->steps[i], cinfo->comp_info[i].quant_table);
    for (unsigned strip = p->top; strip < p->bottom; strip++) {
        if (!transform_row(p, cinfo, coefficients, strip)) ERREXIT(cinfo, JERR_CANT_SUSPEND);
        make_rows(p, strip);
    }
}

#else

int dli_pixels_begin(dli_pixels* p, dli_huffman* h, j_decompress_ptr cinfo,
                     const dli_pixels_area* area) {
    (void)p;
    (void)h;
    (void)cinfo;
    (void)area;
    return 0;
}

int dli_pixels_begin_scans(dli_pixels* p, j_decompress_ptr cinfo, const dli_pixels_area* area) {
    (void)p;
    (void)cinfo;
    (void)area;
    return 0;
}

void dli_pixels_read(dli_pixels* p, dli_huffman* h, j_decompress_ptr cinfo) {
    (void)p;
    (void)h;
    (void)cinfo;
}

void dli_pixels_read_scans(dli_pixels* p, j_decompress_ptr cinfo, jvirt_barray_ptr* coefficients) {
    (void)p;
    (void)cinfo;
    (void)coefficients;
}

#endif

void dli_pixels_free(dli_pixels* p) { free(p->memory); }
