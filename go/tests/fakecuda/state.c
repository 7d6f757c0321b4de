#define _GNU_SOURCE
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACK = 16, TEXT = 4096, FAULTS = 32, CALLS = 64 };

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_changed = PTHREAD_COND_INITIALIZER;

typedef struct range {
    uintptr_t at;
    size_t size;
    context* of; /* NULL: registered memory of the host */
    struct range* next;
} range;

static struct {
    pid_t owner; /* 0: before cuInit */
    bool ended;
    int lost;
    uint64_t memory, used; /* of all devices; memory 0: no bound */
    context primary[MOST_DEVICES];
    range *allocated, *registered;
    char violations[TEXT];
    int violation_count;
    struct {
        char call[64];
        int nth, code;
    } faults[FAULTS];
    int fault_count;
    struct {
        char call[64];
        int count;
    } calls[CALLS];
    int call_count;
} fake;

static __thread context* stack[STACK];
static __thread int depth;

context* fake_current(void) { return depth > 0 ? stack[depth - 1] : NULL; }

context* fake_primary(int device) { return &fake.primary[device]; }

void fake_violation(const char* format, ...) {
    size_t used = strlen(fake.violations);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(fake.violations + used, TEXT - used, format, args);
    va_end(args);
    if (n > 0 && used + (size_t)n + 2 < TEXT) strcat(fake.violations, "\n");
    fake.violation_count++;
}

bool fake_misused(void) { return fake.violation_count > 0; }

int fake_lost(void) { return fake.ended ? DEINITIALIZED : fake.lost; }

/* counted adds a call to the counts and returns how many there were of it. */
static void counted(const char* call) {
    for (int i = 0; i < fake.call_count; i++) {
        if (strcmp(fake.calls[i].call, call) == 0) {
            fake.calls[i].count++;
            return;
        }
    }
    if (fake.call_count == CALLS) abort();
    snprintf(fake.calls[fake.call_count].call, sizeof fake.calls[0].call, "%s", call);
    fake.calls[fake.call_count++].count = 1;
}

/* planned gives the result that a test wants of this call. */
static int planned(const char* call) {
    for (int i = 0; i < fake.fault_count; i++) {
        if (strcmp(fake.faults[i].call, call) != 0) continue;
        if (fake.faults[i].nth == 0) return fake.faults[i].code;
        if (fake.faults[i].nth > 0 && --fake.faults[i].nth == 0) {
            fake.faults[i].nth = -1;
            return fake.faults[i].code;
        }
    }
    return OK;
}

/* The result of a call that frees; it frees all the same. */
static __thread int reported;

static bool frees(const char* call) {
    return strstr(call, "Free") != NULL || strstr(call, "Destroy") != NULL ||
           strstr(call, "Unregister") != NULL || strstr(call, "Unload") != NULL ||
           strstr(call, "Release") != NULL;
}

int fake_enter(const char* call, bool anywhere) {
    pthread_mutex_lock(&fake_lock);
    counted(call);
    int code = planned(call);
    if (code == LAUNCH_FAILED) {
        fake.lost = code;
        pthread_cond_broadcast(&fake_changed); /* streams that wait go on */
    }
    reported = OK;
    if (code != OK && code != LAUNCH_FAILED && frees(call)) {
        reported = code;
        code = OK;
    }
    if (fake.ended)
        code = DEINITIALIZED;
    else if (fake.owner != getpid()) {
        if (fake.owner != 0) fake_violation("%s in a forked child", call);
        code = NOT_INITIALIZED;
    } else if (fake.lost != OK && !anywhere)
        code = fake.lost;
    else if (code == OK && !anywhere && fake_current() == NULL) {
        fake_violation("%s without a current context", call);
        code = INVALID_CONTEXT;
    }
    if (code != OK) pthread_mutex_unlock(&fake_lock);
    return code;
}

int fake_leave(int code) {
    if (code == OK) code = reported;
    reported = OK;
    pthread_mutex_unlock(&fake_lock);
    return code;
}

static int number_from(const char* name, int otherwise) {
    const char* text = getenv(name);
    return text != NULL ? atoi(text) : otherwise;
}

static int devices(void) { return number_from("FAKE_CUDA_DEVICES", 1); }

/* ---- Start, errors, devices ---- */

int cuInit(unsigned flags) {
    if (flags != 0) return INVALID_VALUE;
    pthread_mutex_lock(&fake_lock);
    counted("cuInit");
    int code = planned("cuInit");
    if (code == OK && fake.owner != 0 && fake.owner != getpid()) code = NOT_INITIALIZED;
    if (code == OK && devices() == 0) code = NO_DEVICE;
    if (code == OK) fake.owner = getpid();
    return fake_leave(code);
}

int cuDriverGetVersion(int* version) {
    *version = number_from("FAKE_CUDA_VERSION", 12040);
    return OK;
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {OK, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

static int error_text(int code, const char** out, bool name) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].code != code) continue;
        *out = name ? errors[i].name : errors[i].text;
        return OK;
    }
    *out = NULL;
    return INVALID_VALUE;
}

int cuGetErrorName(int code, const char** name) { return error_text(code, name, true); }
int cuGetErrorString(int code, const char** text) { return error_text(code, text, false); }

int cuDeviceGetCount(int* n) {
    int code = fake_enter("cuDeviceGetCount", true);
    if (code != OK) return code;
    *n = devices();
    return fake_leave(OK);
}

int cuDeviceGet(int* device, int number) {
    int code = fake_enter("cuDeviceGet", true);
    if (code != OK) return code;
    if (number < 0 || number >= devices()) return fake_leave(INVALID_DEVICE);
    *device = number + 40; /* a handle is no number */
    return fake_leave(OK);
}

int cuDeviceGetName(char* name, int size, int device) {
    int code = fake_enter("cuDeviceGetName", true);
    if (code != OK) return code;
    snprintf(name, (size_t)size, "Fake GPU %d", device - 40);
    return fake_leave(OK);
}

int cuDeviceTotalMem_v2(size_t* bytes, int device) {
    int code = fake_enter("cuDeviceTotalMem", true);
    if (code != OK) return code;
    (void)device;
    *bytes = (size_t)8 << 30;
    return fake_leave(OK);
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
    int code = fake_enter("cuDeviceGetAttribute", true);
    if (code != OK) return code;
    (void)device;
    *value = attribute == 75 ? 9 : attribute == 115 ? number_from("FAKE_CUDA_POOLS", 1) : 0;
    return fake_leave(OK);
}

/* ---- Contexts ---- */

int cuDevicePrimaryCtxRetain(context** out, int device) {
    int code = fake_enter("cuDevicePrimaryCtxRetain", true);
    if (code != OK) return code;
    context* c = &fake.primary[device - 40];
    c->device = device - 40;
    c->retained++;
    *out = c;
    return fake_leave(OK);
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    int code = fake_enter("cuDevicePrimaryCtxRelease", true);
    if (code != OK) return code;
    context* c = &fake.primary[device - 40];
    if (c->retained == 0) fake_violation("cuDevicePrimaryCtxRelease: it is not retained");
    c->retained--;
    return fake_leave(OK);
}

int cuCtxPushCurrent_v2(context* c) {
    int code = fake_enter("cuCtxPushCurrent", true);
    if (code != OK) return code;
    if (c == NULL || c->retained == 0) {
        fake_violation("cuCtxPushCurrent: the context is not retained");
        return fake_leave(INVALID_CONTEXT);
    }
    if (depth == STACK) abort();
    stack[depth++] = c;
    return fake_leave(OK);
}

int cuCtxPopCurrent_v2(context** c) {
    if (depth == 0) return INVALID_CONTEXT;
    *c = stack[--depth];
    return OK;
}

/* ---- Memory ---- */

static range** find(range** list, uintptr_t p, size_t size) {
    for (range** r = list; *r != NULL; r = &(*r)->next)
        if (p >= (*r)->at && p + size <= (*r)->at + (*r)->size) return r;
    return NULL;
}

bool fake_device_memory(uintptr_t p, size_t size) { return find(&fake.allocated, p, size) != NULL; }
bool fake_pinned(uintptr_t p, size_t size) { return find(&fake.registered, p, size) != NULL; }

static void add(range** list, uintptr_t at, size_t size, context* of) {
    range* r = malloc(sizeof *r);
    *r = (range){at, size, of, *list};
    *list = r;
}

static void drop(range** r) {
    range* gone = *r;
    *r = gone->next;
    free(gone);
}

int cuMemHostRegister_v2(void* p, size_t size, unsigned flags) {
    int code = fake_enter("cuMemHostRegister", false);
    if (code != OK) return code;
    (void)flags;
    if (find(&fake.registered, (uintptr_t)p, 1) != NULL) {
        fake_violation("cuMemHostRegister: the memory is registered");
        return fake_leave(ALREADY_REGISTERED);
    }
    add(&fake.registered, (uintptr_t)p, size, NULL);
    return fake_leave(OK);
}

int cuMemHostUnregister(void* p) {
    int code = fake_enter("cuMemHostUnregister", false);
    if (code != OK) return code;
    range** r = find(&fake.registered, (uintptr_t)p, 1);
    if (r == NULL) {
        fake_violation("cuMemHostUnregister: the memory is not registered");
        return fake_leave(NOT_REGISTERED);
    }
    drop(r);
    return fake_leave(OK);
}

enum { GUARD = 64 };

static void check_guard(const range* r) {
    const unsigned char* guard = (const unsigned char*)r->at + r->size;
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != 0xa5) {
            fake_violation("memory of the device is written behind its end");
            return;
        }
}

void fake_check_guards(void) {
    for (const range* r = fake.allocated; r != NULL; r = r->next) check_guard(r);
}

int fake_alloc(uint64_t* p, size_t size, context* of) {
    if (fake.memory > 0 && fake.used + size > fake.memory) return OUT_OF_MEMORY;
    char* mem = malloc(size + GUARD);
    if (mem == NULL) return OUT_OF_MEMORY;
    memset(mem + size, 0xa5, GUARD);
    fake.used += size;
    memset(mem, 0xdb, size); /* no one may count on its content */
    add(&fake.allocated, (uintptr_t)mem, size, of);
    *p = (uintptr_t)mem;
    return OK;
}

int fake_free(uintptr_t p) {
    range** r = find(&fake.allocated, p, 1);
    if (r == NULL || (*r)->at != p) {
        fake_violation("memory is freed that is not allocated");
        return INVALID_VALUE;
    }
    memset((void*)p, 0xdd, (*r)->size);
    free((void*)p);
    fake.used -= (*r)->size;
    drop(r);
    return OK;
}

int fake_memory_left(char* text, size_t size) {
    int n = 0;
    for (int i = 0; i < 2; i++)
        for (range* r = i == 0 ? fake.allocated : fake.registered; r != NULL; r = r->next, n++) {
            size_t used = strlen(text);
            snprintf(text + used, size - used, "%zu bytes of %s; ", r->size,
                     i == 0 ? "the device" : "registered memory");
        }
    for (int i = 0; i < MOST_DEVICES; i++) n += fake.primary[i].retained;
    return n;
}

/* ---- What tests call ---- */

void fake_cuda_fail(const char* call, int nth, int code) {
    pthread_mutex_lock(&fake_lock);
    if (fake.fault_count == FAULTS) abort();
    snprintf(fake.faults[fake.fault_count].call, sizeof fake.faults[0].call, "%s", call);
    fake.faults[fake.fault_count].nth = nth;
    fake.faults[fake.fault_count++].code = code;
    pthread_mutex_unlock(&fake_lock);
}

int fake_cuda_calls(const char* call) {
    int n = 0;
    pthread_mutex_lock(&fake_lock);
    for (int i = 0; i < fake.call_count; i++)
        if (strcmp(fake.calls[i].call, call) == 0) n = fake.calls[i].count;
    pthread_mutex_unlock(&fake_lock);
    return n;
}

int fake_cuda_violations(char* text, size_t size) {
    pthread_mutex_lock(&fake_lock);
    snprintf(text, size, "%s", fake.violations);
    int n = fake.violation_count;
    pthread_mutex_unlock(&fake_lock);
    return n;
}

int fake_cuda_left(char* text, size_t size) {
    pthread_mutex_lock(&fake_lock);
    text[0] = 0;
    int n = fake_memory_left(text, size);
    n += fake_streams_left(text, size);
    pthread_mutex_unlock(&fake_lock);
    return n;
}

void fake_cuda_deinitialize(void) {
    pthread_mutex_lock(&fake_lock);
    fake.ended = true;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
}

void fake_cuda_memory(uint64_t bytes) {
    pthread_mutex_lock(&fake_lock);
    fake.memory = bytes;
    pthread_mutex_unlock(&fake_lock);
}

void fake_cuda_reset(void) {
    pthread_mutex_lock(&fake_lock);
    fake_clear_streams();
    while (fake.allocated != NULL) fake_free(fake.allocated->at);
    while (fake.registered != NULL) drop(&fake.registered);
    for (int i = 0; i < MOST_DEVICES; i++) fake.primary[i].retained = 0;
    fake.memory = 0;
    fake.ended = false;
    fake.lost = OK;
    fake.violations[0] = 0;
    fake.violation_count = fake.fault_count = fake.call_count = 0;
    pthread_mutex_unlock(&fake_lock);
    fake_cuda_delay(0);
}
