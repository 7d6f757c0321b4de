// Columns and streams of Arrow, taken from objects that offer them as PyCapsules.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <vector>

#include "deeplake.h"

namespace deeplake {

namespace py = pybind11;

// Returns whether v offers its values by Arrow's PyCapsule interface.
bool is_arrow(py::handle v);

// One column in some arrays, owned until it is destroyed.
class ArrowColumn {
  public:
    // Takes the column that v offers. Throws Failure if it offers none.
    explicit ArrowColumn(const py::object& v);
    ArrowColumn(const ArrowColumn&) = delete;
    ArrowColumn& operator=(const ArrowColumn&) = delete;
    ~ArrowColumn();

    ArrowSchema* schema() { return &schema_; }
    ArrowArray* const* arrays() const { return pointers_.data(); }
    std::int64_t size() const { return static_cast<std::int64_t>(pointers_.size()); }
    std::int64_t rows() const { return rows_; }

  private:
    void add(ArrowArray* array);
    void release();
    void read(ArrowArrayStream* stream);

    ArrowSchema schema_{};
    std::vector<ArrowArray*> pointers_;
    std::int64_t rows_ = 0;
};

// A stream, owned until it is destroyed or read.
class ArrowStream {
  public:
    explicit ArrowStream(const py::object& v);
    dl_arrow_stream* get() const { return stream_; }

  private:
    py::object capsule_;
    dl_arrow_stream* stream_ = nullptr;
};

}  // namespace deeplake
