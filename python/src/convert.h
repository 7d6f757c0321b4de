// Python values in the form of the C interface: JSON, text, numbers, rows, dtypes.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core.h"

namespace deeplake {

namespace py = pybind11;

using Numbers = py::array_t<std::int64_t, py::array::c_style>;

// An argument that is text, as the core takes it: UTF-8 without a NUL. Text that has none, such as
// half an emoji, is refused with InvalidArgumentError.
struct Text : std::string {};

// Returns the UTF-8 of a str. Throws InvalidArgumentError where it has none, or has a NUL.
std::string text_of(py::handle str);

// A buffer of the core, given back at the end.
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (raw_.release != nullptr) raw_.release(&raw_);
    }
    dl_buffer* out() { return &raw_; }
    // Returns the value of the JSON in the buffer.
    py::object json() const;
    py::str text() const { return {raw_.data, static_cast<size_t>(raw_.size)}; }
    py::bytes bytes() const { return {raw_.data, static_cast<size_t>(raw_.size)}; }

  private:
    dl_buffer raw_{};
};

// Returns options as JSON text. NumPy numbers and arrays become JSON's.
std::string to_json(const py::object& value);

// Returns the options of a call, which may be None, as JSON text. It omits keys with the value
// None.
std::string options_json(const py::object& options);

// Returns the text of an argument of an operation; None is "". Throws InvalidArgumentError.
std::string to_text(const char* operation, const char* name, const py::object& value);

// Returns the number of an argument of an operation; None is none. Throws InvalidArgumentError.
std::optional<double> to_real(const char* operation, const char* name, const py::object& value);
std::optional<std::int64_t> to_integer(const char* operation, const char* name,
                                       const py::object& value);

// Returns row numbers from a value that NumPy reads as one axis of integers. Throws
// InvalidArgumentError.
Numbers to_rows(const py::object& rows);

// Returns the dtype of the core for one of NumPy, 0 if it has none.
std::int32_t dtype_of(const py::dtype& dtype);

// Returns the dtype of the core by its name, 0 if there is none.
std::int32_t dtype_by_name(const std::string& name);

// Returns the name of a dtype of the core.
const char* dtype_name(std::int32_t dtype);

// Returns NumPy's dtype for a dtype of the core with fixed size. bfloat16 is ml_dtypes' if
// installed, else uint16.
py::dtype numpy_dtype(std::int32_t dtype);

}  // namespace deeplake

namespace pybind11::detail {

template <>
struct type_caster<deeplake::Text> {
    PYBIND11_TYPE_CASTER(deeplake::Text, const_name("str"));

    bool load(handle from, bool) {
        if (!PyUnicode_Check(from.ptr())) return false;
        static_cast<std::string&>(value) = deeplake::text_of(from);
        return true;
    }

    static handle cast(const deeplake::Text& text, return_value_policy, handle) {
        return pybind11::str(text.data(), text.size()).release();
    }
};

}  // namespace pybind11::detail
