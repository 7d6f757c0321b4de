#include <pybind11/stl.h>
#include <sys/stat.h>

#include <cstring>

#include "batch.h"
#include "call.h"
#include "convert.h"
#include "objects.h"

namespace deeplake {
namespace {

// The place and the file of a memory.
struct Info {
    void* data = nullptr;
    std::int64_t size = 0;
    std::int32_t file = -1;
};

Info info_of(const Memory& m) {
    Info i;
    m.core().memory_info(m.raw(), &i.data, &i.size, &i.file);
    return i;
}

// Returns a number that no other file has, for processes that remember what they map.
std::uint64_t number_of(const Memory& m) {
    struct stat st;
    const Info i = info_of(m);
    if (i.file < 0 || fstat(i.file, &st) != 0)
        throw Failure(DL_UNSUPPORTED, "share memory: it is no file; open the loader as shareable");
    return st.st_ino;
}

// Returns the array that begins at an offset of the memory.
Array array_at(const std::shared_ptr<Memory>& m, std::int64_t offset, const Text& dtype,
               const std::vector<py::ssize_t>& shape) {
    const Info i = info_of(*m);
    const std::int32_t code = dtype_by_name(dtype);
    if (code == 0) throw Failure(DL_UNSUPPORTED, "read memory: no dtype \"" + dtype + "\"");
    std::int64_t left = i.size - offset;
    bool fits = offset >= 0 && left >= 0;
    std::int64_t need = numpy_dtype(code).itemsize();
    for (py::ssize_t n : shape) {
        fits = fits && n >= 0 && (n == 0 || need <= left / n);
        need *= fits ? n : 0;
    }
    if (!fits || need > left)
        throw Failure(DL_INVALID, "read memory of " + std::to_string(i.size) +
                                      " bytes: an array at " + std::to_string(offset) +
                                      " ends behind it");
    return {m, static_cast<char*>(i.data) + offset, code, shape};
}

py::object numbers(const std::vector<std::int64_t>& values) {
    return Numbers(static_cast<py::ssize_t>(values.size()), values.data());
}

}  // namespace

std::shared_ptr<Memory> results(const LoaderHandle& loader, std::int64_t size) {
    const Core& c = loader.core();
    const dl_loader h = loader.get();
    dl_memory* out = nullptr;
    call([&](dl_error* err) { return c.loader_memory(h, size, &out, err); });
    return std::make_shared<Memory>(c, out, DL_DEVICE_CPU, 0);
}

py::dict layout_of(const Batch& batch) {
    const char* base = static_cast<const char*>(info_of(*batch.memory).data);
    py::dict out;
    for (const BatchColumn& c : batch.columns) {
        const std::int64_t begin = static_cast<const char*>(c.data) - base;
        py::dict at;
        at["kind"] = c.kind == DL_KIND_ARRAY ? "array" : c.kind == DL_KIND_LIST ? "list" : "text";
        at["dtype"] = dtype_name(c.dtype);
        at["begin"] = begin;
        at["shape"] = py::tuple(py::cast(c.shape));
        at["offsets"] = numbers(c.offsets);
        at["sizes"] = numbers(c.sizes);
        at["ndims"] = numbers(c.ndims);
        at["axes"] = numbers(c.shapes);
        at["items"] = c.sequence ? numbers(c.row_items) : py::object(py::none());
        out[py::str(c.name)] = at;
    }
    return out;
}

void register_memory(py::module_& m) {
    using py::arg;
    py::class_<Memory, std::shared_ptr<Memory>>(m, "Memory", py::is_final())
        .def_property_readonly("size", [](const Memory& self) { return info_of(self).size; })
        .def_property_readonly("file", [](const Memory& self) { return info_of(self).file; })
        .def_property_readonly("number", number_of)
        .def("array", array_at, arg("offset"), arg("dtype"), arg("shape"));
}

}  // namespace deeplake
