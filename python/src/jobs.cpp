#include <algorithm>
#include <chrono>

#include "convert.h"
#include "objects.h"

namespace deeplake {
namespace {

struct JobOwners {
    JobOwners() = default;
    explicit JobOwners(std::shared_ptr<ViewHandle> of) : view(std::move(of)) {}
    std::shared_ptr<ViewHandle> view;  // of an export
};
using JobHandle = Handle<dl_job, JobOwners>;

struct Job {
    std::shared_ptr<JobHandle> handle;
};

constexpr double slice_ms = 25;

Job start_ingest(const Text& uri, const Text& source, const py::object& options) {
    const Core& c = core();
    const std::string json = options_json(options);
    Job job{std::make_shared<JobHandle>(c)};
    dl_job out{0};
    call([&](dl_error* err) {
        return c.ingest_start(uri.c_str(), source.c_str(), json.c_str(), &out, err);
    });
    job.handle->set(out);
    return job;
}

Job start_export(const View& self, const Text& uri, const py::object& options) {
    const Core& c = self.handle->core();
    const std::string json = options_json(options);
    const dl_view h = self.handle->get();
    Job job{std::make_shared<JobHandle>(self.handle)};
    dl_job out{0};
    call([&](dl_error* err) { return c.view_export(h, uri.c_str(), json.c_str(), &out, err); });
    job.handle->set(out);
    return job;
}

// Waits in slices, and handles signals between them. A slice that ends early has news.
py::object poll(const Job& self, double timeout) {
    using Clock = std::chrono::steady_clock;
    const Core& c = self.handle->core();
    const auto end = Clock::now() + std::chrono::duration<double>(std::clamp(timeout, 0.0, 1e9));
    for (;;) {
        const auto begin = Clock::now();
        const double left = std::chrono::duration<double, std::milli>(end - begin).count();
        const std::int64_t now = static_cast<std::int64_t>(std::clamp(left, 0.0, slice_ms));
        const dl_job h = self.handle->get();
        Buffer json;
        call([&](dl_error* err) { return c.job_poll(h, now, json.out(), err); });
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (now == 0 || Clock::now() - begin < std::chrono::milliseconds(now)) return json.json();
    }
}

void cancel(const Job& self) {
    const Core& c = self.handle->core();
    const dl_job h = self.handle->get();
    call([&](dl_error* err) { return c.job_cancel(h, err); });
}

}  // namespace

void register_jobs(py::module_& m) {
    using py::arg;
    m.def("ingest", start_ingest, arg("uri"), arg("source"), arg("options") = py::none());
    m.def("export", start_export, arg("view"), arg("uri"), arg("options") = py::none());
    declare<Job>(m, "Job").def("poll", poll, arg("timeout") = 0.1).def("cancel", cancel);
}

}  // namespace deeplake
