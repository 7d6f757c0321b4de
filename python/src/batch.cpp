#include "batch.h"

#include <algorithm>
#include <cstring>

#include "convert.h"
#include "objects.h"

namespace deeplake {
namespace {

// The error of exports that consumers know: they may try another way.
[[noreturn]] void refuse(const std::string& message) {
    PyErr_SetString(PyExc_BufferError, message.c_str());
    throw py::error_already_set();
}

std::string name_of(std::int32_t type, std::int32_t id) {
    const std::string number = std::to_string(id);
    return type == DL_DEVICE_CUDA ? "cuda:" + number
                                  : "(" + std::to_string(type) + ", " + number + ")";
}

std::string device_name(const Memory& m) { return name_of(m.device_type(), m.device_id()); }

py::array to_numpy(const std::shared_ptr<Memory>& memory, void* data, std::int32_t dtype,
                   const std::vector<py::ssize_t>& shape) {
    if (!memory->on_cpu())
        refuse("read array: it lies on device " + device_name(*memory) +
               ", which NumPy cannot read; give it to a library of the device by DLPack");
    auto* owner = new std::shared_ptr<Memory>(memory);
    py::capsule base(owner, [](void* p) { delete static_cast<std::shared_ptr<Memory>*>(p); });
    return py::array(numpy_dtype(dtype), shape, data, base);
}

using Shape = std::vector<py::ssize_t>;

py::object text_of(const char* data, std::int64_t size, std::int32_t dtype,
                   const py::object& loads) {
    const auto n = static_cast<Py_ssize_t>(size);
    if (dtype == DL_BYTES) return py::bytes(data, static_cast<size_t>(size));
    PyObject* text = PyUnicode_DecodeUTF8(data, n, nullptr);
    if (text == nullptr) {
        PyErr_Clear();
        throw Failure(DL_CORRUPT, "read text: it is not UTF-8");
    }
    py::object result = py::reinterpret_steal<py::object>(text);
    return dtype == DL_JSON ? loads(result) : result;
}

// Returns the entries of a list or text column, row after row. wrap makes the Python object of an
// array.
template <class Wrap>
py::list entries(const BatchColumn& c, const Wrap& wrap) {
    py::list out;
    py::object loads =
        c.dtype == DL_JSON ? py::object(py::module_::import("json").attr("loads")) : py::none();
    const std::int64_t* axes = c.shapes.data();
    for (size_t i = 0; i < c.offsets.size(); i++) {
        char* at = static_cast<char*>(c.data) + c.offsets[i];
        const std::int64_t ndim = c.kind == DL_KIND_LIST ? c.ndims[i] : 0;
        if (c.sizes[i] < 0) {
            out.append(py::none());
        } else if (c.kind == DL_KIND_TEXT) {
            out.append(text_of(at, c.sizes[i], c.dtype, loads));
        } else {
            out.append(wrap(at, c.dtype, Shape(axes, axes + ndim)));
        }
        axes += ndim;
    }
    return out;
}

// Returns the rows of a sequence, each a list of entries.
py::list sequences(const BatchColumn& c, const py::list& all) {
    py::list out;
    size_t next = 0;
    for (std::int64_t n : c.row_items) {
        if (n < 0) {
            out.append(py::none());
            continue;
        }
        py::list row;
        for (std::int64_t i = 0; i < n; i++) row.append(all[next++]);
        out.append(row);
    }
    return out;
}

// Returns a column: one object of wrap, or a list.
template <class Wrap>
py::object column(const BatchColumn& c, const Wrap& wrap) {
    if (c.kind == DL_KIND_ARRAY) return wrap(c.data, c.dtype, c.shape);
    py::list all = entries(c, wrap);
    return c.sequence ? sequences(c, all) : all;
}

// Returns all columns; wrap makes the Python object of an array in memory.
template <class Wrap>
py::dict to_dict(const Batch& b, const Wrap& wrap) {
    py::dict out;
    for (const BatchColumn& c : b.columns) {
        const std::shared_ptr<Memory>& memory = c.on_host ? b.host : b.memory;
        out[py::str(c.name)] =
            column(c, [&](void* data, std::int32_t dtype, Shape shape) -> py::object {
                return wrap(memory, data, dtype, std::move(shape));
            });
    }
    return out;
}

// Returns a NumPy array in memory, or an Array in memory of a device.
py::object in_memory(const std::shared_ptr<Memory>& memory, void* data, std::int32_t dtype,
                     Shape shape) {
    if (memory->on_cpu()) return to_numpy(memory, data, dtype, shape);
    return py::cast(Array{memory, data, dtype, std::move(shape)});
}

BatchColumn copy(const dl_array& a, std::int64_t rows) {
    BatchColumn c{a.name, a.data, a.kind, a.dtype, {a.shape, a.shape + a.ndim}, {},
                  {},     {},     {},     {},      a.row_items != nullptr,      a.on_host != 0};
    if (a.kind == DL_KIND_ARRAY) return c;
    c.offsets.assign(a.offsets, a.offsets + a.entries);
    c.sizes.assign(a.sizes, a.sizes + a.entries);
    if (a.kind == DL_KIND_LIST) {
        c.ndims.assign(a.ndims, a.ndims + a.entries);
        std::int64_t axes = 0;
        for (std::int64_t n : c.ndims) axes += n;
        c.shapes.assign(a.shapes, a.shapes + axes);
    }
    if (c.sequence) c.row_items.assign(a.row_items, a.row_items + rows);
    return c;
}

// Returns an array as a DLPack capsule, for a stream of its device. A consumer renames the capsule;
// the destructor frees the tensor of a capsule that was never consumed.
py::object pack(const Core& core, dl_memory* memory, void* data, std::int32_t dtype,
                std::int32_t ndim, dl_const_i64* shape, bool versioned, const dl_device& device) {
    void* tensor = nullptr;
    dl_error err;
    check(core.memory_tensor(memory, data, dtype, ndim, shape, versioned, &device, &tensor, &err),
          err);
    const char* name = versioned ? "dltensor_versioned" : "dltensor";
    PyObject* capsule = PyCapsule_New(tensor, name, [](PyObject* self) {
        const char* is = PyCapsule_GetName(self);
        if (is == nullptr || std::strncmp(is, "dltensor", 8) != 0) return;
        // The deleter follows owner in both forms. In the plain form a tensor precedes them, in the
        // versioned form a version.
        struct Plain {
            char tensor[48];
            void* owner;
            void (*deleter)(void*);
        };
        struct Versioned {
            std::uint32_t major, minor;
            void* owner;
            void (*deleter)(void*);
        };
        void* p = PyCapsule_GetPointer(self, is);
        if (std::strcmp(is, "dltensor") == 0) {
            static_cast<Plain*>(p)->deleter(p);
        } else {
            static_cast<Versioned*>(p)->deleter(p);
        }
    });
    if (capsule == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(capsule);
}

py::object pack_array(const Memory& memory, void* data, std::int32_t dtype, const Shape& shape,
                      bool versioned, void* stream) {
    const std::vector<std::int64_t> axes(shape.begin(), shape.end());
    const dl_device device = {memory.device_type(), memory.device_id(), stream};
    return pack(memory.core(), memory.raw(), data, dtype, static_cast<std::int32_t>(axes.size()),
                axes.data(), versioned, device);
}

py::object called(const py::object& convert, const py::object& with) {
    PyObject* made = PyObject_CallOneArg(convert.ptr(), with.ptr());
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
}

py::tuple shape_of(const Array& a) {
    py::tuple out(a.shape.size());
    for (size_t i = 0; i < a.shape.size(); i++) out[i] = py::int_(a.shape[i]);
    return out;
}

// Returns the stream that an argument of __dlpack__ names for memory of a device. Numbers are those
// of the array API standard.
void* stream_of(const Memory& memory, const py::object& stream) {
    if (stream.is_none()) return nullptr;  // the legacy default stream
    const auto n = py::cast<std::int64_t>(stream);
    if (n == -1) return DL_STREAM_NONE;
    if (memory.on_cpu()) refuse("export array: it lies in CPU memory, which has no streams");
    if (n <= 0)
        throw Failure(DL_INVALID,
                      "export array: stream is " + std::to_string(n) +
                          ", want None, -1, 1 (legacy default), 2 (default of the thread), or the "
                          "handle of a stream");
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(n));
}

// __dlpack__: exports without a copy, on the device of the memory, or not at all.
py::object dlpack(const Array& self, const py::object& stream, const py::object& max_version,
                  const py::object& device, const py::object& copy) {
    const Memory& m = *self.memory;
    if (!copy.is_none() && py::cast<bool>(copy))
        refuse("export array: the consumer wants a copy, and this export never copies");
    if (!device.is_none() && !device.equal(py::make_tuple(m.device_type(), m.device_id()))) {
        const auto want = py::cast<std::pair<std::int32_t, std::int32_t>>(device);
        refuse("export array: it lies on device " + device_name(m) + ", and the consumer wants " +
               name_of(want.first, want.second));
    }
    const bool versioned = !max_version.is_none() && py::cast<int>(max_version[py::int_(0)]) >= 1;
    return pack_array(m, self.data, self.dtype, self.shape, versioned, stream_of(m, stream));
}

// __cuda_array_interface__, version 3. It orders the memory on the legacy default stream.
py::dict cuda_interface(const Array& self) {
    const Memory& m = *self.memory;
    if (m.device_type() != DL_DEVICE_CUDA)
        throw py::attribute_error("__cuda_array_interface__: the array lies in CPU memory");
    if (self.dtype == DL_BFLOAT16)
        throw py::attribute_error(
            "__cuda_array_interface__: it has no name for bfloat16; use DLPack");
    void* const legacy = reinterpret_cast<void*>(std::uintptr_t{1});
    pack_array(m, self.data, self.dtype, self.shape, false, legacy);  // for its wait alone
    py::dict out;
    out["shape"] = shape_of(self);
    out["typestr"] = numpy_dtype(self.dtype).attr("str");
    out["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(self.data), false);
    out["strides"] = py::none();
    out["stream"] = 1;
    out["version"] = 3;
    return out;
}

py::object as_array(const Array& self, const py::object& dtype, const py::object& copy) {
    py::object a = to_numpy(self.memory, self.data, self.dtype, self.shape);
    if (!dtype.is_none()) a = a.attr("astype")(dtype, py::arg("copy") = false);
    const bool wanted = !copy.is_none() && py::cast<bool>(copy);
    return wanted ? a.attr("copy")() : a;
}

py::ssize_t nbytes(const Array& a) {
    py::ssize_t n = numpy_dtype(a.dtype).itemsize();
    for (py::ssize_t axis : a.shape) n *= axis;
    return n;
}

}  // namespace

py::object copy_array(const dl_array& a, std::int64_t rows) {
    return column(copy(a, rows), [](void* data, std::int32_t dtype, Shape shape) -> py::object {
        return py::array(numpy_dtype(dtype), shape, data);  // without a base it copies
    });
}

// Returns a reference of its own to the memory of an export.
std::shared_ptr<Memory> memory_of(const BatchExport& exported) {
    exported.core().memory_retain(exported->memory);
    return std::make_shared<Memory>(exported.core(), exported->memory, exported->device_type,
                                    exported->device_id);
}

// As memory_of, for text and columns that are on_host beside those of a device; or nullptr.
std::shared_ptr<Memory> host_of(const BatchExport& exported) {
    if (exported->host == nullptr) return nullptr;
    exported.core().memory_retain(exported->host);
    return std::make_shared<Memory>(exported.core(), exported->host, DL_DEVICE_CPU, 0);
}

std::shared_ptr<Batch> unpack(const BatchExport& exported) {
    auto out = std::make_shared<Batch>();
    out->memory = memory_of(exported);
    out->host = host_of(exported);
    out->rows = exported->rows;
    out->position = exported->position;
    out->last = exported->last;
    for (std::int64_t i = 0; i < exported->n; i++)
        out->columns.push_back(copy(exported->arrays[i], out->rows));
    return out;
}

py::dict columns_of(const BatchExport& exported, const py::object& convert, void* stream) {
    py::dict out;
    std::shared_ptr<Memory> memory, host;
    for (std::int64_t i = 0; i < exported->n; i++) {
        const dl_array& a = exported->arrays[i];
        if (a.kind == DL_KIND_ARRAY && !convert.is_none() && !a.on_host) {
            const dl_device device = {exported->device_type, exported->device_id, stream};
            out[a.name] = called(convert, pack(exported.core(), exported->memory, a.data, a.dtype,
                                               a.ndim, a.shape, false, device));
            continue;
        }
        std::shared_ptr<Memory>& own = a.on_host ? host : memory;
        if (!own) own = a.on_host ? host_of(exported) : memory_of(exported);
        out[a.name] =
            column(copy(a, exported->rows),
                   [&](void* data, std::int32_t dtype, const Shape& shape) -> py::object {
                       if (convert.is_none()) return in_memory(own, data, dtype, shape);
                       return called(convert, pack_array(*own, data, dtype, shape, false, stream));
                   });
    }
    return out;
}

void register_batch(py::module_& m) {
    using py::arg;
    py::class_<Array>(m, "Array", py::is_final())
        .def_property_readonly("dtype", [](const Array& self) { return dtype_name(self.dtype); })
        .def_property_readonly("shape", shape_of)
        .def_property_readonly("nbytes", nbytes)
        .def_property_readonly("device",
                               [](const Array& a) {
                                   return a.memory->on_cpu() ? std::string("cpu")
                                                             : device_name(*a.memory);
                               })
        .def_property_readonly("__cuda_array_interface__", cuda_interface)
        .def("numpy", [](const Array& a) { return to_numpy(a.memory, a.data, a.dtype, a.shape); })
        .def("__array__", as_array, arg("dtype") = py::none(), arg("copy") = py::none())
        .def("__dlpack__", dlpack, py::kw_only(), arg("stream") = py::none(),
             arg("max_version") = py::none(), arg("dl_device") = py::none(),
             arg("copy") = py::none())
        .def("__dlpack_device__", [](const Array& a) {
            return py::make_tuple(a.memory->device_type(), a.memory->device_id());
        });
    py::class_<Batch, std::shared_ptr<Batch>>(m, "Batch", py::is_final())
        .def("__len__", [](const Batch& self) { return self.rows; })
        .def_readonly("position", &Batch::position)
        .def_property_readonly("last", [](const Batch& self) { return self.last != 0; })
        .def("names",
             [](const Batch& self) {
                 py::list out;
                 for (const BatchColumn& c : self.columns) out.append(c.name);
                 return out;
             })
        .def(
            "columns",
            [](const Batch& b, const py::object& convert) {
                return to_dict(b,
                               [&](const std::shared_ptr<Memory>& memory, void* data,
                                   std::int32_t dtype, Shape shape) -> py::object {
                                   py::object array =
                                       py::cast(Array{memory, data, dtype, std::move(shape)});
                                   return convert.is_none() ? array : convert(array);
                               });
            },
            arg("convert") = py::none())
        .def_readonly("memory", &Batch::memory)
        .def("layout", layout_of)
        .def("numpy", [](const Batch& b) { return to_dict(b, in_memory); });
}

}  // namespace deeplake
