/* Failures that C reports by itself, without entering the Go runtime. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "go.h"

dl_status dli_fail(dl_error* err, dl_status status, const char* operation, const char* format,
                   ...) {
    if (err == NULL) return status;
    memset(err, 0, offsetof(dl_error, conflict));
    err->status = status;
    err->retryable = DL_RETRY_NO;
    snprintf(err->operation, sizeof err->operation, "%s", operation);
    const int n = snprintf(err->message, sizeof err->message, "%s: ", operation);
    va_list args;
    va_start(args, format);
    vsnprintf(err->message + n, sizeof err->message - (size_t)n, format, args);
    va_end(args);
    return status;
}
