#include <stdlib.h>
#include <unistd.h>

#include "state.h"

int dli_cuda_failure(dli_cuda_device* d) { return atomic_exchange(&d->failure, SUCCESS); }

int dli_cuda_open(const dli_cuda_driver* driver, int handle, int number, void* context, int pools,
                  dli_cuda_device** out) {
    dli_cuda_device* d = calloc(1, sizeof *d);
    if (d == NULL) {
        driver->primary_release(handle);
        return OUT_OF_MEMORY;
    }
    d->call = *driver;
    d->handle = handle;
    d->number = number;
    d->context = context;
    d->pools = pools;
    d->owner = getpid();
    atomic_store(&d->refs, 1);
    int code = enter(d);
    if (code == SUCCESS) {
        code = d->call.stream_create(&d->copies, STREAM_NON_BLOCKING, 0);
        leave(d);
    }
    if (code != SUCCESS) {
        driver->primary_release(handle);
        free(d);
        return code;
    }
    *out = d;
    return SUCCESS;
}

void dli_cuda_retain(dli_cuda_device* d) {
    atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
}

/* close_files closes nvJPEG, in the current context. */
static void close_files(dli_cuda_device* d) {
    if (d->nvjpeg.handle != NULL) dli_nvjpeg_close(&d->nvjpeg);
    for (int i = 0; i < DLI_NVJPEG_DECODERS; i++) {
        if (d->decoders[i] != NULL) d->call.stream_destroy(d->decoders[i]);
        d->decoders[i] = NULL;
    }
}

void dli_cuda_release(dli_cuda_device* d) {
    if (atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1) return;
    if (enter(d) == SUCCESS) {
        close_files(d);
        d->call.stream_destroy(d->copies);
        if (d->module != NULL) d->call.module_unload(d->module);
        leave(d);
    }
    d->call.primary_release(d->handle);
    free(d);
}

int dli_cuda_close(dli_cuda_device* d) {
    if (d->owner != getpid()) return SUCCESS;
    int code = enter(d);
    /* Calls may report earlier failures of others. Copies may run, so that this one must work. */
    if (code != SUCCESS) code = enter(d);
    if (code == SUCCESS) {
        code = settle(d);
        leave(d);
    }
    dli_cuda_release(d);
    return code;
}

int dli_cuda_load(dli_cuda_device* d, const void* binary) {
    static const char* const names[DLI_CUDA_KERNELS] = {
        [DLI_CUDA_JPEG_SAMPLES] = "dli_jpeg_samples",
        [DLI_CUDA_JPEG_PIXELS] = "dli_jpeg_pixels",
        [DLI_CUDA_TRANSFORM_SUM] = "dli_transform_sum",
        [DLI_CUDA_TRANSFORM_PASS] = "dli_transform_pass",
    };
    if (d->module != NULL) return SUCCESS;
    int code = enter(d);
    if (code != SUCCESS) return code;
    void* module = NULL;
    code = d->call.module_load(&module, binary);
    for (int i = 0; i < DLI_CUDA_KERNELS && code == SUCCESS; i++) {
        code = d->call.module_function(&d->kernels[i], module, names[i]);
        if (code != SUCCESS) d->call.module_unload(module);
    }
    if (code == SUCCESS) d->module = module;
    leave(d);
    return code;
}

int dli_cuda_open_files(dli_cuda_device* d, const dli_nvjpeg_calls* calls) {
    if (d->nvjpeg.handle != NULL) return SUCCESS;
    int code = enter(d), opened = 0;
    if (code != SUCCESS) return DLI_CUDA_DRIVER - code;
    for (int i = 0; i < DLI_NVJPEG_DECODERS && code == SUCCESS; i++)
        code = d->call.stream_create(&d->decoders[i], STREAM_NON_BLOCKING, 0);
    if (code == SUCCESS) opened = dli_nvjpeg_open(&d->nvjpeg, calls);
    if (code != SUCCESS || opened != 0) close_files(d);
    leave(d);
    return code == SUCCESS ? opened : DLI_CUDA_DRIVER - code;
}
