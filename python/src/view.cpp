#include "batch.h"
#include "convert.h"
#include "functions.h"
#include "input.h"
#include "objects.h"

namespace deeplake {
namespace {

std::int64_t length(const View& self) {
    const Core& c = self.handle->core();
    const dl_view h = self.handle->get();
    std::int64_t n = 0;
    dl_error err;
    check(c.view_len(h, &n, &err), err);
    return n;
}

py::object describe(const View& self) {
    const Core& c = self.handle->core();
    const dl_view h = self.handle->get();
    Buffer json;
    call([&](dl_error* err) { return c.view_describe(h, json.out(), err); });
    return json.json();
}

py::list names(const View& self) {
    py::list out;
    for (py::handle tensor : py::object(describe(self)["tensors"])) out.append(tensor["name"]);
    return out;
}

View select(const View& self, const py::object& rows) {
    const Core& c = self.handle->core();
    const Numbers at = to_rows(rows);
    const dl_view h = self.handle->get();
    const std::int64_t* data = at.data();
    const std::int64_t n = at.size();
    View v{std::make_shared<ViewHandle>(self.handle)};
    dl_view out{0};
    call([&](dl_error* err) { return c.view_select(h, data, n, &out, err); });
    v.handle->set(out);
    return v;
}

View slice(const View& self, std::int64_t start, std::int64_t stop, std::int64_t step) {
    const Core& c = self.handle->core();
    const dl_view h = self.handle->get();
    View v{std::make_shared<ViewHandle>(self.handle)};
    dl_view out{0};
    call([&](dl_error* err) { return c.view_slice(h, start, stop, step, &out, err); });
    v.handle->set(out);
    return v;
}

View weigh(const View& self,
           const py::array_t<double, py::array::c_style | py::array::forcecast>& weights) {
    const Core& c = self.handle->core();
    const dl_view h = self.handle->get();
    // Copied: the core reads it without the GIL, while other threads may change or resize the
    // caller's array.
    const py::array_t<double> own(weights.attr("copy")());
    const double* data = own.data();
    const std::int64_t n = own.size();
    View v{std::make_shared<ViewHandle>(self.handle)};
    dl_view out{0};
    call([&](dl_error* err) { return c.view_with_weights(h, data, n, &out, err); });
    v.handle->set(out);
    return v;
}

bool outdated(const View& self, const std::string& tensor, std::int64_t row) {
    const Core& c = self.handle->core();
    const dl_view h = self.handle->get();
    std::int32_t out = 0;
    dl_error err;
    check(c.view_outdated(h, tensor.c_str(), row, &out, &err), err);
    return out != 0;
}

Numbers rows(const View& self) {
    const Core& c = self.handle->core();
    const std::int64_t n = length(self);
    Numbers out(n);
    const dl_view h = self.handle->get();
    std::int64_t* data = out.mutable_data();
    call([&](dl_error* err) { return c.view_rows(h, data, n, err); });
    return out;
}

py::object sources(const View& self, const py::object& rows) {
    const Core& c = self.handle->core();
    const Numbers at = to_rows(rows);
    const dl_view h = self.handle->get();
    const std::int64_t* data = at.data();
    const std::int64_t n = at.size();
    Buffer json;
    call_long(c, [&](dl_context ctx, dl_error* err) {
        return c.view_sources(ctx, h, data, n, json.out(), err);
    });
    return json.json();
}

std::shared_ptr<Batch> read(const View& self, const py::object& rows, const py::object& options) {
    const Core& c = self.handle->core();
    const Numbers at = to_rows(rows);
    const std::string json = options_json(options);
    const dl_view h = self.handle->get();
    const std::int64_t* data = at.data();
    const std::int64_t n = at.size();
    dl_batch_export* out = nullptr;
    const auto read_rows = [&](dl_context ctx, dl_error* err) {
        return c.view_read(ctx, h, data, n, json.c_str(), nullptr, &out, err);
    };
    // For one row the handover to another thread and back would take most of the time.
    if (n <= 1 && !calls_functions(*self.handle)) {
        call([&](dl_error* err) { return read_rows(dl_context{0}, err); });
        return unpack(BatchExport(c, out));
    }
    try {
        call_long(c, read_rows,
                  [&](std::uint64_t press) { interrupt_functions(*self.handle, press); });
    } catch (...) {
        c.batch_export_free(out);  // it may have been read just as the user gave up
        throw;
    }
    return unpack(BatchExport(c, out));
}

py::bytes plot(const View& self, const py::object& rows, const py::object& options) {
    const Core& c = self.handle->core();
    const Numbers at = to_rows(rows);
    const std::string json = options_json(options);
    const dl_view h = self.handle->get();
    const std::int64_t* data = at.data();
    const std::int64_t n = at.size();
    Buffer png;
    call_long(
        c,
        [&](dl_context ctx, dl_error* err) {
            return c.view_plot(ctx, h, data, n, json.c_str(), png.out(), err);
        },
        [&](std::uint64_t press) { interrupt_functions(*self.handle, press); });
    return png.bytes();
}

std::shared_ptr<Batch> transform_row(const py::object& columns, const py::object& options) {
    const Core& c = core();
    const Columns given("transform", columns, py::none());
    const std::string json = options_json(options);
    dl_batch_export* out = nullptr;
    call([&](dl_error* err) {
        return c.row_transform(dl_context{0}, given.data(), given.size(), json.c_str(), &out, err);
    });
    return unpack(BatchExport(c, out));
}

}  // namespace

void register_view(py::module_& m) {
    using py::arg;
    py::class_<View> view = declare<View>(m, "View");
    view.def("__len__", length)
        .def("names", names)
        .def("describe", describe)
        .def("select", select, arg("rows"))
        .def("slice", slice, arg("start"), arg("stop"), arg("step") = 1)
        .def("weigh", weigh, arg("weights"))
        .def("rows", rows)
        .def("sources", sources, arg("rows"))
        .def("outdated", outdated, arg("tensor"), arg("row"))
        .def("plot", plot, arg("rows"), arg("options"))
        .def("read", read, arg("rows"), arg("options") = py::none());
    register_batches(m, view);
    m.def("transform_row", transform_row, arg("columns"), arg("options"));
}

}  // namespace deeplake
