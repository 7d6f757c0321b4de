// The classes of the extension, and their common parts.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deeplake.h"
#include "handle.h"

namespace deeplake {

namespace py = pybind11;

// Each handle owns the handles it came from, so that they are closed after it.
using DatasetHandle = Handle<dl_dataset>;

struct ViewOwners;
using ViewHandle = Handle<dl_view, ViewOwners>;
struct ViewOwners {
    ViewOwners() = default;  // of datasets that a query opens
    explicit ViewOwners(std::shared_ptr<DatasetHandle> of) : dataset(std::move(of)) {}
    explicit ViewOwners(std::shared_ptr<ViewHandle> of) : view(std::move(of)) {}
    std::shared_ptr<DatasetHandle> dataset;
    std::shared_ptr<ViewHandle> view;  // that this one is made of
    std::shared_ptr<void> functions;   // that reading it calls
};

struct Dataset {
    std::shared_ptr<DatasetHandle> handle;
};

struct View {
    std::shared_ptr<ViewHandle> handle;
};

struct LoaderOwners {
    std::vector<std::shared_ptr<ViewHandle>> views;
};
using LoaderHandle = Handle<dl_loader, LoaderOwners>;

struct EpochOwners {
    EpochOwners() = default;
    explicit EpochOwners(std::shared_ptr<LoaderHandle> of) : loader(std::move(of)) {}
    std::shared_ptr<LoaderHandle> loader;
};
using EpochHandle = Handle<dl_epoch, EpochOwners>;

// A device with the values of DLPack.
struct Device {
    std::int32_t type = DL_DEVICE_CPU, id = 0;
};

struct Epoch {
    std::shared_ptr<EpochHandle> handle;
    Device device;  // of its batches
};

struct Batch;

// A batch of the core, given back at the end.
class BatchExport {
  public:
    BatchExport() = default;
    BatchExport(const Core& core, dl_batch_export* raw) : core_(&core), raw_(raw) {}
    BatchExport(BatchExport&& other) noexcept : core_(other.core_), raw_(other.raw_) {
        other.raw_ = nullptr;
    }
    BatchExport& operator=(BatchExport&&) = delete;
    ~BatchExport() {
        if (raw_ != nullptr) core_->batch_export_free(raw_);
    }
    explicit operator bool() const { return raw_ != nullptr; }
    const dl_batch_export* operator->() const { return raw_; }
    const Core& core() const { return *core_; }

  private:
    const Core* core_ = nullptr;
    dl_batch_export* raw_ = nullptr;
};

// Waits for the next batch of an epoch, and handles signals meanwhile. At the end there is none.
BatchExport next_export(const EpochHandle& epoch, Device device);

// Returns the batch of an export, as a Python object.
std::shared_ptr<Batch> unpack(const BatchExport& exported);

// Returns the columns of an export by name. `convert` makes arrays of DLPack capsules, for a stream
// of their device. If it is None, they are NumPy's, or an Array on a device.
py::dict columns_of(const BatchExport& exported, const py::object& convert, void* stream);

// Returns an iterator over the rest of an epoch, of dicts as `columns_of` returns them. It has the
// given position until the first batch. `current` returns the handle of the device's stream on
// which the consumer works; None stands for the legacy default stream.
py::object stream(const Epoch& epoch, std::int64_t position, const py::object& convert,
                  const py::object& current);

// Declares alive, generation and close of a class with a member `handle`.
template <class T>
py::class_<T> declare(py::module_& m, const char* name) {
    return py::class_<T>(m, name, py::is_final())
        .def_property_readonly("alive", [](const T& self) { return self.handle->alive(); })
        .def_property_readonly("generation",
                               [](const T& self) { return self.handle->generation(); })
        .def("close", [](T& self) { self.handle->close(); });
}

void register_dataset(py::module_& m);
void register_versions(py::module_& m, py::class_<Dataset>& dataset);
void register_view(py::module_& m);
void register_batches(py::module_& m, py::class_<View>& view);
void register_column(py::module_& m);
void register_video(py::module_& m);
void register_batch(py::module_& m);
void register_memory(py::module_& m);
void register_loader(py::module_& m);
void register_stream(py::module_& m);
void register_sample(py::module_& m);
void register_jobs(py::module_& m);
void register_query(py::module_& m);
void register_visualizer(py::module_& m);
void register_runtime(py::module_& m);

}  // namespace deeplake
