// Batches of the core as Python objects.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "core.h"
#include "objects.h"

namespace deeplake {

namespace py = pybind11;

// One reference to the memory of a batch. Plain C drops it, from any thread, at any time, in any
// process.
class Memory {
  public:
    Memory(const Core& core, dl_memory* raw, std::int32_t device_type, std::int32_t device_id)
        : core_(&core), raw_(raw), type_(device_type), id_(device_id) {}
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() { core_->memory_release(raw_); }
    const Core& core() const { return *core_; }
    dl_memory* raw() const { return raw_; }
    std::int32_t device_type() const { return type_; }  // with the values of DLPack
    std::int32_t device_id() const { return id_; }
    bool on_cpu() const { return type_ == DL_DEVICE_CPU; }

  private:
    const Core* core_;
    dl_memory* raw_;
    std::int32_t type_, id_;
};

// One array in the memory of a batch.
struct Array {
    std::shared_ptr<Memory> memory;
    void* data;
    std::int32_t dtype;
    std::vector<py::ssize_t> shape;
};

// A copy of a dl_array.
struct BatchColumn {
    std::string name;
    void* data;
    std::int32_t kind, dtype;
    std::vector<py::ssize_t> shape;  // arrays
    std::vector<std::int64_t> offsets, sizes, ndims, shapes, row_items;
    bool sequence;
    bool on_host;  // in the memory host of the batch
};

struct Batch {
    std::shared_ptr<Memory> memory;
    // Of text and columns on_host, if memory is a device's; or nullptr.
    std::shared_ptr<Memory> host;
    std::int64_t rows;
    std::int64_t position;  // of the epoch, once all ranks have had the batch
    std::int32_t last;      // of the pass
    std::vector<BatchColumn> columns;
};

// Returns memory of at least size bytes for results, from the memory of a loader.
std::shared_ptr<Memory> results(const LoaderHandle& loader, std::int64_t size);

// Returns where the columns of a batch on the CPU lie, for other processes that map its file.
py::dict layout_of(const Batch& batch);

// Copies a column into Python objects: an array, or a list with None for missing values.
py::object copy_array(const dl_array& a, std::int64_t rows);

}  // namespace deeplake
