// Arrays of NumPy, torch and other libraries on their way into the core.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "deeplake.h"

namespace deeplake {

namespace py = pybind11;

// An array that cannot be taken. The reason continues a sentence whose subject is the value.
struct Refused {
    dl_status status;
    std::string reason;
    py::object cause;  // the exception of another library, or nothing
};

// Memory of an array, and the objects that keep it alive and unchanged.
struct Memory {
    const void* data = nullptr;
    std::int64_t bytes = 0;
    std::int32_t dtype = 0;
    std::vector<std::int64_t> shape;
    std::vector<py::object> kept;
};

// Returns the name of a value's type.
std::string type_name(py::handle value);

bool is_list(py::handle v);

// Returns whether v is text or a buffer of bytes.
bool is_bytes(py::handle v);

// Returns whether v gives an array: of NumPy, torch, PIL, or by the buffer protocol.
bool is_array(py::handle v);

// Returns whether v counts time: a datetime, date or timedelta, or an array or scalar of NumPy's.
bool is_time(py::handle v);

// Returns the array in C order and native byte order, without a copy where it is so already.
// Throws Refused.
Memory memory_of(const py::object& value);

// Returns a list of arrays, NumPy scalars and numbers as one array. Throws Refused.
py::object stacked(const py::object& list);

}  // namespace deeplake
