/* read_limit reads memory, or a file in the page cache, as fast as the machine can: the limit for a
 * query that has to look at every value.
 *
 *     cc -O2 -o read_limit read_limit.c -lpthread
 *     read_limit [-t threads] [-m megabytes] [-s] [-d] [-f file]
 *
 * Each line of standard input starts one round, answered with "bytes seconds". In a round the
 * threads together read the given megabytes. Memory: each thread adds up, 64 bytes at once, 512 MiB
 * of its own (huge pages where the system grants them; with -s small ones, as those of the page
 * cache are), again and again. File: each takes the next megabyte of the file, round and round, by
 * pread into one buffer of its own, which stays in the cache, and adds that up. With -d the file is
 * read past the page cache (O_DIRECT), and nothing is added up: the limit of the disk. */
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

enum { BLOCK = 1 << 20 };
static const size_t source_bytes = 512u << 20;

typedef uint64_t wide __attribute__((vector_size(64)));

typedef struct {
    unsigned char* source;
    int file; /* -1: memory */
    int direct;
    uint64_t blocks;
    atomic_llong *left, *next;
    uint64_t moved;
    wide sum;
} worker;

static void die(const char* what, const char* which) {
    fprintf(stderr, "read_limit: %s %s\n", what, which);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned char* memory(size_t n, int advice) {
    unsigned char* p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) die("no memory for", "a buffer");
    madvise(p, n, advice);
    memset(p, 1, n);
    return p;
}

__attribute__((target_clones("default", "avx2"))) static void add(worker* w,
                                                                  const unsigned char* block) {
    const wide* at = (const wide*)block;
    wide a = w->sum, b = {0}, c = {0}, d = {0};
    for (size_t i = 0; i < BLOCK / sizeof(wide); i += 4) {
        a += at[i];
        b += at[i + 1];
        c += at[i + 2];
        d += at[i + 3];
    }
    w->sum = a + b + c + d;
}

static void* run(void* arg) {
    worker* w = arg;
    for (size_t at = 0; atomic_fetch_sub(w->left, BLOCK) > 0; at += BLOCK) {
        if (w->file >= 0) {
            off_t place = (off_t)((uint64_t)atomic_fetch_add(w->next, 1) % w->blocks * BLOCK);
            if (pread(w->file, w->source, BLOCK, place) != BLOCK) die("cannot read", "the file");
            at = 0;
            if (w->direct) {
                w->moved += BLOCK;
                continue;
            }
        } else if (at >= source_bytes) {
            at = 0;
        }
        add(w, w->source + at);
        w->moved += BLOCK;
    }
    return NULL;
}

int main(int argc, char** argv) {
    int threads = 1, file = -1, direct = 0, advice = MADV_HUGEPAGE, option;
    const char* name = NULL;
    long long megabytes = 4000;
    struct stat about = {0};
    while ((option = getopt(argc, argv, "t:m:sdf:")) != -1) {
        if (option == 't') threads = atoi(optarg);
        if (option == 'm') megabytes = atoll(optarg);
        if (option == 's') advice = MADV_NOHUGEPAGE;
        if (option == 'd') direct = O_DIRECT;
        if (option == 'f') name = optarg;
        if (option == '?') return 2;
    }
    if (name != NULL && ((file = open(name, O_RDONLY | direct)) < 0 || fstat(file, &about) != 0))
        die("cannot open", name);
    if (threads < 1 || threads > 256 || (file >= 0 && about.st_size < BLOCK)) return 2;
    worker* workers = aligned_alloc(64, (size_t)threads * sizeof *workers);
    pthread_t* ids = calloc((size_t)threads, sizeof *ids);
    if (workers == NULL || ids == NULL) die("no memory for", "threads");
    atomic_llong left, next;
    for (int i = 0; i < threads; i++) {
        workers[i] = (worker){.file = file, .direct = direct != 0, .left = &left, .next = &next};
        workers[i].source = memory(file < 0 ? source_bytes : BLOCK, advice);
        if (file >= 0) workers[i].blocks = (uint64_t)about.st_size / BLOCK;
    }
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        atomic_store(&left, megabytes * 1000000);
        atomic_store(&next, 0);
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
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++)
        for (int k = 0; k < 8; k++) sum += workers[i].sum[k];
    fprintf(sum == 1 ? stderr : stdout, "%s", ""); /* the sum is wanted */
    return 0;
}
