#include "threads.h"

#include <pthread.h>

#include "_cgo_export.h"

enum { THREADS = 3 };

static pthread_barrier_t met;
static pthread_mutex_t away = PTHREAD_MUTEX_INITIALIZER;

static void* work(void* none) {
    for (;;) {
        pthread_barrier_wait(&met);
        touch();
        pthread_mutex_lock(&away);
        pthread_mutex_unlock(&away);
        pthread_barrier_wait(&met);
    }
    return none;
}

void start(void) {
    pthread_barrier_init(&met, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, NULL);
    }
}

void send(void) {
    pthread_mutex_lock(&away);
    pthread_barrier_wait(&met);
}

void fetch(void) {
    pthread_mutex_unlock(&away);
    pthread_barrier_wait(&met);
}
