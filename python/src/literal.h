// Plain numbers of Python on their way into the core.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <vector>

namespace deeplake {

namespace py = pybind11;

// A number, or nested lists and tuples of numbers, as a C-order array. Its dtype is the least of
// bool, int64, uint64, float64 and complex128 that holds all of them.
struct Literal {
    enum Outcome {
        numbers,   // shape, dtype and data are filled in
        others,    // the value has items that are no plain numbers; one of them is `other`
        mistaken,  // the numbers make no array; `mistake` says why, as the end of a sentence
    };
    std::vector<std::int64_t> shape;
    std::int32_t dtype = 0;
    std::vector<std::uint64_t> data;  // of 8 bytes; complex numbers take two, bools a byte each
    std::int64_t bytes = 0;
    py::object other;
    std::string mistake;
    std::int64_t at = -1;  // the item on the first axis that the mistake is about

    // Reads a value.
    Outcome read(const py::object& value);

  private:
    struct Seen {
        bool bools = false, negative = false, large = false, ints = false, floats = false,
             complexes = false;
    };
    Outcome measure(const py::object& value);
    Outcome gather(const py::object& value, size_t axis);
    Outcome look(py::handle leaf);
    Outcome choose();
    bool write();
    Outcome fail(const std::string& why);

    std::vector<py::object> leaves_;
    Seen seen_;
};

// Returns whether a value is a bool, an int, a float or a complex of Python.
bool is_plain_number(py::handle v);

}  // namespace deeplake
