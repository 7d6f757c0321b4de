#include "literal.h"

#include <cmath>
#include <cstring>

#include "deeplake.h"

namespace deeplake {
namespace {

constexpr size_t most_axes = 32;

bool is_list(py::handle v) { return PyList_Check(v.ptr()) || PyTuple_Check(v.ptr()); }

// Returns the items of a list, which other threads may change meanwhile.
py::tuple items_of(py::handle list) {
    PyObject* items = PySequence_Tuple(list.ptr());
    if (items == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::tuple>(items);
}

std::string text_of(py::handle number) {
    const py::object text = py::reinterpret_steal<py::object>(PyObject_Repr(number.ptr()));
    if (!text) {  // an int with too many digits to print
        PyErr_Clear();
        return "of " + std::to_string(py::cast<std::int64_t>(number.attr("bit_length")())) +
               " bits";
    }
    return py::cast<std::string>(text);
}

double real_of(py::handle number) {
    return PyFloat_Check(number.ptr()) ? PyFloat_AS_DOUBLE(number.ptr())
                                       : PyLong_AsDouble(number.ptr());
}

}  // namespace

bool is_plain_number(py::handle v) {
    return PyBool_Check(v.ptr()) || PyLong_Check(v.ptr()) || PyFloat_Check(v.ptr()) ||
           PyComplex_Check(v.ptr());
}

Literal::Outcome Literal::fail(const std::string& why) {
    mistake = why;
    return mistaken;
}

Literal::Outcome Literal::read(const py::object& value) {
    Outcome out = measure(value);
    if (out == numbers) out = gather(value, 0);
    if (out == numbers) out = choose();
    return out;
}

// Takes the shape from the first item of each list.
Literal::Outcome Literal::measure(const py::object& value) {
    py::object at = value;
    while (is_list(at)) {
        if (shape.size() == most_axes)
            return fail("is a list of more than " + std::to_string(most_axes) + " levels");
        const py::tuple items = items_of(at);
        shape.push_back(static_cast<std::int64_t>(items.size()));
        if (items.empty()) break;
        at = items[0];
    }
    return numbers;
}

Literal::Outcome Literal::gather(const py::object& value, size_t axis) {
    if (axis == shape.size()) return look(value);
    if (!is_list(value)) {
        if (is_plain_number(value)) return fail("is a list of numbers and of lists");
        other = value;
        return others;
    }
    const py::tuple items = items_of(value);
    if (static_cast<std::int64_t>(items.size()) != shape[axis]) {
        return fail("is a list of lists of " + std::to_string(shape[axis]) + " and of " +
                    std::to_string(items.size()) +
                    " items; pad them to one length, or use htype \"sequence[generic]\"");
    }
    for (size_t i = 0; i < items.size(); i++) {
        const py::object item = items[i];
        const Outcome out = axis + 1 == shape.size() ? look(item) : gather(item, axis + 1);
        if (out != numbers) {
            if (axis == 0) at = static_cast<std::int64_t>(i);
            return out;
        }
    }
    return numbers;
}

Literal::Outcome Literal::look(py::handle leaf) {
    if (PyBool_Check(leaf.ptr())) {
        seen_.bools = true;
    } else if (PyLong_Check(leaf.ptr())) {
        int overflow = 0;
        const long long v = PyLong_AsLongLongAndOverflow(leaf.ptr(), &overflow);
        if (overflow > 0) {
            const unsigned long long u = PyLong_AsUnsignedLongLong(leaf.ptr());
            if (u == static_cast<unsigned long long>(-1) && PyErr_Occurred()) {
                PyErr_Clear();
                overflow = -1;
            }
        }
        if (overflow < 0)
            return fail("has the value " + text_of(leaf) +
                        ", beyond what 64 bits hold; store it as text or json");
        seen_.large = seen_.large || overflow > 0;
        seen_.negative = seen_.negative || (overflow == 0 && v < 0);
        seen_.ints = true;
    } else if (PyFloat_Check(leaf.ptr())) {
        seen_.floats = true;
    } else if (PyComplex_Check(leaf.ptr())) {
        seen_.complexes = true;
    } else {
        if (is_list(leaf)) return fail("is a list of numbers and of lists");
        other = py::reinterpret_borrow<py::object>(leaf);
        return others;
    }
    leaves_.push_back(py::reinterpret_borrow<py::object>(leaf));
    return numbers;
}

// Decides the dtype, and fills data.
Literal::Outcome Literal::choose() {
    if (seen_.complexes) {
        dtype = DL_COMPLEX128;
    } else if (seen_.floats) {
        dtype = DL_FLOAT64;
    } else if (seen_.large) {
        if (seen_.negative)
            return fail(
                "has values below 0 and above 9223372036854775807, which no dtype holds together");
        dtype = DL_UINT64;
    } else if (seen_.ints) {
        dtype = DL_INT64;
    } else if (seen_.bools) {
        dtype = DL_BOOL;
    } else {
        dtype = DL_FLOAT64;  // without items, as in NumPy
    }
    return write() ? numbers : mistaken;
}

bool Literal::write() {
    const size_t n = leaves_.size();
    if (dtype == DL_BOOL) {
        bytes = static_cast<std::int64_t>(n);
        data.resize((n + 7) / 8);
        char* to = reinterpret_cast<char*>(data.data());
        for (size_t i = 0; i < n; i++) to[i] = leaves_[i].ptr() == Py_True ? 1 : 0;
        return true;
    }
    const size_t words = dtype == DL_COMPLEX128 ? 2 : 1;
    data.resize(n * words);
    bytes = static_cast<std::int64_t>(8 * n * words);
    for (size_t i = 0; i < n; i++) {
        const py::handle v = leaves_[i];
        std::uint64_t* to = &data[i * words];
        if (dtype == DL_INT64 || dtype == DL_UINT64) {
            *to = PyLong_AsUnsignedLongLongMask(v.ptr());
            continue;
        }
        double parts[2] = {0, 0};
        if (PyComplex_Check(v.ptr())) {
            parts[0] = PyComplex_RealAsDouble(v.ptr());
            parts[1] = PyComplex_ImagAsDouble(v.ptr());
        } else {
            parts[0] = real_of(v);
            if (PyLong_Check(v.ptr())) {
                // 64 bits, so that the conversion back is defined but at the ends
                const bool exact =
                    std::fabs(parts[0]) < 9007199254740992.0 ||
                    py::int_(py::reinterpret_steal<py::object>(PyLong_FromDouble(parts[0])))
                        .equal(v);
                if (!exact) {
                    mistake = "has the integer " + text_of(v) +
                              " beside floats, and float64 does not hold it";
                    at = shape.size() == 1 ? static_cast<std::int64_t>(i) : -1;
                    return false;
                }
            }
        }
        std::memcpy(to, parts, 8 * words);
    }
    return true;
}

}  // namespace deeplake
