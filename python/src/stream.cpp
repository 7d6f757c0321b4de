#include <atomic>
#include <chrono>

#include "objects.h"

namespace deeplake {
namespace {

// Bounds a wait for a batch between two checks of signals.
constexpr std::int64_t slice_ms = 25;

using Clock = std::chrono::steady_clock;

// The rest of a pass, as dicts of columns. Python's loop calls it directly, without Python code in
// between.
class Stream {
  public:
    Stream(Epoch epoch, std::int64_t position, py::object convert, py::object current)
        : epoch_(std::move(epoch)),
          convert_(std::move(convert)),
          current_(std::move(current)),
          position_(position) {}

    // The next batch, a new reference; nullptr at the end.
    PyObject* next() {
        const BatchExport exported = next_export(*epoch_.handle, epoch_.device);
        if (!exported) return nullptr;
        const auto began = Clock::now();
        py::dict columns = columns_of(exported, convert_, consumer());
        spent_ += (Clock::now() - began).count();
        position_ = exported->position;
        last_ = exported->last != 0;
        return columns.release().ptr();
    }

    std::int64_t position() const { return position_; }
    bool last() const { return last_; }
    double seconds() const {
        return std::chrono::duration<double>(Clock::duration(spent_)).count();
    }

  private:
    // The stream on which the consumer works now.
    void* consumer() const {
        if (current_.is_none()) return nullptr;
        return reinterpret_cast<void*>(py::cast<std::uintptr_t>(current_()));
    }

    Epoch epoch_;
    py::object convert_, current_;
    std::atomic<std::int64_t> position_;
    std::atomic<bool> last_{false};
    std::atomic<Clock::rep> spent_{0};
};

// tp_iternext. A call through pybind11's method takes twice as long.
PyObject* next(PyObject* self) {
    try {
        const auto held = reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder();
        auto* const stream = static_cast<Stream*>(held.value_ptr());
        if (stream == nullptr) throw py::type_error("Stream: it is made by Epoch.stream alone");
        return stream->next();
    } catch (py::error_already_set& e) {
        e.restore();
#ifdef __GLIBCXX__
    } catch (abi::__forced_unwind&) {
        throw;
#endif
    } catch (...) {
        py::detail::try_translate_exceptions();
    }
    return nullptr;
}

PyObject* itself(PyObject* self) { return Py_NewRef(self); }

}  // namespace

BatchExport next_export(const EpochHandle& epoch, Device device) {
    const dl_device on = {device.type, device.id, DL_STREAM_NONE};
    const Core& c = epoch.core();
    for (;;) {
        const dl_epoch h = epoch.get();
        dl_batch_export* exported = nullptr;
        std::int32_t state = DL_NEXT_END;
        call([&](dl_error* err) { return c.epoch_next(h, slice_ms, &on, &state, &exported, err); });
        if (state == DL_NEXT_BATCH) return {c, exported};
        if (state == DL_NEXT_END) return {};
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
}

py::object stream(const Epoch& epoch, std::int64_t position, const py::object& convert,
                  const py::object& current) {
    return py::cast(std::make_unique<Stream>(epoch, position, convert, current));
}

void register_stream(py::module_& m) {
    const auto iterator = [](PyHeapTypeObject* type) {
        type->ht_type.tp_iter = itself;
        type->ht_type.tp_iternext = next;
    };
    py::class_<Stream>(m, "Stream", py::is_final(), py::custom_type_setup(iterator))
        .def_property_readonly("position", &Stream::position)
        .def_property_readonly("last", &Stream::last)
        .def_property_readonly("seconds", &Stream::seconds);
}

}  // namespace deeplake
