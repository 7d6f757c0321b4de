/* jpeg_limit decodes JPEG files in memory as fast as plain libjpeg-turbo can, and prints images a
 * second: the physical limit that a loader is measured against.
 *
 *     cc -O2 -o jpeg_limit jpeg_limit.c -ljpeg -lpthread
 *     jpeg_limit [-t threads] [-s seconds] [-r repeats] file.jpg...
 *     jpeg_limit [-t threads] [-s seconds] [-r repeats] -p packed
 *     jpeg_limit -i [-t threads] [-o megabytes] -p packed
 *     jpeg_limit -d -p packed
 *
 * A packed file is a sequence of (little-endian uint32 size, bytes). Each thread has one
 * decompressor and one output buffer, both reused, so the pixels stay in its caches; threads take
 * the next file of the list in turn. Settings are those of the library under test: RGB (gray files
 * stay gray), accurate integer DCT, smooth chroma upsampling. With -r the measurement is repeated
 * and every line printed, so that the caller can take the median. With -i it decodes every file
 * once for each line of standard input, and answers with "images seconds", so that a caller can
 * take turns with other contenders. With -o the pixels go to the next place in a ring of that size
 * instead, as those of a loader must: the difference is the price of memory.
 * With -d it writes the pixels of all files in order to standard output: the reference of a check.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jpeglib.h>

enum { BATCH_ROWS = 16 };

typedef struct {
    unsigned char* data;
    size_t size;
} blob;

typedef struct {
    blob* files;
    size_t count;
    size_t largest;      /* bytes of pixels of the largest image */
    size_t limit;        /* images to decode; SIZE_MAX: until stop */
    unsigned char* ring; /* NULL: each thread has a buffer of its own */
    size_t slots;
    atomic_size_t next;
    atomic_int stop;
} job;

typedef struct {
    job* work;
    uint64_t images, pixels;
} worker;

static void die(const char* what, const char* which) {
    fprintf(stderr, "jpeg_limit: %s %s\n", what, which);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void decode(struct jpeg_decompress_struct* cinfo, const blob* file, unsigned char* out) {
    JSAMPROW rows[BATCH_ROWS];
    jpeg_mem_src(cinfo, file->data, (unsigned long)file->size);
    jpeg_read_header(cinfo, TRUE);
    if (cinfo->num_components == 3) cinfo->out_color_space = JCS_RGB;
    cinfo->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(cinfo);
    size_t stride = (size_t)cinfo->output_width * cinfo->output_components;
    while (cinfo->output_scanline < cinfo->output_height) {
        JDIMENSION n = cinfo->output_height - cinfo->output_scanline;
        if (n > BATCH_ROWS) n = BATCH_ROWS;
        for (JDIMENSION i = 0; i < n; i++) rows[i] = out + (cinfo->output_scanline + i) * stride;
        jpeg_read_scanlines(cinfo, rows, n);
    }
    jpeg_finish_decompress(cinfo);
}

static void* run(void* arg) {
    worker* w = arg;
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char* out = malloc(w->work->largest);
    if (out == NULL) die("no memory for", "pixels");
    memset(out, 0, w->work->largest);
    cinfo.err = jpeg_std_error(&errors); /* exits on a damaged file */
    jpeg_create_decompress(&cinfo);
    while (!atomic_load_explicit(&w->work->stop, memory_order_relaxed)) {
        size_t i = atomic_fetch_add_explicit(&w->work->next, 1, memory_order_relaxed);
        if (i >= w->work->limit) break;
        unsigned char* to =
            w->work->ring == NULL ? out : w->work->ring + i % w->work->slots * w->work->largest;
        decode(&cinfo, &w->work->files[i % w->work->count], to);
        w->images++;
        w->pixels += (uint64_t)cinfo.image_width * cinfo.image_height;
    }
    jpeg_destroy_decompress(&cinfo);
    free(out);
    return NULL;
}

typedef struct {
    uint64_t images, pixels;
    double seconds;
} result;

/* Decodes until the seconds are over, or with seconds 0 until the limit is reached. */
static result measure(job* work, int threads, double seconds) {
    pthread_t* ids = calloc((size_t)threads, sizeof *ids);
    worker* workers = calloc((size_t)threads, sizeof *workers);
    if (ids == NULL || workers == NULL) die("no memory for", "threads");
    atomic_store(&work->stop, 0);
    atomic_store(&work->next, 0);
    double begin = now();
    for (int i = 0; i < threads; i++) {
        workers[i].work = work;
        if (pthread_create(&ids[i], NULL, run, &workers[i]) != 0) die("cannot start", "a thread");
    }
    if (seconds > 0) {
        usleep((useconds_t)(seconds * 1e6));
        atomic_store(&work->stop, 1);
    }
    result sum = {0, 0, 0};
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        sum.images += workers[i].images;
        sum.pixels += workers[i].pixels;
    }
    sum.seconds = now() - begin;
    free(ids);
    free(workers);
    return sum;
}

static void measure_for(job* work, int threads, double seconds) {
    work->limit = SIZE_MAX;
    result r = measure(work, threads, seconds);
    printf("%d threads, %zu files, %.2f s: %.1f images/s, %.1f MP/s, %.0f ns/image/thread\n",
           threads, work->count, r.seconds, (double)r.images / r.seconds,
           (double)r.pixels / r.seconds / 1e6, r.seconds * threads / (double)r.images * 1e9);
    fflush(stdout);
}

static void take_turns(job* work, int threads) {
    char line[64];
    work->limit = work->count;
    while (fgets(line, sizeof line, stdin) != NULL) {
        result r = measure(work, threads, 0);
        printf("%llu %.6f\n", (unsigned long long)r.images, r.seconds);
        fflush(stdout);
    }
}

static void dump(job* work) {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char* out = malloc(work->largest);
    if (out == NULL) die("no memory for", "pixels");
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    for (size_t i = 0; i < work->count; i++) {
        decode(&cinfo, &work->files[i], out);
        size_t n = (size_t)cinfo.output_width * cinfo.output_height * cinfo.output_components;
        if (fwrite(out, 1, n, stdout) != n) die("cannot write", "pixels");
    }
    jpeg_destroy_decompress(&cinfo);
    free(out);
}

static blob read_file(const char* path) {
    blob b = {NULL, 0};
    FILE* f = fopen(path, "rb");
    if (f == NULL || fseek(f, 0, SEEK_END) != 0) die("cannot read", path);
    long size = ftell(f);
    rewind(f);
    b.data = malloc(size > 0 ? (size_t)size : 1);
    if (size < 0 || b.data == NULL || fread(b.data, 1, (size_t)size, f) != (size_t)size)
        die("cannot read", path);
    b.size = (size_t)size;
    fclose(f);
    return b;
}

static void add(job* work, blob b) {
    work->files = realloc(work->files, (work->count + 1) * sizeof *work->files);
    if (work->files == NULL) die("no memory for", "the list of files");
    work->files[work->count++] = b;
}

static void unpack(job* work, const char* path) {
    blob all = read_file(path);
    for (size_t at = 0; at < all.size;) {
        if (all.size - at < 4) die("is cut:", path);
        const unsigned char* p = all.data + at;
        size_t n = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
        if (n > all.size - at - 4) die("is cut:", path);
        add(work, (blob){all.data + at + 4, n});
        at += 4 + n;
    }
}

/* Finds the size of the output buffer. */
static void size_up(job* work) {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    for (size_t i = 0; i < work->count; i++) {
        jpeg_mem_src(&cinfo, work->files[i].data, (unsigned long)work->files[i].size);
        jpeg_read_header(&cinfo, TRUE);
        size_t n = (size_t)cinfo.image_width * cinfo.image_height * cinfo.num_components;
        if (n > work->largest) work->largest = n;
        jpeg_abort_decompress(&cinfo);
    }
    jpeg_destroy_decompress(&cinfo);
}

int main(int argc, char** argv) {
    job work = {0};
    int threads = 1, repeats = 1, turns = 0, pixels = 0, option;
    double seconds = 3;
    size_t ring_bytes = 0;
    while ((option = getopt(argc, argv, "t:s:r:p:o:id")) != -1) {
        switch (option) {
            case 't':
                threads = atoi(optarg);
                break;
            case 's':
                seconds = atof(optarg);
                break;
            case 'r':
                repeats = atoi(optarg);
                break;
            case 'o':
                ring_bytes = (size_t)atol(optarg) * 1000000;
                break;
            case 'i':
                turns = 1;
                break;
            case 'd':
                pixels = 1;
                break;
            case 'p':
                unpack(&work, optarg);
                break;
            default:
                return 2;
        }
    }
    for (; optind < argc; optind++) add(&work, read_file(argv[optind]));
    if (work.count == 0 || threads < 1 || seconds <= 0) {
        fprintf(stderr,
                "usage: jpeg_limit [-i | -d] [-o megabytes] [-t threads] [-s seconds] [-r repeats] "
                "[-p packed] "
                "file.jpg...\n");
        return 2;
    }
    size_up(&work);
    work.slots = ring_bytes / work.largest;
    if (work.slots > 0) {
        work.ring = calloc(work.slots, work.largest);
        if (work.ring == NULL) die("no memory for", "the ring");
        memset(work.ring, 1, work.slots * work.largest);
    }
    if (pixels) {
        dump(&work);
        return 0;
    }
    if (turns) {
        take_turns(&work, threads);
        return 0;
    }
    for (int i = 0; i < repeats; i++) measure_for(&work, threads, seconds);
    return 0;
}
