//go:build cgo

#include "kernel.h"

#if defined(__clang__)
/* Each product is rounded by itself, as in Go and as gcc does under -std=c11. */
#pragma STDC FP_CONTRACT OFF
#endif

#include <stdlib.h>
#include <string.h>

static uint8_t clamp(int32_t v) {
    v >>= DLI_PRECISION;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void* reserve(dli_space* s, int i, size_t size) {
    if (s->size[i] >= size) return s->data[i];
    free(s->data[i]);
    s->size[i] = 0;
    s->data[i] = malloc(size + size / 4);
    if (s->data[i] != NULL) s->size[i] = size + size / 4;
    return s->data[i];
}

void dli_transform_free(dli_space* s) {
    for (int i = 0; i < 4; i++) free(s->data[i]);
    memset(s, 0, sizeof *s);
}

/* One row of a gather whose source row exists. Neighbours that stay neighbours are copied together.
 */
static void gather_row(uint8_t* out, const uint8_t* in, const dli_stage* s, size_t c) {
    for (int x = 0; x < s->w;) {
        int32_t at = s->x.first[x];
        int end = x + 1;
        if (at < 0) {
            for (size_t k = 0; k < c; k++) out[x * c + k] = s->fill[k % DLI_MAX_FILL];
        } else {
            while (end < s->w && s->x.first[end] == at + (end - x)) end++;
            memcpy(out + x * c, in + at * c, (end - x) * c);
        }
        x = end;
    }
}

static void gather(uint8_t* out, const uint8_t* in, size_t stride, const dli_stage* s, size_t c) {
    for (int y = 0; y < s->h; y++, out += s->w * c) {
        int32_t from = s->y.first[y];
        if (from >= 0) {
            gather_row(out, in + (size_t)from * stride, s, c);
            continue;
        }
        for (int x = 0; x < s->w; x++)
            for (size_t k = 0; k < c; k++) out[x * c + k] = s->fill[k % DLI_MAX_FILL];
    }
}

static void across(uint8_t* out, const uint8_t* in, const dli_axis* a, int n, int c) {
    for (int x = 0; x < n; x++) {
        const int32_t* w = a->weights + (size_t)x * a->taps;
        const uint8_t* p = in + (size_t)a->first[x] * c;
        for (int k = 0; k < c; k++) {
            int32_t sum = 1 << (DLI_PRECISION - 1);
            for (int t = 0; t < a->taps; t++) sum += p[t * c + k] * w[t];
            *out++ = clamp(sum);
        }
    }
}

static void down(uint8_t* out, const uint8_t* in, size_t stride, size_t n, const int32_t* w,
                 int taps) {
    for (size_t x = 0; x < n; x++) {
        int32_t sum = 1 << (DLI_PRECISION - 1);
        for (int t = 0; t < taps; t++) sum += in[t * stride + x] * w[t];
        out[x] = clamp(sum);
    }
}

/* Rows of the horizontal half have room behind them, since the vector code writes more. */
enum { SLACK = 16 };

/* The rows of in made narrower or wider, to rows of out_stride bytes, of which those behind the
 * pixels may be written.
 */
static int all_across(const dli_job* j, const dli_stage* s, uint8_t* out, size_t out_stride,
                      const uint8_t* in, size_t stride, int rows, int vectors) {
    if (!vectors || j->channels != 3) {
        for (int y = 0; y < rows; y++)
            across(out + y * out_stride, in + y * stride, &s->x, s->w, j->channels);
        return 0;
    }
    size_t rest = stride * (rows - 1) + (size_t)s->in_w * 3;
    void* room = reserve(j->space, 3, dli_across3_room(s->x.taps, s->w));
    if (room == NULL) return 1;
    dli_across3_vector(out, out_stride, in, stride, rows, rest, &s->x, s->w, room);
    return 0;
}

/* Rows of pixels to their places in the result. */
#define PACK(name, type, value)                                                             \
    static void name(const dli_job* j, size_t y, const uint8_t* in) {                       \
        const type* table = j->table;                                                       \
        size_t c = j->channels, per = j->per_channel ? 256 : 0;                             \
        (void)table, (void)per;                                                             \
        for (size_t k = 0; k < c; k++) {                                                    \
            type* to = (type*)j->dst + (j->chw ? (k * j->h + y) * j->w : y * j->w * c + k); \
            size_t step = j->chw ? 1 : c;                                                   \
            for (size_t x = 0; x < (size_t)j->w; x++) to[x * step] = value;                 \
        }                                                                                   \
    }

PACK(pack_bytes, uint8_t, in[x * c + k])
PACK(pack_floats, float, table[k * per + in[x * c + k]])
PACK(pack_halves, uint16_t, table[k * per + in[x * c + k]])

static void pack_row(const dli_job* j, int y, const uint8_t* in) {
    if (j->form == DLI_BYTES) {
        pack_bytes(j, y, in);
    } else if (j->form == DLI_HALVES) {
        pack_halves(j, y, in);
    } else if (j->channels != 3 || j->portable || !dli_transform_vectors()) {
        pack_floats(j, y, in);
    } else {
        float m[3], d[3];
        for (int k = 0; k < 3; k++)
            m[k] = j->mean[j->per_channel ? k : 0], d[k] = j->std[j->per_channel ? k : 0];
        float* to = (float*)j->dst + (size_t)y * j->w * (j->chw ? 1 : 3);
        dli_floats3_vector(to, (size_t)j->h * j->w, in, j->w, j->chw, j->scale, m, d);
    }
}

/* Where the rows of a stage go: one behind the other, or each, once it is there, from the
 * place of the first to where the job wants it. The memory of the result takes them in while the
 * next one is computed. */
typedef struct {
    uint8_t* out;
    const dli_job* pack; /* NULL: they stay */
} rows_to;

static uint8_t* row_of(const rows_to* to, int y, size_t row) {
    return to->pack != NULL ? to->out : to->out + y * row;
}

static void row_done(const rows_to* to, int y, const uint8_t* row) {
    if (to->pack != NULL) pack_row(to->pack, y, row);
}

static void all_down(const dli_stage* s, rows_to to, const uint8_t* in, size_t stride, size_t row,
                     int vectors) {
    for (int y = 0; y < s->h; y++) {
        uint8_t* out = row_of(&to, y, row);
        if (s->y.same) {
            memcpy(out, in + y * stride, row);
        } else {
            const int32_t* w = s->y.weights + (size_t)y * s->y.taps;
            const uint8_t* from = in + (size_t)s->y.first[y] * stride;
            (vectors ? dli_down_vector : down)(out, from, stride, row, w, s->y.taps);
        }
        row_done(&to, y, out);
    }
}

static int resample(const dli_job* j, const dli_stage* s, rows_to out, const uint8_t* in,
                    size_t stride) {
    size_t row = (size_t)s->w * j->channels, in_row = (size_t)s->in_w * j->channels,
           wide = row + SLACK;
    int vectors = !j->portable && dli_transform_vectors();
    if (s->upright) {
        /* Two pieces of one block: the rows made fewer, and those made wider, with their slack. */
        uint8_t* to = reserve(j->space, 2, (in_row + wide) * s->h);
        if (to == NULL) return 1;
        uint8_t* wider = to + in_row * s->h;
        all_down(s, (rows_to){to, NULL}, in, stride, in_row, vectors);
        if (all_across(j, s, wider, wide, to, in_row, s->h, vectors) != 0) return 1;
        for (int y = 0; y < s->h; y++) {
            if (out.pack == NULL) memcpy(out.out + y * row, wider + y * wide, row);
            row_done(&out, y, wider + y * wide);
        }
        return 0;
    }
    if (!s->x.same) {
        uint8_t* to = reserve(j->space, 2, wide * s->in_h);
        if (to == NULL || all_across(j, s, to, wide, in, stride, s->in_h, vectors) != 0) return 1;
        in = to;
        stride = wide;
    }
    all_down(s, out, in, stride, row, vectors);
    return 0;
}

static uint8_t cut(float v) { return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v); }

static float luma(const uint8_t* p) {
    float v = (float)p[0] * 0.2989f;
    v += (float)p[1] * 0.587f;
    v += (float)p[2] * 0.114f;
    return (float)(int32_t)v;
}

static float mean(const dli_stage* s, const uint8_t* in, size_t stride, int c) {
    double sum = 0;
    for (int y = 0; y < s->in_h; y++, in += stride)
        for (int x = 0; x < s->in_w; x++) sum += c == 3 ? (double)luma(in + 3 * x) : in[x];
    return (float)(sum / ((double)s->in_h * s->in_w));
}

static void paint(uint8_t* out, const uint8_t* in, size_t stride, const dli_stage* s, int c) {
    size_t row = (size_t)s->w * c;
    float rest = (float)(1 - (double)s->factor);
    if (s->paint == DLI_SATURATE && c != 3) {
        for (int y = 0; y < s->h; y++) memcpy(out + y * row, in + y * stride, row);
        return;
    }
    if (s->paint == DLI_SATURATE) {
        for (int y = 0; y < s->h; y++, in += stride, out += row)
            for (size_t x = 0; x < row; x += 3) {
                float gray = luma(in + x) * rest;
                for (int k = 0; k < 3; k++) out[x + k] = cut((float)in[x + k] * s->factor + gray);
            }
        return;
    }
    float add = s->paint == DLI_CONTRAST ? mean(s, in, stride, c) * rest : 0;
    uint8_t table[256];
    for (int v = 0; v < 256; v++) table[v] = cut((float)v * s->factor + add);
    in += s->oy * stride + (size_t)s->ox * c;
    for (int y = 0; y < s->h; y++, in += stride, out += row)
        for (size_t x = 0; x < row; x++) out[x] = table[in[x]];
}

/* Reports whether n samples of an axis read nothing but the size ones that go in. Positions without
 * weights may be negative, for the fill. */
static int axis_fits(const dli_axis* a, int32_t n, int32_t size, int weighed) {
    if (weighed && a->same) return n == size;
    int32_t taps = weighed ? a->taps : 1;
    if (taps < 1 || taps > size) return 0;
    for (int32_t i = 0; i < n; i++)
        if (a->first[i] > size - taps || (weighed && a->first[i] < 0)) return 0;
    return 1;
}

static int stage_fits(const dli_stage* s) {
    switch (s->what) {
        case DLI_GATHER:
            return axis_fits(&s->x, s->w, s->in_w, 0) && axis_fits(&s->y, s->h, s->in_h, 0);
        case DLI_RESAMPLE:
            if (s->upright && s->x.same) return 0;
            return axis_fits(&s->x, s->w, s->in_w, 1) && axis_fits(&s->y, s->h, s->in_h, 1);
        case DLI_PAINT:
            return s->ox >= 0 && s->oy >= 0 && s->w <= s->in_w - s->ox && s->h <= s->in_h - s->oy;
    }
    return 0;
}

/* Holds the pixels, the stages and the room for the result against each other: what follows reads
 * and writes by the numbers of the job alone. */
static int fits(const dli_job* j, size_t size, size_t stride, int32_t width, int32_t height,
                int32_t channels) {
    if (width != j->in_w || height != j->in_h || channels != j->channels) return 0;
    if (width < 1 || height < 1 || channels < 1) return 0;
    size_t row = (size_t)width * channels;
    if (stride < row || size < row || (size - row) / stride < (size_t)height - 1) return 0;
    for (int i = 0; i < j->count; i++) {
        const dli_stage* s = &j->stages[i];
        if (s->in_w != width || s->in_h != height || s->w < 1 || s->h < 1 || !stage_fits(s))
            return 0;
        width = s->w;
        height = s->h;
    }
    size_t element = j->form == DLI_BYTES ? 1 : j->form == DLI_HALVES ? 2 : 4;
    return width == j->w && height == j->h &&
           j->dst_size == (size_t)width * height * channels * element;
}

int dli_transform_run(void* job, const unsigned char* pix, size_t size, size_t stride,
                      int32_t width, int32_t height, int32_t channels) {
    const dli_job* j = job;
    if (!fits(j, size, stride, width, height, channels)) return DLI_UNFIT;
    size_t c = j->channels;
    int plain = j->form == DLI_BYTES && (!j->chw || c == 1), packed = 0;
    for (int i = 0; i < j->count; i++) {
        const dli_stage* s = &j->stages[i];
        int last = i == j->count - 1;
        uint8_t* out = j->dst;
        if (!plain || !last) {
            out = reserve(j->space, i % 2, (size_t)s->h * s->w * c);
            if (out == NULL) return DLI_NO_MEMORY;
        }
        if (s->what == DLI_GATHER)
            gather(out, pix, stride, s, c);
        else if (s->what == DLI_PAINT)
            paint(out, pix, stride, s, j->channels);
        else if (resample(j, s, (rows_to){out, !plain && last ? j : NULL}, pix, stride) != 0)
            return DLI_NO_MEMORY;
        else
            packed = !plain && last;
        pix = out;
        stride = s->w * c;
    }
    if (!plain && !packed) {
        for (int y = 0; y < j->h; y++) pack_row(j, y, pix + y * stride);
    } else if (plain && j->count == 0) {
        for (int y = 0; y < j->h; y++)
            memcpy(j->dst + (size_t)y * j->w * c, pix + y * stride, j->w * c);
    }
    return DLI_DONE;
}

void* dli_transform_address(void) { return (void*)dli_transform_run; }
