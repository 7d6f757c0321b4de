/* A CUDA driver for tests, on the memory of the host: the calls that the package cuda makes, with
 * the driver's names and results. Streams are asynchronous: each has a thread. Wrong use is noted
 * as a violation beside the result that the driver would give. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    DEINITIALIZED = 4,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_READY = 600,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
    LAUNCH_FAILED = 719,
};

enum { MOST_DEVICES = 8 };

typedef struct context {
    int device;
    int retained;
} context;

typedef struct event {
    context* of;
    uint64_t recorded, reached; /* how often, and how many of these streams have passed */
    bool dead;
    struct event* next;
} event;

/* ---- state.c: contexts, memory, faults ---- */

/* The lock of all state, and the condition that any of it has changed. */
extern pthread_mutex_t fake_lock;
extern pthread_cond_t fake_changed;

/* fake_enter begins a call: it takes the lock and returns the result that a test has planned for
 * it, or that the state of the driver demands. It needs a current context unless anywhere. */
int fake_enter(const char* call, bool anywhere);

/* fake_leave ends a call that fake_enter let begin. */
int fake_leave(int code);

/* fake_current gives the current context of the thread. */
context* fake_current(void);

/* fake_primary gives the primary context of a device. */
context* fake_primary(int device);

/* fake_violation notes wrong use, under the lock. */
void fake_violation(const char* format, ...);

/* fake_misused tells whether there was wrong use, under the lock. */
bool fake_misused(void);

/* fake_lost gives the failure after which every call fails; 0: none. Under the lock. */
int fake_lost(void);

/* fake_device_memory and fake_pinned tell whether a range is live, under the lock. */
bool fake_device_memory(uintptr_t p, size_t size);
bool fake_pinned(uintptr_t p, size_t size);

/* fake_alloc and fake_free are memory of a device, under the lock. */
int fake_alloc(uint64_t* p, size_t size, context* of);
int fake_free(uintptr_t p);

/* fake_memory_left counts live allocations and registrations, with their first sizes as text. */
int fake_memory_left(char* text, size_t size);

/* fake_check_guards notes writes behind the end of any memory, under the lock. */
void fake_check_guards(void);

/* ---- device.cpp: kernels on the host ---- */

/* Runs a kernel over tasks, by its name. Returns 0 if there is none. */
int fake_cuda_run(const char* name, unsigned blocks, unsigned threads, const void* tasks,
                  uint32_t count);
/* Tells whether there is a kernel of this name. */
int fake_cuda_has(const char* name);

/* ---- stream.c: streams and events ---- */

/* fake_streams_left counts live streams and events, without those of consumers. */
int fake_streams_left(char* text, size_t size);

/* fake_push_decode queues what stands for the decoding of a file, rows of width bytes to memory of
 * the device: fake_cuda_pixel. The source must stay unchanged until then. Under the lock. */
struct stream;
int fake_push_decode(struct stream* s, const void* file, size_t size, void* to, unsigned width,
                     unsigned height);

/* fake_own_stream gives a stream of nvJPEG's own in the current context, and fake_drop_stream takes
 * it back; fake_await lets a stream wait for what another has so far. Under the lock. */
struct stream* fake_own_stream(void);
void fake_drop_stream(struct stream* s);
int fake_await(struct stream* s, struct stream* other);

/* fake_nvjpeg_left counts live handles and states; fake_clear_nvjpeg forgets them. */
int fake_nvjpeg_left(void);
void fake_clear_nvjpeg(void);

/* fake_clear_streams waits for the streams and forgets them and the events, under the lock. */
void fake_clear_streams(void);

/* ---- what tests call ---- */

/* Makes call number nth from now (1: the next) of a name give code; nth 0: all from now on. A call
 * that frees does so all the same: the driver reports earlier failures there. code LAUNCH_FAILED
 * loses the device: every later call fails. */
void fake_cuda_fail(const char* call, int nth, int code);
/* Every copy, kernel and decoded file takes so long from now on. */
void fake_cuda_delay(int microseconds);
/* Devices have so much memory from now on; 0: no bound. */
void fake_cuda_memory(uint64_t bytes);
/* Stops a stream before its next operation, or lets it go on. */
void fake_cuda_hold(void* stream, int held);
/* Counts the calls of a name. */
int fake_cuda_calls(const char* call);
/* Copies the violations so far into text and returns their number. */
int fake_cuda_violations(char* text, size_t size);
/* Counts live memory, registrations, streams, events and retained contexts. */
int fake_cuda_left(char* text, size_t size);
/* The process ends: every call fails from now on. */
void fake_cuda_deinitialize(void);
/* Begins again: no violations, faults, delays, counts, and nothing left. */
void fake_cuda_reset(void);
/* Byte x of row y of what nvJPEG makes of a file. */
unsigned char fake_cuda_pixel(const void* file, size_t size, unsigned x, unsigned y);
/* A consumer: a stream of a device's primary context, and an operation on it that reads memory of
 * the device into a buffer of the host. */
int fake_cuda_consumer(int device, void** stream);
int fake_cuda_consume(void* stream, uint64_t from, void* to, size_t size);
int fake_cuda_consumed(void* stream);
/* Waits until no stream of nvJPEG's own has anything to do. */
void fake_cuda_decoded(void);

#endif
