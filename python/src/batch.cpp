#include "batch.h"

#include <algorithm>
#include <cstring>

#include "convert.h"
#include "objects.h"

namespace deeplake {
namespace {

// Makes the Python object of an array.
using Wrap = py::object (*)(const std::shared_ptr<Memory>&, void*, std::int32_t,
                            std::vector<py::ssize_t>, const py::object& convert);

py::array to_numpy(const std::shared_ptr<Memory>& memory, void* data, std::int32_t dtype,
                   const std::vector<py::ssize_t>& shape) {
    auto* owner = new std::shared_ptr<Memory>(memory);
    py::capsule base(owner, [](void* p) { delete static_cast<std::shared_ptr<Memory>*>(p); });
    return py::array(numpy_dtype(dtype), shape, data, base);
}

py::object wrap_array(const std::shared_ptr<Memory>& memory, void* data, std::int32_t dtype,
                      std::vector<py::ssize_t> shape, const py::object& convert) {
    py::object array = py::cast(Array{memory, data, dtype, std::move(shape)});
    return convert.is_none() ? array : convert(array);
}

py::object wrap_numpy(const std::shared_ptr<Memory>& memory, void* data, std::int32_t dtype,
                      std::vector<py::ssize_t> shape, const py::object&) {
    return to_numpy(memory, data, dtype, shape);
}

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

py::object wrap_copy(const std::shared_ptr<Memory>&, void* data, std::int32_t dtype,
                     std::vector<py::ssize_t> shape, const py::object&) {
    return py::array(numpy_dtype(dtype), shape, data);  // without a base it copies
}

// Returns the entries of a list or text column, row after row.
py::list entries(const std::shared_ptr<Memory>& memory, const BatchColumn& c, Wrap wrap,
                 const py::object& convert) {
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
            out.append(
                wrap(memory, at, c.dtype, std::vector<py::ssize_t>(axes, axes + ndim), convert));
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

py::dict to_dict(const Batch& b, Wrap wrap, const py::object& convert) {
    py::dict out;
    for (const BatchColumn& c : b.columns) {
        if (c.kind == DL_KIND_ARRAY) {
            out[py::str(c.name)] = wrap(b.memory, c.data, c.dtype, c.shape, convert);
            continue;
        }
        py::list all = entries(b.memory, c, wrap, convert);
        out[py::str(c.name)] = c.sequence ? sequences(c, all) : all;
    }
    return out;
}

BatchColumn copy(const dl_array& a, std::int64_t rows) {
    BatchColumn c{a.name, a.data, a.kind, a.dtype, {a.shape, a.shape + a.ndim}, {},
                  {},     {},     {},     {},      a.row_items != nullptr};
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

// Returns an array as a DLPack capsule. A consumer renames the capsule; the destructor frees the
// tensor of a capsule that was never consumed.
py::object pack(const Core& core, dl_memory* memory, void* data, std::int32_t dtype,
                std::int32_t ndim, dl_const_i64* shape, bool versioned) {
    void* tensor = nullptr;
    dl_error err;
    check(core.memory_tensor(memory, data, dtype, ndim, shape, versioned, nullptr, &tensor, &err),
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

py::object pack_array(const std::shared_ptr<Memory>& memory, void* data, std::int32_t dtype,
                      const std::vector<py::ssize_t>& shape, bool versioned) {
    const std::vector<std::int64_t> axes(shape.begin(), shape.end());
    return pack(memory->core(), memory->raw(), data, dtype, static_cast<std::int32_t>(axes.size()),
                axes.data(), versioned);
}

py::object called(const py::object& convert, const py::object& with) {
    PyObject* made = PyObject_CallOneArg(convert.ptr(), with.ptr());
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
}

py::object wrap_capsule(const std::shared_ptr<Memory>& memory, void* data, std::int32_t dtype,
                        std::vector<py::ssize_t> shape, const py::object& convert) {
    return called(convert, pack_array(memory, data, dtype, shape, false));
}

// __dlpack__: exports without a copy, from CPU memory, or not at all.
py::object dlpack(const Array& self, const py::object&, const py::object& max_version,
                  const py::object& device, const py::object& copy) {
    if (!copy.is_none() && py::cast<bool>(copy)) {
        PyErr_SetString(PyExc_BufferError,
                        "export array: a copy is asked for, and this export never copies");
        throw py::error_already_set();
    }
    if (!device.is_none() && !device.equal(py::make_tuple(1, 0))) {
        PyErr_SetString(
            PyExc_BufferError,
            "export array: it lies in CPU memory, device (1, 0), and another is asked for");
        throw py::error_already_set();
    }
    const bool versioned = !max_version.is_none() && py::cast<int>(max_version[py::int_(0)]) >= 1;
    return pack_array(self.memory, self.data, self.dtype, self.shape, versioned);
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

py::tuple shape_of(const Array& a) {
    py::tuple out(a.shape.size());
    for (size_t i = 0; i < a.shape.size(); i++) out[i] = py::int_(a.shape[i]);
    return out;
}

}  // namespace

py::object copy_array(const dl_array& a, std::int64_t rows) {
    const BatchColumn c = copy(a, rows);
    const std::shared_ptr<Memory> none;
    if (c.kind == DL_KIND_ARRAY) return wrap_copy(none, c.data, c.dtype, c.shape, py::none());
    const py::list all = entries(none, c, wrap_copy, py::none());
    return c.sequence ? sequences(c, all) : all;
}

std::shared_ptr<Batch> unpack(const BatchExport& exported) {
    auto out = std::make_shared<Batch>();
    exported.core().memory_retain(exported->memory);
    out->memory = std::make_shared<Memory>(exported.core(), exported->memory);
    out->rows = exported->rows;
    out->position = exported->position;
    out->last = exported->last;
    for (std::int64_t i = 0; i < exported->n; i++)
        out->columns.push_back(copy(exported->arrays[i], out->rows));
    return out;
}

py::dict columns_of(const BatchExport& exported, const py::object& convert) {
    const Core& core = exported.core();
    py::dict out;
    std::shared_ptr<Memory> memory;
    for (std::int64_t i = 0; i < exported->n; i++) {
        const dl_array& a = exported->arrays[i];
        if (a.kind == DL_KIND_ARRAY && !convert.is_none()) {
            out[a.name] = called(
                convert, pack(core, exported->memory, a.data, a.dtype, a.ndim, a.shape, false));
            continue;
        }
        if (!memory) {
            core.memory_retain(exported->memory);
            memory = std::make_shared<Memory>(core, exported->memory);
        }
        if (a.kind == DL_KIND_ARRAY) {
            out[a.name] = to_numpy(memory, a.data, a.dtype, {a.shape, a.shape + a.ndim});
            continue;
        }
        const BatchColumn c = copy(a, exported->rows);
        const py::list all =
            entries(memory, c, convert.is_none() ? wrap_numpy : wrap_capsule, convert);
        out[a.name] = c.sequence ? sequences(c, all) : all;
    }
    return out;
}

void register_batch(py::module_& m) {
    using py::arg;
    py::class_<Array>(m, "Array", py::is_final())
        .def_property_readonly("dtype", [](const Array& self) { return dtype_name(self.dtype); })
        .def_property_readonly("shape", shape_of)
        .def_property_readonly("nbytes", nbytes)
        .def("numpy", [](const Array& a) { return to_numpy(a.memory, a.data, a.dtype, a.shape); })
        .def("__array__", as_array, arg("dtype") = py::none(), arg("copy") = py::none())
        .def("__dlpack__", dlpack, py::kw_only(), arg("stream") = py::none(),
             arg("max_version") = py::none(), arg("dl_device") = py::none(),
             arg("copy") = py::none())
        .def("__dlpack_device__", [](const Array&) { return py::make_tuple(1, 0); });
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
            [](const Batch& b, const py::object& f) { return to_dict(b, wrap_array, f); },
            arg("convert") = py::none())
        .def("numpy", [](const Batch& b) { return to_dict(b, wrap_numpy, py::none()); });
}

}  // namespace deeplake
