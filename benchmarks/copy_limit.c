/* copy_limit copies memory as fast as the machine can: the limit for loading what needs no
 * decoding.
 *
 *     cc -O2 -o copy_limit copy_limit.c -lpthread
 *     copy_limit [-t threads] [-m megabytes] [-o ring]                        copy
 *     copy_limit [-t threads] [-m megabytes] [-o ring] [-r row] -f file       gather
 *
 * Each line of standard input starts one round, answered with "bytes seconds". In a round the
 * threads together move the given megabytes. Copy: each thread has 512 MiB of source memory, in
 * huge pages where the system grants them, and copies its next 12,000,000 bytes (64 samples of
 * 250x250x3) into one buffer of its own that it uses again and again, and which therefore stays in
 * the cache; with -o into the next place of a ring of that many megabytes, which does not. Gather:
 * each thread reads rows at pseudo-random places of a file in the page cache, by pread, into such a
 * buffer. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 12000000 };
static const size_t source_bytes = 512u << 20;

typedef struct {
    unsigned char *source, *ring, *block; /* block: the part of the ring that is next */
    size_t ring_bytes;
    int file; /* -1: copy */
    size_t row;
    uint64_t rows; /* in the file */
    uint64_t seed;
    atomic_llong* left; /* bytes of this round that no thread has taken yet */
    uint64_t moved;
} worker;

static void die(const char* what, const char* which) {
    fprintf(stderr, "copy_limit: %s %s\n", what, which);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned char* memory(size_t n) {
    unsigned char* p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) die("no memory for", "a buffer");
    madvise(p, n, MADV_HUGEPAGE);
    memset(p, 1, n);
    return p;
}

static void gather(worker* w) {
    for (size_t at = 0; at + w->row <= BLOCK; at += w->row) {
        w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
        off_t place = (off_t)((w->seed >> 33) % w->rows * w->row);
        if (pread(w->file, w->block + at, w->row, place) != (ssize_t)w->row)
            die("cannot read", "a row");
        w->moved += w->row;
    }
}

static void* run(void* arg) {
    worker* w = arg;
    for (size_t at = 0, to = 0; atomic_fetch_sub(w->left, BLOCK) > 0; at += BLOCK, to += BLOCK) {
        if (to + BLOCK > w->ring_bytes) to = 0;
        w->block = w->ring + to;
        if (w->file >= 0) {
            gather(w);
            continue;
        }
        if (at + BLOCK > source_bytes) at = 0;
        memcpy(w->block, w->source + at, BLOCK);
        __asm__ volatile(""
                         :
                         : "r"(w->block)
                         : "memory"); /* keeps the compiler from dropping the copy */
        w->moved += BLOCK;
    }
    return NULL;
}

int main(int argc, char** argv) {
    int threads = 1, file = -1, option;
    long long megabytes = 4000;
    size_t row = 187500, ring = BLOCK;
    struct stat about = {0};
    while ((option = getopt(argc, argv, "t:m:r:f:o:")) != -1) {
        if (option == 't') threads = atoi(optarg);
        if (option == 'm') megabytes = atoll(optarg);
        if (option == 'o') ring = (size_t)atoll(optarg) * 1000000;
        if (option == 'r') row = (size_t)atoll(optarg);
        if (option == 'f' && ((file = open(optarg, O_RDONLY)) < 0 || fstat(file, &about) != 0))
            die("cannot open", optarg);
        if (option == '?') return 2;
    }
    if (threads < 1 || threads > 256 || ring < BLOCK || row == 0 || row > BLOCK ||
        (file >= 0 && (size_t)about.st_size < row))
        return 2;
    worker* workers = calloc((size_t)threads, sizeof *workers);
    pthread_t* ids = calloc((size_t)threads, sizeof *ids);
    if (workers == NULL || ids == NULL) die("no memory for", "threads");
    atomic_llong left;
    for (int i = 0; i < threads; i++) {
        workers[i] = (worker){.file = file, .row = row, .seed = (uint64_t)i + 1, .left = &left};
        workers[i].ring = memory(ring);
        workers[i].ring_bytes = ring;
        if (file < 0) workers[i].source = memory(source_bytes);
        if (file >= 0) workers[i].rows = (uint64_t)about.st_size / row;
    }
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        atomic_store(&left, megabytes * 1000000);
        double begin = now();
        uint64_t moved = 0;
        for (int i = 0; i < threads; i++) {
            workers[i].moved = 0;
            if (pthread_create(&ids[i], NULL, run, &workers[i]) != 0)
                die("cannot start", "a thread");
        }
        for (int i = 0; i < threads; i++) {
            pthread_join(ids[i], NULL);
            moved += workers[i].moved;
        }
        printf("%llu %.6f\n", (unsigned long long)moved, now() - begin);
        fflush(stdout);
    }
    return 0;
}
