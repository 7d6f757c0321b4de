#include <cerrno>
#include <memory>
#include <string>

#include "convert.h"
#include "errors.h"
#include "functions.h"
#include "objects.h"

namespace deeplake {
namespace {

struct BatchesOwners {
    BatchesOwners() = default;
    explicit BatchesOwners(std::shared_ptr<ViewHandle> of) : view(std::move(of)) {}
    std::shared_ptr<ViewHandle> view;
};
using BatchesHandle = Handle<dl_batches, BatchesOwners>;

struct Batches {
    std::shared_ptr<BatchesHandle> handle;
};

Batches open(const View& self, const py::object& options) {
    const Core& c = self.handle->core();
    const dl_view h = self.handle->get();
    const std::string json = options_json(options);
    Batches batches{std::make_shared<BatchesHandle>(self.handle)};
    dl_batches out{0};
    call_long(
        c,
        [&](dl_context ctx, dl_error* err) {
            return c.view_batches(ctx, h, json.c_str(), &out, err);
        },
        [&](std::uint64_t press) { interrupt_functions(*self.handle, press); });
    batches.handle->set(out);
    return batches;
}

void read_next(const BatchesHandle& handle, ArrowArray* out) {
    const Core& c = handle.core();
    const dl_batches h = handle.get();
    call_long(
        c, [&](dl_context ctx, dl_error* err) { return c.batches_next(ctx, h, out, err); },
        [&](std::uint64_t press) { interrupt_functions(*handle.view, press); });
}

// Returns a capsule that releases and frees its structure, unless a consumer has moved it.
template <class T>
py::capsule capsule(std::unique_ptr<T> structure, const char* name) {
    PyObject* const made = PyCapsule_New(structure.get(), name, [](PyObject* self) {
        auto* const own = static_cast<T*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
        if (own->release != nullptr) own->release(own);
        delete own;
    });
    if (made == nullptr) throw py::error_already_set();
    structure.release();
    return py::reinterpret_steal<py::capsule>(made);
}

py::capsule schema(const Batches& self) {
    const Core& c = self.handle->core();
    const dl_batches h = self.handle->get();
    auto out = std::make_unique<ArrowSchema>();
    call([&](dl_error* err) { return c.batches_schema(h, out.get(), err); });
    return capsule(std::move(out), "arrow_schema");
}

py::object next(const Batches& self) {
    auto out = std::make_unique<ArrowArray>();
    try {
        read_next(*self.handle, out.get());
    } catch (...) {
        // It may have been read just as the user gave up.
        if (out->release != nullptr) out->release(out.get());
        throw;
    }
    if (out->release == nullptr) return py::none();
    return capsule(std::move(out), "arrow_array");
}

// The producer of a stream of Arrow. Its functions are called by any thread, with the GIL or
// without.
struct Producer {
    std::shared_ptr<BatchesHandle> handle;
    std::string error;

    static Producer& of(ArrowArrayStream* s) { return *static_cast<Producer*>(s->private_data); }

    int fail(int code, const std::string& text) {
        error = text;
        return code;
    }

    int fail(const dl_error& err) {
        return fail(err.status == DL_CANCELED ? EINTR : EIO, err.message);
    }

    int get_schema(ArrowSchema* out) const {
        const Core& c = handle->core();
        dl_error err;
        const dl_status status = c.batches_schema(handle->get(), out, &err);
        return status == DL_OK ? 0 : const_cast<Producer*>(this)->fail(err);
    }

    int get_next(ArrowArray* out) {
        *out = ArrowArray{};
        if (finalizing()) return fail(EINTR, "convert to Arrow: the interpreter is exiting");
        // Consumers that hold the GIL would stop functions of a query, and Ctrl-C.
        if (PyGILState_Check() != 0) {
            read_next(*handle, out);
            return 0;
        }
        const Core& c = handle->core();
        dl_error err;
        const dl_status status = c.batches_next(dl_context{0}, handle->get(), out, &err);
        return status == DL_OK ? 0 : fail(err);
    }
};

// Runs a function of a stream. No exception leaves it: its callers are written in C.
template <class F>
int guarded(ArrowArrayStream* s, F&& f) {
    Producer& p = Producer::of(s);
    try {
        return f(p);
    } catch (py::error_already_set& e) {
        if (e.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
        return p.fail(EINTR, e.what());
    } catch (const std::exception& e) {
        return p.fail(EIO, e.what());
    }
}

py::capsule arrow_stream(const Batches& self) {
    auto out = std::make_unique<ArrowArrayStream>();
    *out = ArrowArrayStream{
        [](ArrowArrayStream* s, ArrowSchema* to) {
            return guarded(s, [&](Producer& p) { return p.get_schema(to); });
        },
        [](ArrowArrayStream* s, ArrowArray* to) {
            return guarded(s, [&](Producer& p) { return p.get_next(to); });
        },
        [](ArrowArrayStream* s) -> const char* { return Producer::of(s).error.c_str(); },
        [](ArrowArrayStream* s) {
            Producer* const own = &Producer::of(s);
            s->release = nullptr;
            if (finalizing()) return;
            // The last owner of a view closes it, which needs the GIL.
            const PyGILState_STATE state = PyGILState_Ensure();
            delete own;
            PyGILState_Release(state);
        },
        new Producer{self.handle, {}},
    };
    return capsule(std::move(out), "arrow_array_stream");
}

}  // namespace

void register_batches(py::module_& m, py::class_<View>& view) {
    using py::arg;
    declare<Batches>(m, "Batches")
        .def("schema", schema)
        .def("next", next)
        .def("stream", arrow_stream);
    view.def("batches", open, arg("options"));
}

}  // namespace deeplake
