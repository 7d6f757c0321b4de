// Python values as the C interface takes and gives them: JSON, row numbers, dtypes.
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
    // What the JSON in the buffer means.
    py::object json() const;
    py::bytes bytes() const { return {raw_.data, static_cast<size_t>(raw_.size)}; }

  private:
    dl_buffer raw_{};
};

// Options as JSON text. Keys whose value is None are left out; NumPy numbers and arrays are taken
// as Python's.
std::string to_json(const py::object& value);

// Options of a call, which may be None.
std::string options_json(const py::object& options);

// The text of an argument of an operation; None is "". Throws InvalidArgumentError.
std::string to_text(const char* operation, const char* name, const py::object& value);

// The number of an argument of an operation; None is none. Throws InvalidArgumentError.
std::optional<double> to_real(const char* operation, const char* name, const py::object& value);
std::optional<std::int64_t> to_integer(const char* operation, const char* name,
                                       const py::object& value);

// Row numbers from anything that NumPy understands as one axis of integers. Throws
// InvalidArgumentError.
Numbers to_rows(const py::object& rows);

// The dtype of the core for one of NumPy, 0 if it has none.
std::int32_t dtype_of(const py::dtype& dtype);

// The dtype of the core by its name, 0 if there is none.
std::int32_t dtype_by_name(const std::string& name);

// The name of a dtype of the core.
const char* dtype_name(std::int32_t dtype);

// NumPy's dtype for one of the core that has a fixed size. bfloat16 is ml_dtypes' where that is
// installed, else uint16.
py::dtype numpy_dtype(std::int32_t dtype);

}  // namespace deeplake
