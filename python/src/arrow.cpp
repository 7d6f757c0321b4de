#include "arrow.h"

#include <cstring>
#include <string>

#include "convert.h"
#include "errors.h"
#include "foreign.h"

namespace deeplake {
namespace {

// Returns the structure in a capsule of that name.
template <class T>
T* in_capsule(py::handle capsule, const char* name) {
    if (!PyCapsule_IsValid(capsule.ptr(), name)) {
        throw Failure(DL_INVALID, std::string("read Arrow: got a ") + type_name(capsule) +
                                      ", want a capsule named " + name);
    }
    return static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), name));
}

constexpr const char* stream_name = "arrow_array_stream";

bool has(py::handle v, const char* name) {
    // Not PyObject_HasAttr of the value: a row or a dataset answers any name.
    return PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(v.ptr())), name) == 1;
}

}  // namespace

bool is_arrow(py::handle v) { return has(v, "__arrow_c_array__") || has(v, "__arrow_c_stream__"); }

ArrowColumn::ArrowColumn(const py::object& v) {
    try {
        if (has(v, "__arrow_c_array__")) {
            const py::object pair = v.attr("__arrow_c_array__")();
            if (!py::isinstance<py::tuple>(pair) || py::len(pair) != 2) {
                throw Failure(DL_INVALID, "read Arrow: __arrow_c_array__ gave a " +
                                              type_name(pair) + ", want two capsules");
            }
            const py::tuple two = pair;
            const py::object first = two[0], second = two[1];
            auto* const schema = in_capsule<ArrowSchema>(first, "arrow_schema");
            auto* const array = in_capsule<ArrowArray>(second, "arrow_array");
            std::memcpy(&schema_, schema, sizeof schema_);
            schema->release = nullptr;
            add(array);
            return;
        }
        const ArrowStream stream(v);
        read(stream.get());
    } catch (...) {
        release();
        throw;
    }
}

ArrowColumn::~ArrowColumn() { release(); }

void ArrowColumn::release() {
    for (ArrowArray* array : pointers_) {
        if (array->release != nullptr) array->release(array);
        delete array;
    }
    pointers_.clear();
    if (schema_.release != nullptr) schema_.release(&schema_);
    schema_.release = nullptr;
}

// Moves an array here.
void ArrowColumn::add(ArrowArray* array) {
    auto* const own = new ArrowArray;
    std::memcpy(own, array, sizeof *own);
    array->release = nullptr;
    pointers_.push_back(own);
    rows_ += own->length;
}

void ArrowColumn::read(ArrowArrayStream* stream) {
    const auto fail = [&] {
        const char* said =
            stream->get_last_error == nullptr ? nullptr : stream->get_last_error(stream);
        std::string text = said == nullptr ? "no reason is given" : said;
        if (PyErr_Occurred() != nullptr) PyErr_Clear();
        throw Failure(DL_INVALID, "read Arrow: the producer failed: " + text.substr(0, 1000));
    };
    if (stream->release == nullptr)
        throw Failure(DL_INVALID, "read Arrow: the stream was read before; make another one");
    if (stream->get_schema(stream, &schema_) != 0) fail();
    for (;;) {
        ArrowArray one{};
        if (stream->get_next(stream, &one) != 0) fail();
        if (one.release == nullptr) break;
        add(&one);
    }
    stream->release(stream);
}

ArrowStream::ArrowStream(const py::object& v) {
    capsule_ = v.attr("__arrow_c_stream__")();
    stream_ = in_capsule<ArrowArrayStream>(capsule_, stream_name);
}

}  // namespace deeplake
