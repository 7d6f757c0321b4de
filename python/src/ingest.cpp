#include <algorithm>
#include <chrono>

#include "convert.h"
#include "objects.h"

namespace deeplake {
namespace {

struct Ingest {
    std::shared_ptr<Handle<dl_ingest>> handle;
};

constexpr double slice_ms = 25;

Ingest start(const Text& uri, const Text& source, const py::object& options) {
    const Core& c = core();
    const std::string json = options_json(options);
    Ingest job{std::make_shared<Handle<dl_ingest>>(c)};
    dl_ingest out{0};
    call([&](dl_error* err) {
        return c.ingest_start(uri.c_str(), source.c_str(), json.c_str(), &out, err);
    });
    job.handle->set(out);
    return job;
}

// Waits in slices, and handles signals between them. A slice that ends early has news.
py::object poll(const Ingest& self, double timeout) {
    using Clock = std::chrono::steady_clock;
    const Core& c = self.handle->core();
    const auto end = Clock::now() + std::chrono::duration<double>(std::clamp(timeout, 0.0, 1e9));
    for (;;) {
        const auto begin = Clock::now();
        const double left = std::chrono::duration<double, std::milli>(end - begin).count();
        const std::int64_t now = static_cast<std::int64_t>(std::clamp(left, 0.0, slice_ms));
        const dl_ingest h = self.handle->get();
        Buffer json;
        call([&](dl_error* err) { return c.ingest_poll(h, now, json.out(), err); });
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (now == 0 || Clock::now() - begin < std::chrono::milliseconds(now)) return json.json();
    }
}

void cancel(const Ingest& self) {
    const Core& c = self.handle->core();
    const dl_ingest h = self.handle->get();
    call([&](dl_error* err) { return c.ingest_cancel(h, err); });
}

}  // namespace

void register_ingest(py::module_& m) {
    using py::arg;
    m.def("ingest", start, arg("uri"), arg("source"), arg("options") = py::none());
    declare<Ingest>(m, "Ingest").def("poll", poll, arg("timeout") = 0.1).def("cancel", cancel);
}

}  // namespace deeplake
