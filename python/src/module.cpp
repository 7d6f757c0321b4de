// deeplake._native is the C interface of the core for Python: arguments in, GIL off, call,
// exception out. It makes no decision. python/deeplake/_native.pyi describes each function.
#include <dlfcn.h>

#include "core.h"
#include "errors.h"
#include "objects.h"

namespace {

// The core lies beside the extension.
std::string library_path() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&library_path), &info) == 0 || info.dli_fname == nullptr)
        return "libdeeplake.so";
    const std::string extension = info.dli_fname;
    const size_t slash = extension.rfind('/');
    return (slash == std::string::npos ? "./" : extension.substr(0, slash + 1)) + "libdeeplake.so";
}

}  // namespace

PYBIND11_MODULE(_native, m, pybind11::mod_gil_not_used()) {
    deeplake::set_library_path(library_path());
    deeplake::register_errors();
    deeplake::register_runtime(m);
    deeplake::register_dataset(m);
    deeplake::register_view(m);
    deeplake::register_column(m);
    deeplake::register_video(m);
    deeplake::register_memory(m);
    deeplake::register_batch(m);
    deeplake::register_stream(m);
    deeplake::register_loader(m);
    deeplake::register_sample(m);
    deeplake::register_jobs(m);
    deeplake::register_visualizer(m);
    deeplake::register_query(m);
}
