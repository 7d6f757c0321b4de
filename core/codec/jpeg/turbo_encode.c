//go:build cgo && !nolibjpeg

#include "turbo.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "turbo_abi.h"

#include <jerror.h>

/* One call of dli_jpeg_encode. cinfo.client_data is this struct. The file grows in out->data, which
 * survives a jump out of libjpeg, unlike the buffer of jpeg_mem_dest. */
typedef struct {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr dest;
    jmp_buf escape;
    dli_jpeg_output* out;
    dli_jpeg_status status;
    int created;
} encoder;

static void on_error(j_common_ptr cinfo) {
    encoder* e = cinfo->client_data;
    cinfo->err->format_message(cinfo, e->out->message);
    if (!e->created)
        e->status = dli_jpeg_refused(cinfo, e->out->message);
    else
        e->status =
            cinfo->err->msg_code == JERR_OUT_OF_MEMORY ? DLI_JPEG_MEMORY : DLI_JPEG_INTERNAL;
    longjmp(e->escape, 1);
}

static void on_message(j_common_ptr cinfo, int level) {
    (void)cinfo, (void)level; /* nothing but traces and notes about coarse tables */
}

/* Doubles the buffer, which is full, and goes on behind its old end. */
static boolean grow(j_compress_ptr cinfo) {
    encoder* e = cinfo->client_data;
    size_t old = e->out->size;
    unsigned char* data = realloc(e->out->data, 2 * old);
    if (data == NULL) ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
    e->out->data = data;
    e->out->size = 2 * old;
    e->dest.next_output_byte = data + old;
    e->dest.free_in_buffer = old;
    return TRUE;
}

static void begin(j_compress_ptr cinfo) {
    encoder* e = cinfo->client_data;
    size_t first =
        4096 + (size_t)cinfo->image_width * cinfo->image_height * cinfo->input_components / 4;
    e->out->data = malloc(first);
    if (e->out->data == NULL) ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
    e->out->size = first;
    e->dest.next_output_byte = e->out->data;
    e->dest.free_in_buffer = first;
}

static void end(j_compress_ptr cinfo) {
    encoder* e = cinfo->client_data;
    e->out->size -= e->dest.free_in_buffer;
}

static void write_image(encoder* e, const unsigned char* pix, int h_sample, int v_sample,
                        int quality) {
    struct jpeg_compress_struct* cinfo = &e->cinfo;
    jpeg_set_defaults(cinfo);
    jpeg_set_quality(cinfo, quality, TRUE);
    cinfo->comp_info[0].h_samp_factor = h_sample;
    cinfo->comp_info[0].v_samp_factor = v_sample;
    jpeg_start_compress(cinfo, TRUE);
    size_t stride = (size_t)cinfo->image_width * cinfo->input_components;
    while (cinfo->next_scanline < cinfo->image_height) {
        JSAMPROW row =
            (JSAMPROW)(pix + cinfo->next_scanline * stride); /* libjpeg does not write to it */
        jpeg_write_scanlines(cinfo, &row, 1);
    }
    jpeg_finish_compress(cinfo);
}

dli_jpeg_status dli_jpeg_encode(const unsigned char* pix, int width, int height, int channels,
                                int quality, int h_sample, int v_sample, dli_jpeg_output* out) {
    encoder* e = calloc(1, sizeof *e);
    out->data = NULL;
    out->size = 0;
    if (e == NULL) {
        snprintf(out->message, sizeof out->message, "out of memory");
        return DLI_JPEG_MEMORY;
    }
    e->out = out;
    e->cinfo.err = jpeg_std_error(&e->errors);
    e->cinfo.client_data = e;
    e->errors.error_exit = on_error;
    e->errors.emit_message = on_message;
    e->dest.init_destination = begin;
    e->dest.empty_output_buffer = grow;
    e->dest.term_destination = end;
    if (setjmp(e->escape) == 0) {
        jpeg_create_compress(&e->cinfo);
        e->created = 1;
        e->cinfo.dest = &e->dest;
        e->cinfo.image_width = (JDIMENSION)width;
        e->cinfo.image_height = (JDIMENSION)height;
        e->cinfo.input_components = channels;
        e->cinfo.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
        write_image(e, pix, h_sample, v_sample, quality);
    } else {
        free(out->data);
        out->data = NULL;
        out->size = 0;
    }
    jpeg_destroy_compress(&e->cinfo);
    dli_jpeg_status status = e->status;
    free(e);
    return status;
}
