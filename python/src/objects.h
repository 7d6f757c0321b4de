// The classes of the extension, and what they share.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "deeplake.h"
#include "handle.h"

namespace deeplake {

namespace py = pybind11;

// Each handle keeps those it came from, so that they are closed after it.
using DatasetHandle = Handle<dl_dataset>;

struct ViewHandle : Handle<dl_view> {
    explicit ViewHandle(std::shared_ptr<DatasetHandle> ds) : Handle(ds->core()), dataset(std::move(ds)) {}
    // A view that is made of another, or (of datasets that a query opens) of none.
    explicit ViewHandle(const std::shared_ptr<ViewHandle>& of) : Handle(of->core()), dataset(of->dataset), view(of) {}
    explicit ViewHandle(const Core& core) : Handle(core) {}
    std::shared_ptr<DatasetHandle> dataset;
    std::shared_ptr<ViewHandle> view;
    std::shared_ptr<void> functions;  // that reading it calls
};

struct Dataset {
    std::shared_ptr<DatasetHandle> handle;
};

struct View {
    std::shared_ptr<ViewHandle> handle;
};

struct Batch;

// Takes what the core knows of a batch and releases the handle. What the result holds is plain memory.
std::shared_ptr<Batch> take_batch(const Core& core, dl_batch batch);

// Declares alive, generation and close of a class with a member `handle`.
template <class T>
py::class_<T> declare(py::module_& m, const char* name) {
    return py::class_<T>(m, name, py::is_final())
        .def_property_readonly("alive", [](const T& self) { return self.handle->alive(); })
        .def_property_readonly("generation", [](const T& self) { return self.handle->generation(); })
        .def("close", [](T& self) { self.handle->close(); });
}

void register_dataset(py::module_& m);
void register_view(py::module_& m);
void register_column(py::module_& m);
void register_batch(py::module_& m);
void register_loader(py::module_& m);
void register_sample(py::module_& m);
void register_ingest(py::module_& m);
void register_query(py::module_& m);
void register_runtime(py::module_& m);

}  // namespace deeplake
