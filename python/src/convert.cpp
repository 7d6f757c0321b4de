#include "convert.h"

#include <cstring>

#include "errors.h"

namespace deeplake {
namespace {

struct Type {
    std::int32_t dtype;
    const char* name;
    char kind;  // NumPy's
    int size;
};

constexpr Type types[] = {
    {DL_BOOL, "bool", 'b', 1},
    {DL_UINT8, "uint8", 'u', 1},
    {DL_UINT16, "uint16", 'u', 2},
    {DL_UINT32, "uint32", 'u', 4},
    {DL_UINT64, "uint64", 'u', 8},
    {DL_INT8, "int8", 'i', 1},
    {DL_INT16, "int16", 'i', 2},
    {DL_INT32, "int32", 'i', 4},
    {DL_INT64, "int64", 'i', 8},
    {DL_FLOAT16, "float16", 'f', 2},
    {DL_BFLOAT16, "bfloat16", 'V', 2},
    {DL_FLOAT32, "float32", 'f', 4},
    {DL_FLOAT64, "float64", 'f', 8},
    {DL_COMPLEX64, "complex64", 'c', 8},
    {DL_COMPLEX128, "complex128", 'c', 16},
    {DL_STRING, "string", 0, 0},
    {DL_JSON, "json", 0, 0},
    {DL_BYTES, "bytes", 0, 0},
};

// Writes values that json.dumps refuses: NumPy scalars and arrays.
py::object plain(const py::object& value) {
    if (!py::hasattr(value, "tolist")) {
        throw py::type_error(std::string(py::str(py::type::handle_of(value).attr("__name__"))) +
                             " is not JSON");
    }
    return value.attr("tolist")();
}

py::dtype bfloat16() {
    try {
        return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
    } catch (py::error_already_set& e) {
        if (!e.matches(PyExc_ImportError)) throw;
        return py::dtype("uint16");
    }
}

}  // namespace

py::object Buffer::json() const {
    return py::module_::import("json").attr("loads")(
        py::bytes(raw_.data, static_cast<size_t>(raw_.size)));
}

std::string to_json(const py::object& value) {
    py::module_ json = py::module_::import("json");
    try {
        const py::str text =
            json.attr("dumps")(value, py::arg("ensure_ascii") = false, py::arg("allow_nan") = false,
                               py::arg("default") = py::cpp_function(plain));
        Py_ssize_t size = 0;
        const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
        if (data == nullptr) {
            PyErr_Clear();
            throw Failure(DL_INVALID,
                          "write as JSON: it has half a character (a lone surrogate), which UTF-8 "
                          "cannot have");
        }
        return {data, static_cast<size_t>(size)};
    } catch (py::error_already_set& e) {
        if (!e.matches(PyExc_TypeError) && !e.matches(PyExc_ValueError) &&
            !e.matches(PyExc_RecursionError))
            throw;
        throw Failure(DL_INVALID,
                      std::string("write as JSON: ") + py::cast<std::string>(py::str(e.value())));
    }
}

std::string options_json(const py::object& options) {
    if (options.is_none()) return "";
    py::dict given;
    for (auto item : py::dict(options)) {
        if (!item.second.is_none()) given[item.first] = item.second;
    }
    return to_json(given);
}

std::string text_of(py::handle str) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(str.ptr(), &size);
    if (text != nullptr && std::char_traits<char>::length(text) == static_cast<size_t>(size))
        return {text, static_cast<size_t>(size)};
    PyErr_Clear();
    const auto shown =
        py::cast<std::string>(py::reinterpret_steal<py::object>(PyObject_ASCII(str.ptr())));
    throw Failure(DL_INVALID, "has the text " + shown.substr(0, 80) +
                                  ", with a NUL or half a character, which UTF-8 text cannot have");
}

namespace {

// Returns the type of a value in the words of JSON, as the core does for options.
const char* json_type(const py::object& value) {
    if (py::isinstance<py::bool_>(value)) return "bool";
    if (PyNumber_Check(value.ptr()) != 0) return "number";
    if (py::isinstance<py::str>(value)) return "string";
    return PySequence_Check(value.ptr()) != 0 ? "array" : "object";
}

[[noreturn]] void refuse(const char* operation, const char* name, const py::object& value,
                         const char* want) {
    throw Failure(DL_INVALID, std::string(operation) + ": option \"" + name + "\" is a " +
                                  json_type(value) + ", want " + want);
}

}  // namespace

std::string to_text(const char* operation, const char* name, const py::object& value) {
    if (value.is_none()) return "";
    if (!py::isinstance<py::str>(value)) refuse(operation, name, value, "a string");
    try {
        return text_of(value);
    } catch (const Failure& e) {
        throw Failure(DL_INVALID, std::string(operation) + ": option \"" + name + "\" " + e.what());
    }
}

std::optional<double> to_real(const char* operation, const char* name, const py::object& value) {
    if (value.is_none()) return std::nullopt;
    if (py::isinstance<py::bool_>(value) || PyNumber_Check(value.ptr()) == 0)
        refuse(operation, name, value, "a number");
    return py::cast<double>(py::float_(value));
}

std::optional<std::int64_t> to_integer(const char* operation, const char* name,
                                       const py::object& value) {
    if (value.is_none()) return std::nullopt;
    if (py::isinstance<py::bool_>(value) || PyIndex_Check(value.ptr()) == 0)
        refuse(operation, name, value, "a number");
    int overflow = 0;
    const py::int_ number = py::reinterpret_steal<py::int_>(PyNumber_Index(value.ptr()));
    if (!number) throw py::error_already_set();
    const long long out = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0) refuse(operation, name, value, "a number of 64 bits");
    return out;
}

Numbers to_rows(const py::object& rows) {
    py::array array = py::array::ensure(rows);
    if (!array) {
        PyErr_Clear();
        throw Failure(DL_INVALID, "read row numbers: they are no list of integers");
    }
    const char kind = array.dtype().kind();
    if (array.ndim() != 1 || (array.size() > 0 && kind != 'i' && kind != 'u')) {
        throw Failure(DL_INVALID, "read row numbers: got dtype " +
                                      py::cast<std::string>(py::str(array.dtype())) + " with " +
                                      std::to_string(array.ndim()) +
                                      " axes, want integers with one axis");
    }
    // Copied: the core reads it without the GIL, while other threads may change or resize the
    // caller's array.
    return Numbers(array.attr("astype")("int64", py::arg("order") = "C"));
}

std::int32_t dtype_of(const py::dtype& dtype) {
    for (const Type& t : types) {
        if (t.size == dtype.itemsize() && t.kind == dtype.kind() && t.kind != 'V') return t.dtype;
    }
    if (dtype.itemsize() == 2 && py::cast<std::string>(dtype.attr("name")) == "bfloat16")
        return DL_BFLOAT16;
    return 0;
}

std::int32_t dtype_by_name(const std::string& name) {
    for (const Type& t : types) {
        if (name == t.name) return t.dtype;
    }
    return 0;
}

const char* dtype_name(std::int32_t dtype) {
    for (const Type& t : types) {
        if (t.dtype == dtype) return t.name;
    }
    return "?";
}

py::dtype numpy_dtype(std::int32_t dtype) {
    return dtype == DL_BFLOAT16 ? bfloat16() : py::dtype(dtype_name(dtype));
}

}  // namespace deeplake
