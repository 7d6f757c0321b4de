// Columns of an append or update in the form of the C interface.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "arrow.h"
#include "deeplake.h"

namespace deeplake {

namespace py = pybind11;

// Values of some rows, described for the core. Contiguous values in native order are not copied. It
// keeps every object alive that it points into.
class Columns {
  public:
    // Takes a mapping of tensor names to values, and one of names to dtypes or None; _native.pyi
    // describes both. With arrow, values that offer a column of Arrow are taken as one.
    Columns(const char* op, const py::object& columns, const py::object& types, bool arrow = false);
    Columns(const Columns&) = delete;
    Columns& operator=(const Columns&) = delete;

    const dl_rows* data() const { return rows_.data(); }
    std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
    // The number of rows of each column, 0 without columns.
    std::int64_t rows() const { return rows_.empty() ? 0 : rows_.front().n; }
    // Returns the bytes that the core will read, an estimate of its time.
    std::int64_t bytes() const { return bytes_; }

  private:
    friend class Column;
    std::vector<dl_rows> rows_;
    std::deque<std::string> names_;
    std::deque<std::vector<dl_sample>> samples_;
    std::deque<std::vector<std::int64_t>> items_;
    std::deque<std::vector<std::int64_t>> shapes_;
    std::deque<std::vector<std::uint64_t>> literals_;
    std::deque<std::vector<const char*>> texts_;
    std::deque<ArrowColumn> arrows_;
    bool arrow_;
    std::vector<py::object> kept_;
    std::int64_t bytes_ = 0;
};

}  // namespace deeplake
